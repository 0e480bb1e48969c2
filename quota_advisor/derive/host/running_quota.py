"""A quota that a kernel holds, or would hold if the unit ran, with the machine around it."""

from __future__ import annotations

from quota_advisor.derive.host.throttling import throttling
from quota_advisor.derive.quota_case import AskedPeriod, AskedQuota, LimitAbove, QuotaCase, Threads
from quota_advisor.model.finding import Subject
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, MAX_PERIOD_USEC, Bandwidth, Missing
from quota_advisor.model.source import Location, Source
from quota_advisor.model.unit import UnitConfig, UnitProperties
from quota_advisor.model.workload import Workload
from quota_advisor.records import NamedTuple, dataclass


@dataclass(frozen=True, slots=True)
class RunningQuota(QuotaCase):
    """The quota of a workload on a host."""

    workload: Workload

    @property
    def subject(self) -> Subject:
        """What a finding about the workload names."""
        return self.workload.subject

    @property
    def limit(self) -> Bandwidth | None:
        """The live quota."""
        limit = self.workload.limit
        return limit if isinstance(limit, Bandwidth) else None

    @property
    def limit_source(self) -> Source | None:
        """Where the live limit was read."""
        group = self.workload.cgroup
        return None if isinstance(group, Missing) else group.limit_source

    @property
    def cpus(self) -> int:
        """CPUs that the workload may run on."""
        return self.workload.cpus_available

    @property
    def period(self) -> AskedPeriod | None:
        """The live period, or that of a unit that does not run; none that the kernel chose."""
        limit = self.limit or self.workload.configured
        if not isinstance(limit, Bandwidth):
            return None
        if kernel_scaling(self.workload.configured, limit) is not None:
            return None
        return AskedPeriod(limit, limit.period_usec, period_location(self.workload))

    @property
    def asked(self) -> AskedQuota | None:
        """The quota that the unit's manager, or else its files, ask for."""
        for view in (self.workload.properties, self.workload.config):
            if not isinstance(view, UnitProperties | UnitConfig):
                continue
            per_sec_usec, period, limit = view.quota_per_sec_usec, view.period_usec, view.limit
            if isinstance(per_sec_usec, int) and isinstance(limit, Bandwidth):
                period_usec = period if isinstance(period, int) else DEFAULT_PERIOD_USEC
                at = quota_location(self.workload)
                return AskedQuota(per_sec_usec, min(period_usec, MAX_PERIOD_USEC), limit, at)
        return None

    @property
    def above(self) -> LimitAbove | None:
        """The smallest limit among the workload's own and those of the cgroups above it."""
        own, tightest = self.limit, self.workload.tightest
        if own is None or not isinstance(tightest, tuple):
            return None
        limit, group = tightest
        return LimitAbove(own, None, limit, group.limit_source, group.path, "ancestor", "", None)

    @property
    def threads(self) -> tuple[Threads, ...]:
        """The threads of the cgroup's processes, however many of them sleep."""
        group = self.workload.cgroup
        if isinstance(group, Missing) or isinstance(group.threads, Missing):
            return ()
        return (Threads(group.threads),)

    def throttled_at_least(self, bar_ratio: float) -> float | Missing:
        """Return the lower bound of the throttled share of periods."""
        found = throttling(self.workload.cgroup, bar_ratio)
        return found if isinstance(found, Missing) else found.bound_ratio


class Scaling(NamedTuple):
    """How the kernel lengthened a period, and the quota with it.

    Attributes:
        steps: How often.
        factor: By how much each time, as the kernel writes it.
    """

    steps: int
    factor: str


def kernel_scaling(configured: object, live: Bandwidth) -> Scaling | None:
    """Return how the kernel scaled period and quota, or None if it did not.

    Sources: kernel/sched/fair.c, ``sched_cfs_period_timer``: 5.4 and later double both while the
    new period stays below one second (commit 4929a4e6faa0); 5.1 to 5.3, and stable series before
    4929a4e6faa0 came to them, take 147/128 and stop at one second (commit 2e8e19226398). Its timer
    has to be late by more than three periods: from the default period on, somebody wrote the
    other one.
    """
    if not isinstance(configured, Bandwidth) or configured.period_usec >= DEFAULT_PERIOD_USEC:
        return None
    if live.period_usec > MAX_PERIOD_USEC:
        return None
    ways = [("147/128", _by_fifteen_percent)]
    if live.period_usec < MAX_PERIOD_USEC:
        ways.append(("2", _doubled))
    for factor, grow in ways:
        quota, period, steps = configured.quota_usec * 1000, configured.period_usec * 1000, 0
        while period // 1000 < live.period_usec:
            quota, period = grow(quota, period)
            steps += 1
        if steps and (quota // 1000, period // 1000) == (live.quota_usec, live.period_usec):
            return Scaling(steps, factor)
    return None


def _doubled(quota_nsec: int, period_nsec: int) -> tuple[int, int]:
    return quota_nsec * 2, period_nsec * 2


def _by_fifteen_percent(quota_nsec: int, period_nsec: int) -> tuple[int, int]:
    longer = min(period_nsec * 147 // 128, MAX_PERIOD_USEC * 1000)
    return quota_nsec * longer // period_nsec, longer


def quota_location(workload: Workload) -> Location | None:
    """Return the place of the assignment that decides the unit's quota."""
    config = workload.config
    if not isinstance(config, UnitConfig) or config.quota_from is None:
        return None
    return config.quota_from.value_location


def period_location(workload: Workload) -> Location | None:
    """Return the place of the assignment that decides the unit's period."""
    config = workload.config
    if not isinstance(config, UnitConfig) or config.period_from is None:
        return None
    return config.period_from.value_location
