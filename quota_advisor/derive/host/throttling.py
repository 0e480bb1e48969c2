"""What throttling cost a workload: which limit binds it, and how long it stood still."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from quota_advisor.model.cgroup import CgroupFacts, CounterWindow
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.unit_kind import unit_kind
from quota_advisor.model.workload import Workload


def binding_limit(workload: Workload) -> Bandwidth | None:
    """Return the workload's own live limit, if it can ever hold the workload back.

    A quota of all CPUs at hand still shows throttled periods, each of microseconds: the kernel
    accounts at ticks. Their number says nothing.
    """
    limit = workload.limit
    return limit if isinstance(limit, Bandwidth) and workload.can_spend(limit) else None


def active_usec(window: CounterWindow, limit: Bandwidth) -> int | Missing:
    """Return the time that a window spans; for totals, the time in which periods ran."""
    if isinstance(window.elapsed_usec, int):
        return window.elapsed_usec
    if isinstance(window.periods, Missing):
        return window.periods
    return window.periods * limit.period_usec


def stalled_usec(window: CounterWindow, throttled_usec: int) -> tuple[int, bool]:
    """Return the time that the quota is to blame for, and whether pressure measured it."""
    full = window.pressure_full_usec
    if isinstance(full, int) and full < throttled_usec:
        return full, True
    return throttled_usec, False


def is_leaf(group: CgroupFacts) -> bool:
    """Whether a cgroup is one workload of its own: what lies below it is its inside."""
    kind = unit_kind(posixpath.basename(group.path))
    return group.container is not None or kind in ("service", "scope")


def most_throttled(groups: Sequence[CgroupFacts]) -> tuple[CgroupFacts | None, float]:
    """Return the group with the highest throttled share, the nearest where several tie."""
    worst: CgroupFacts | None = None
    worst_ratio = 0.0
    for group in groups:
        ratio = (
            Missing(reason="")
            if isinstance(group.window, Missing)
            else group.window.throttled_ratio
        )
        if isinstance(ratio, float) and ratio > worst_ratio:
            worst, worst_ratio = group, ratio
    return worst, worst_ratio


def share_held_above(window: CounterWindow, culprit: CgroupFacts) -> float | Missing:
    """Return stalled time beyond the workload's own throttling, as a share of wall time."""
    if isinstance(window.local_throttled_usec, Missing):
        return window.local_throttled_usec
    own = window.throttled_usec if isinstance(window.throttled_usec, int) else 0
    span: int | Missing = window.elapsed_usec
    if isinstance(span, Missing) and isinstance(culprit.limit, Bandwidth):
        if isinstance(culprit.window, Missing):
            return culprit.window
        span = active_usec(culprit.window, culprit.limit)
    if isinstance(span, Missing):
        return span
    return max(window.local_throttled_usec - own, 0) / span if span else 0.0
