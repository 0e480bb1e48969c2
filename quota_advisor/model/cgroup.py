"""One cgroup: its limits, its counters, and its demand over a window."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from quota_advisor.model.limit import Bandwidth, CpuLimit, Missing
from quota_advisor.model.source import Source
from quota_advisor.records import dataclass

_NOT_RECORDED = Missing(reason="recorded by an older version")

_INT_SPAN = 1 << 32
"""The kernel's int counters wrap within this."""
_NO_ENGINE = Missing(reason="no engine was asked for the limit")
_NOT_LOOKED_FOR = Missing(reason="not looked for")


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuCounters:
    """One reading of ``cpu.stat`` and its companions, in microseconds whatever the hierarchy.

    Counters that the kernel does not report are missing, never zero: a v2 group without the
    cpu controller has usage only, and per-cgroup pressure may be switched off.

    Attributes:
        read_at_usec: Monotonic time of the reading.
        usage_usec: CPU time used (v1: ``cpuacct.usage``).
        nr_periods: Periods in which the group was active; an int of the kernel that wraps.
        nr_throttled: Periods at whose end the group was throttled; wraps likewise.
        throttled_usec: Time throttled by the group's own quota, summed over CPUs.
        nr_bursts: Periods that drew on the burst; wraps likewise.
        burst_usec: Time drawn on the burst.
        local_throttled_usec: ``cpu.stat.local``: time stalled by itself or any ancestor.
        pressure_some_usec: ``cpu.pressure`` ``some total``: wall time with a task waiting.
        pressure_full_usec: ``cpu.pressure`` ``full total``: wall time with all tasks waiting.
    """

    read_at_usec: int
    usage_usec: int | Missing
    nr_periods: int | Missing
    nr_throttled: int | Missing
    throttled_usec: int | Missing
    nr_bursts: int | Missing
    burst_usec: int | Missing
    local_throttled_usec: int | Missing
    pressure_some_usec: int | Missing
    pressure_full_usec: int | Missing

    @property
    def throttled_ratio(self) -> float | Missing:
        """Share of the periods since the group was created that ended throttled, 0 to 1."""
        return _share_of_periods(self.nr_throttled, self.nr_periods)

    @property
    def since_creation(self) -> CounterWindow:
        """The totals in the form of a window.

        A count that wrapped to a negative number is shown as the positive one that it stands for.
        More throttled periods than periods means that the latter went round once more: nothing is
        told.
        """
        periods, throttled = _unsigned(self.nr_periods), _unsigned(self.nr_throttled)
        if isinstance(periods, int) and isinstance(throttled, int) and throttled > periods:
            periods = throttled = Missing(reason="the counters have wrapped; use a window")
        return CounterWindow(
            basis=Basis.LIFETIME,
            elapsed_usec=Missing(reason="the kernel does not tell when the cgroup was created"),
            usage_usec=self.usage_usec,
            periods=periods,
            throttled_periods=throttled,
            throttled_usec=self.throttled_usec,
            burst_periods=_unsigned(self.nr_bursts),
            burst_usec=self.burst_usec,
            local_throttled_usec=self.local_throttled_usec,
            pressure_some_usec=self.pressure_some_usec,
            pressure_full_usec=self.pressure_full_usec,
        )


class Basis(StrEnum):
    """What a difference of counters spans."""

    WINDOW = "window"
    LIFETIME = "lifetime"


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterWindow:
    """The difference between two readings of one cgroup, or its totals since it was created.

    Attributes:
        basis: Two readings, or the totals.
        elapsed_usec: Wall time between the readings; missing for totals.
        usage_usec … pressure_full_usec: As in :class:`CpuCounters`, as differences.
        throttled_correlation_ratio: Correlation of each period's being throttled with that of the
            period before it, 0 to 1: throttled periods come in runs. 0 where all periods were
            alike, and where only totals are known.
    """

    basis: Basis
    elapsed_usec: int | Missing
    usage_usec: int | Missing
    periods: int | Missing
    throttled_periods: int | Missing
    throttled_usec: int | Missing
    burst_periods: int | Missing
    burst_usec: int | Missing
    local_throttled_usec: int | Missing
    pressure_some_usec: int | Missing
    pressure_full_usec: int | Missing
    throttled_correlation_ratio: float = 0.0

    @property
    def throttled_ratio(self) -> float | Missing:
        """Share of active periods that ended throttled, 0 to 1; missing without any period."""
        return _share_of_periods(self.throttled_periods, self.periods)


def _share_of_periods(throttled: int | Missing, periods: int | Missing) -> float | Missing:
    if isinstance(periods, Missing):
        return periods
    if isinstance(throttled, Missing):
        return throttled
    if periods == 0:
        return Missing(reason="no period ran: the group was idle or has no quota of its own")
    # Both are ints of the kernel that wrap, each at a time of its own.
    if periods < 0 or not 0 <= throttled <= periods:
        return Missing(reason="the kernel's counters of periods have wrapped")
    return throttled / periods


