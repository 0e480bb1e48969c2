"""Whether two accounts of each run, which know nothing of each other, agree.

The load has its own clock and CPU time; the kernel has the cgroup's counters. Where they tell
the same story the figures can be trusted. Where they do not, something else was measured too.
"""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.model.limit import Missing
from quota_advisor.probe.measure import Run
from quota_advisor.records import dataclass
from quota_advisor.units import format_cores, format_ratio, format_usec

TOLERANCE_RATIO = 0.03
"""How far two numbers may be apart that should be the same."""

SLACK_USEC = 20_000
"""The same for very short runs: start and end of a process, and one tick of each CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the accounts of a run agree.

    Attributes:
        agree: They do.
        quota_used_ratio: CPU time used, as a share of quota × time; missing where not reported.
        remarks: What does not fit, each with what it may mean.
    """

    agree: bool
    quota_used_ratio: float | Missing
    remarks: tuple[str, ...]


def reconcile(run: Run, threads: int, cpus: int, *, closed_loop: bool) -> Verdict:
    """Compare the two accounts of a run.

    Args:
        run: The run.
        threads: Threads that made load.
        cpus: CPUs they could run on.
        closed_loop: The threads never slept, so whatever the quota allowed was used.
    """
    usage = run.window.usage_usec
    if isinstance(usage, Missing):
        return Verdict(agree=False, quota_used_ratio=usage, remarks=(usage.reason,))
    wall_usec = run.report.wall_ns / 1_000
    allowed_usec = run.limit.bandwidth.cores * wall_usec
    remarks = [
        *_clocks(run, usage),
        *_too_much(run, usage, allowed_usec),
        *_stall(run, usage, min(threads, cpus) * wall_usec),
    ]
    if closed_loop:
        remarks += _too_little(run, usage, min(allowed_usec, min(threads, cpus) * wall_usec))
    return Verdict(agree=not remarks, quota_used_ratio=usage / allowed_usec, remarks=tuple(remarks))


def _clocks(run: Run, usage: int) -> Iterator[str]:
    """Expect the CPU time of the process to be that of its cgroup."""
    own = run.report.cpu_usec
    if _apart(own, usage):
        yield (
            f"the load counts {format_usec(own)} of CPU time and the kernel"
            f" {format_usec(usage)}: something else ran in the cgroup, or a counter lags"
        )


def _too_much(run: Run, usage: int, allowed_usec: float) -> Iterator[str]:
    """Expect no more use than the quota, the pool that setting it filled, and the burst."""
    pool = run.limit.bandwidth.quota_usec + run.limit.burst_usec
    if usage > allowed_usec * (1 + TOLERANCE_RATIO) + pool + SLACK_USEC:
        yield (
            f"{format_usec(usage)} used where the quota allows {format_usec(allowed_usec)}:"
            " the quota was changed during the run, or the kernel scaled it up"
        )


def _too_little(run: Run, usage: int, expected_usec: float) -> Iterator[str]:
    """Expect threads that never sleep to use all they may."""
    if usage >= expected_usec * (1 - TOLERANCE_RATIO) - SLACK_USEC:
        return
    share = format_ratio(usage / expected_usec)
    others = run.others_cores
    cause = (
        f"others used {format_cores(others)}"
        if not isinstance(others, Missing)
        else "see what else ran"
    )
    yield f"only {share} of quota × time was used: {cause}"


def _stall(run: Run, usage: int, thread_usec: float) -> Iterator[str]:
    """Expect use and throttled time, summed over CPUs, to fit into all threads' time."""
    throttled = run.window.throttled_usec
    if isinstance(throttled, Missing):
        yield throttled.reason
    elif usage + throttled > thread_usec * (1 + TOLERANCE_RATIO) + 2 * SLACK_USEC:
        yield (
            f"{format_usec(usage)} used and {format_usec(throttled)} throttled are more than the"
            f" {format_usec(thread_usec)} that all threads had: this kernel counts idle CPUs too"
        )


def _apart(first: float, second: float) -> bool:
    return abs(first - second) > TOLERANCE_RATIO * max(first, second) + SLACK_USEC
