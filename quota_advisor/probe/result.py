"""Everything a probe found out, in the form in which every output format takes it."""

from __future__ import annotations

from functools import cached_property

from quota_advisor.probe.measure import Run
from quota_advisor.probe.plan import Limit, Load, Timing
from quota_advisor.probe.profile import Saturate
from quota_advisor.probe.reconcile import Verdict, reconcile
from quota_advisor.probe.slo import Answer
from quota_advisor.probe.summary import TierSummary, summarise
from quota_advisor.records import dataclass
from quota_advisor.sandbox import Priority
from quota_advisor.units import format_cores, format_usec


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The machine that was measured.

    Attributes:
        hostname: Its name.
        kernel_release: Its kernel.
        cpus: CPUs that the load could run on.
        cgroups: Version of the hierarchy, and in whose care the cgroup was.
    """

    hostname: str
    kernel_release: str
    cpus: int
    cgroups: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """A finished probe.

    Attributes:
        version: Version of this program.
        node: The machine.
        load: The load.
        timing: Rounds, and length of a run.
        priority: Who went first.
        runs: All runs, in the order in which they were made.
        notes: What a reader should know: how the profile was fitted, limits above the cgroup.
        doubts: What made the figures doubtful.
        answer: What the search for a target came to; None where none was asked for.
    """

    version: str
    node: Node
    load: Load
    timing: Timing
    priority: Priority
    runs: tuple[Run, ...]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    answer: Answer | None = None

    @cached_property
    def tiers(self) -> list[TierSummary]:
        """The runs by limit, from the tightest quota to the widest."""
        return sorted(summarise(self.runs), key=lambda tier: _order(tier.limit))

    @cached_property
    def verdicts(self) -> list[tuple[Run, Verdict]]:
        """Whether the two accounts of each run agree."""
        closed = isinstance(self.load.profile, Saturate)
        return [
            (run, reconcile(run, self.load.threads, self.node.cpus, closed_loop=closed))
            for run in self.runs
        ]

    def verdict(self, run: Run) -> Verdict:
        """Return whether the two accounts of one run agree."""
        return next(verdict for found, verdict in self.verdicts if found is run)

    def label(self, limit: Limit) -> str:
        """Return a limit in a word or two: what tells it from the other limits, first of all."""
        parts = [format_cores(limit.tier_cores)]
        if limit.tier_cores >= self.node.cpus:
            parts[0] += " (all)"
        limits = [tier.limit for tier in self.tiers]
        if len({other.bandwidth.period_usec for other in limits}) > 1:
            parts.append(f"period {format_usec(limit.bandwidth.period_usec)}")
        if len({other.burst_usec for other in limits}) > 1:
            parts.append(f"burst {format_usec(limit.burst_usec)}")
        return ", ".join(parts)


def _order(limit: Limit) -> tuple[float, int, int]:
    return limit.tier_cores, limit.burst_usec, -limit.bandwidth.period_usec