def _unsigned(value: int | Missing) -> int | Missing:
    return value if isinstance(value, Missing) else value % _INT_SPAN


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNeed:
    """What a simulation of a recorded demand came to.

    Attributes:
        target: What a quota had to keep, for people.
        cores: The smallest quota that keeps it, in steps of 5 %, with the default period and no
            burst; missing where none below all CPUs does.
        limit: The quota in force that was simulated too; missing where there was none.
        throttled_ratio: Share of its active periods that it would throttle.
        burst_usec: The smallest burst that keeps the target with that quota; missing where none
            does, or none is needed.
        burst_throttled_ratio: Share of the periods throttled with it.
    """

    target: str
    cores: float | Missing
    limit: Bandwidth | Missing = _NOT_RECORDED
    throttled_ratio: float | Missing = _NOT_RECORDED
    burst_usec: int | Missing = _NOT_RECORDED
    burst_throttled_ratio: float | Missing = _NOT_RECORDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """CPU use at the scale at which the kernel throttles.

    Sampling windows are weighted by their real length; those far longer than intended are left
    out, since their average hides the peaks in them.

    Attributes:
        interval_usec: Real length of a sampling window, on average.
        windows: Number of sampling windows.
        mean_cores: Use over the whole time.
        p95_cores: 95th percentile over the active windows; over all where none is active.
        max_cores: Highest window.
        censored_windows: Windows in which a limit held the demand back, as the kernel counted it.
            The true demand of those windows is unknown.
        active_windows: Windows in which the group did more than sleep.
        burst_cores: The most that a period may have to hold: the highest window, or the work of a
            short burst that fell into two windows, as if it had come within one.
        simulated: What the simulator made of a recording of it.
    """

    interval_usec: int
    windows: int
    mean_cores: float
    p95_cores: float
    max_cores: float
    censored_windows: int
    active_windows: int | Missing = _NOT_RECORDED
    burst_cores: float | Missing = _NOT_RECORDED
    simulated: SimulatedNeed | Missing = _NOT_RECORDED

    @property
    def watched_usec(self) -> int:
        """Time that the windows span together."""
        return self.windows * self.interval_usec

    @property
    def active_usec(self) -> int:
        """Time that the active windows span; all of it where an older recording does not tell."""
        active = self.active_windows
        return (active if isinstance(active, int) else self.windows) * self.interval_usec

    @property
    def highest_cores(self) -> float:
        """The most that a period may have to hold, as far as it was recorded."""
        return self.burst_cores if isinstance(self.burst_cores, float) else self.max_cores


@dataclass(frozen=True, slots=True, kw_only=True)
class UseTrace:
    """How use went over the window, for people to look at; nothing is judged by it.

    Attributes:
        interval_usec: Length of one point, on average.
        cores: Use in each point; the highest sampling window where a point holds several.
        held: Whether a limit held the group back in it.
    """

    interval_usec: int
    cores: tuple[float, ...]
    held: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedLife:
    """A cgroup that ended while it was watched, as it was last read.

    Attributes:
        periods: Periods from its creation on in which it was active.
        throttled_periods: Those of them that ended throttled.
    """

    periods: int
    throttled_periods: int


class Engine(StrEnum):
    """What made a container."""

    DOCKER = "docker"
    PODMAN = "podman"
    CONTAINERD = "containerd"
    CRIO = "cri-o"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container recognised by the name of its cgroup.

    Attributes:
        engine: What made it, as far as the name tells.
        id: Container id (64 hex digits), or the pod's uid for a pod's own cgroup.
        name: Name from the engine's socket, or why there is none.
        limit: The limit that the engine says it has, or why it was not told.
    """

    engine: Engine
    id: str
    name: str | Missing
    limit: CpuLimit = _NO_ENGINE


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupFacts:
    """One cgroup as found on the host.

    Attributes:
        path: Path below the root of the CPU hierarchy, as the kernel names it; ``/`` is the root.
        version: Version of the hierarchy that holds the CPU controller.
        limit: The group's own limit. The root has none: it is unlimited.
        burst_usec: Burst allowance; missing where the kernel has no such file.
        weight: ``cpu.weight`` (v2) or ``cpu.shares`` (v1).
        cpus: CPUs that the group may run on, as its cpuset says.
        processes: Number of processes in the group itself.
        threads: Number of threads of these processes.
        commands: Command names of these processes, most frequent first, each once.
        realtime_threads: Threads among them that the kernel schedules as real-time or deadline
            tasks, which no quota binds; only looked for where the group has a limit.
        totals: Counters since the group was created (the last reading).
        window: Difference of two readings, or why there is none.
        demand: Demand over the window, or why there is none.
        container: The container that the group belongs to, if its name shows one.
        trace: How use went, of groups under a limit.
        ended_lives: Groups of this name that ended in the window, oldest first: a unit's restarts.
        sources: Files read, with their text; see :meth:`source`.
    """

    path: str
    version: Literal[1, 2]
    limit: CpuLimit
    burst_usec: int | Missing
    weight: int | Missing
    cpus: tuple[int, ...] | Missing
    processes: int | Missing
    threads: int | Missing
    commands: tuple[str, ...]
    totals: CpuCounters
    window: CounterWindow | Missing
    demand: Demand | Missing
    container: Container | None
    sources: tuple[Source, ...]
    realtime_threads: int | Missing = _NOT_LOOKED_FOR
    trace: UseTrace | Missing = _NOT_RECORDED
    ended_lives: tuple[EndedLife, ...] = ()

    def source(self, file_name: str) -> Source | None:
        """Return where ``file_name`` (for example ``cpu.max``) was read, if it was."""
        suffix = f"/{file_name}"
        return next((s for s in self.sources if s.locator.endswith(suffix)), None)

    @property
    def limit_source(self) -> Source | None:
        """Where the live limit was read, on either hierarchy."""
        return self.source("cpu.max") or self.source("cpu.cfs_quota_us")
