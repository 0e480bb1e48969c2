"""What throttling cost a workload: which limit binds it, and how long it stood still."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from quota_advisor.derive.bounds import deflated, lower_bound_ratio
from quota_advisor.model.cgroup import Basis, CgroupFacts, CounterWindow
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.unit_kind import unit_kind
from quota_advisor.model.workload import Workload
from quota_advisor.records import NamedTuple


def binding_limit(workload: Workload) -> Bandwidth | None:
    """Return the workload's own live limit, if it can ever hold the workload back.

    A quota of all CPUs at hand still shows throttled periods, each of microseconds: the kernel
    accounts at ticks. Their number says nothing.
    """
    limit = workload.limit
    return limit if isinstance(limit, Bandwidth) and workload.can_spend(limit) else None


class Throttling(NamedTuple):
    """How often a group was throttled.

    Attributes:
        window: The counters that tell: of the window, or since the group was created.
        ratio: Share of its active periods that ended throttled.
        bound_ratio: What that share is at least, with a certainty of 95 %.
    """

    window: CounterWindow
    ratio: float
    bound_ratio: float

    @property
    def certainty(self) -> float:
        """How much of what was seen is more than chance: the bound as a share of the ratio."""
        return self.bound_ratio / self.ratio if self.ratio else 0.0


def throttling(group: CgroupFacts | Missing, bar_ratio: float) -> Throttling | Missing:
    """Return how often a group was throttled.

    A window in which so few periods ran that not even a throttled one each time would pass the
    bar says nothing: then the totals since the group was created count.
    """
    if isinstance(group, Missing):
        return group
    window = group.window
    if isinstance(window, Missing):
        return window
    periods = window.periods
    if isinstance(periods, int) and lower_bound_ratio(periods, periods) <= bar_ratio:
        ever = throttling_in(group.totals.since_creation)
        if isinstance(ever, Throttling) and ever.ratio:
            return ever
    return throttling_in(window)


def throttling_in(window: CounterWindow) -> Throttling | Missing:
    """Return how often a group was throttled in a window."""
    ratio, throttled, periods = window.throttled_ratio, window.throttled_periods, window.periods
    if isinstance(throttled, Missing) or isinstance(periods, Missing) or isinstance(ratio, Missing):
        return ratio if isinstance(ratio, Missing) else Missing(reason="periods were not read")
    counts = deflated(throttled, periods, window.throttled_correlation_ratio)
    return Throttling(window, ratio, lower_bound_ratio(*counts))


class Stall(NamedTuple):
    """Wall time lost to a limit.

    Attributes:
        usec: The time, or the most that it can have been.
        span_usec: Of how much.
        is_measured: Whether pressure or the group's own stalls tell it; else it is a bound.
    """

    usec: int
    span_usec: int
    is_measured: bool

    @property
    def ratio(self) -> float:
        """The time as a share of the whole."""
        return self.usec / self.span_usec


def stalled_by_quota(window: CounterWindow, limit: Bandwidth) -> Stall | Missing:
    """Return the wall time for which a workload's own quota is to blame.

    Throttled time is summed over CPUs and alone says nothing of wall time. A throttled period can
    have cost no more than its length, and pressure ``full`` is wall time in which every task
    waited, for whatever reason. The smallest of the three is what is left to blame.
    """
    full, span = window.pressure_full_usec, _active_usec(window, limit)
    walls = [n for n in (_length_usec(window, limit), full) if isinstance(n, int)]
    if not walls or isinstance(window.throttled_usec, Missing) or not isinstance(span, int):
        return Missing(reason="no throttled time was read")
    if not span:
        return Missing(reason="no period ran")
    usec = min(*walls, window.throttled_usec)
    return Stall(usec, span, is_measured=usec == full)


def _active_usec(window: CounterWindow, limit: Bandwidth) -> int | Missing:
    """Return the time that a window spans; for totals, the time in which periods ran."""
    if isinstance(window.elapsed_usec, int):
        return window.elapsed_usec
    if isinstance(window.periods, Missing):
        return window.periods
    return window.periods * limit.period_usec


def _length_usec(window: CounterWindow, limit: Bandwidth) -> int | Missing:
    """Return the length of all throttled periods together."""
    throttled = window.throttled_periods
    return throttled if isinstance(throttled, Missing) else throttled * limit.period_usec


def is_leaf(group: CgroupFacts) -> bool:
    """Whether a cgroup is one workload of its own: what lies below it is its inside."""
    kind = unit_kind(posixpath.basename(group.path))
    return group.container is not None or kind in ("service", "scope")


def most_throttled(
    groups: Sequence[CgroupFacts],
) -> tuple[CgroupFacts, Throttling] | tuple[None, None]:
    """Return the group with the highest throttled share, the nearest where several tie."""
    told = ((g, g.window) for g in groups if isinstance(g.window, CounterWindow))
    found = ((group, throttling_in(window)) for group, window in told)
    throttled = [(g, t) for g, t in found if isinstance(t, Throttling) and t.ratio]
    return max(throttled, key=lambda pair: pair[1].ratio, default=(None, None))


def stalled_from_above(window: CounterWindow, culprit: CgroupFacts) -> Stall | Missing:
    """Return the wall time that a workload lost to a limit above it.

    Its own counters tell: ``cpu.stat.local`` beyond its own throttling, pressure ``full``. Where
    it has neither, it lost at most what the limit's own group did in the same window; since when
    that one counts says nothing of this workload.
    """
    above, limit = culprit.window, culprit.limit
    if isinstance(above, Missing) or not isinstance(limit, Bandwidth):
        return above if isinstance(above, Missing) else Missing(reason="no limit above it")
    lost, span = _length_usec(above, limit), _active_usec(above, limit)
    if isinstance(lost, Missing) or isinstance(span, Missing):
        return Missing(reason="the periods of the limit above it were not read")
    told = [n for n in (_beyond_own(window), window.pressure_full_usec) if isinstance(n, int)]
    if told:
        return Stall(min(lost, *told), span, is_measured=True)
    if window.basis is Basis.LIFETIME:
        return Missing(reason="totals do not tell what a limit above it cost this workload")
    most = stalled_by_quota(above, limit)
    usec = min(most.usec, lost) if isinstance(most, Stall) else lost
    return Stall(usec, span, is_measured=False)


def _beyond_own(window: CounterWindow) -> int | Missing:
    """Return stalled time beyond the workload's own throttling, summed over CPUs."""
    if isinstance(window.local_throttled_usec, Missing):
        return window.local_throttled_usec
    own = window.throttled_usec if isinstance(window.throttled_usec, int) else 0
    return max(window.local_throttled_usec - own, 0)
