"""What rules say of numbers of threads that are written down beside a limit of a container."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from quota_advisor.derive.kubernetes.qos import MILLI, kubelet_limit
from quota_advisor.derive.thread_counts import USUAL_PER_CORE, Kind, ThreadCount, allowed_count
from quota_advisor.model.finding import Recommendation
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.sim.stall import Stall, worst_stall
from quota_advisor.units import format_usec


class Excess(NamedTuple):
    """A number of threads above what suits a limit.

    Attributes:
        threads: The number, and where it is written.
        allowed: The highest number that does.
        stall: What the limit does to them when all are busy.
    """

    threads: ThreadCount
    allowed: int
    stall: Stall


def too_many(
    counts: Iterable[ThreadCount], millicores: int, rule: Rule, cpus: int | None = None
) -> Iterator[Excess]:
    """Yield the numbers of threads that are too high for a limit.

    Args:
        counts: All that are written down.
        millicores: The limit.
        rule: Has the options that say how many suit a CPU.
        cpus: That threads can run on; as many as there are threads where it is not known.
    """
    for count in counts:
        allowed = allowed_count(millicores / MILLI, _per_core(count, rule))
        if count.number > allowed:
            stall = worst_stall(kubelet_limit(millicores), count.number, cpus or count.number)
            if stall is not None:
                yield Excess(count, allowed, stall)


def fewer_threads(count: ThreadCount, millicores: int, rule: Rule) -> Recommendation:
    """Return what to do about too many threads, with where the number comes from."""
    per_core = _per_core(count, rule)
    allowed = allowed_count(millicores / MILLI, per_core)
    because = f"{per_core:g} for each CPU"
    if math.ceil(max(millicores, MILLI) / MILLI * per_core) < allowed:
        because = "one that works and one that the runtime needs itself"
    elif millicores < MILLI:
        because += ", and what is less than one counts as one"
    return Recommendation(
        summary=f"set {count.setting} to at most {allowed} ({because}), or raise the limit"
    )


def _per_core(count: ThreadCount, rule: Rule) -> float:
    is_compute = count.kind is Kind.COMPUTE
    return rule.option("max_threads_per_core" if is_compute else "max_workers_per_core")


def busy_text(millicores: int, stall: Stall) -> str:
    """Return what a limit does to busy threads, in words."""
    limit = kubelet_limit(millicores)
    return (
        f"spend the quota of {format_usec(limit.quota_usec)} in"
        f" {format_usec(stall.run_usec)} of each {format_usec(limit.period_usec)} and wait"
        f" {format_usec(stall.wait_usec)}"
    )


def is_excess(counts: Sequence[ThreadCount], millicores: int) -> bool:
    """Whether threads-exceed-limit has something to say, which is the cause of the burst."""
    cores = math.ceil(millicores / MILLI)
    return any(c.number > allowed_count(cores, USUAL_PER_CORE[c.kind]) for c in counts)
