"""CPU use of many cgroups, sampled at the scale at which the kernel throttles.

Each file is opened once and read again from its start: a few hundred cgroups ten times a second
must not become a load that is itself worth an audit.
"""

from __future__ import annotations

import errno
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Self

from quota_advisor.collect.host.cgroup_files import GroupLimit
from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, join, lineage
from quota_advisor.collect.host.demand import (
    LATE_FACTOR,
    Above,
    Samples,
    Trace,
    correlation_of_runs,
    measure,
    outline,
    trace,
)
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.cgroup import Demand, EndedLife, UseTrace
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.records import dataclass

SPARE_FILES = 64
"""Descriptors left for the rest of the program."""

STAT_BYTES = 1024
"""More than the longest ``cpu.stat``; a read shorter than the file would cut a number."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, as the window sees it; tests bring their own.

    Attributes:
        monotonic_nsec: Nanoseconds since some moment.
        sleep: Waits for a number of seconds.
        wall: The date and time.
    """

    monotonic_nsec: Callable[[], int] = time.monotonic_ns
    sleep: Callable[[float], None] = time.sleep
    wall: Callable[[], datetime] = lambda: datetime.now(UTC)

    def now_usec(self) -> int:
        """Return monotonic microseconds."""
        return self.monotonic_nsec() // 1000


Progress = Callable[[float, float], None]
"""Called with the seconds gone and the seconds in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When to sample: on an absolute grid, so that lateness does not add up.

    The interval gives way where it does not divide the window: a short rest would be a sampling
    window in which one tick of the kernel looks like a peak.
    """

    window_usec: int
    interval_usec: int

    @property
    def ticks(self) -> int:
        """Number of sampling windows."""
        return max(1, round(self.window_usec / self.interval_usec))

    def at_usec(self, tick: int) -> int:
        """Return the time of a sample after the start."""
        return self.window_usec * tick // self.ticks


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What sampling found.

    Attributes:
        demand: Demand of each cgroup, or why there is none.
        outlines: How use went, of cgroups under a limit.
        correlation: How far the throttled periods of each limited cgroup came in runs.
        samples: Times that all cgroups were read.
        late: Sampling windows that became longer than twice the interval, and are left out.
        unopened: Number of cgroups left out because no more files can be open.
        ended: Limited groups of each name that ended meanwhile, oldest first.
    """

    demand: Mapping[str, Demand | Missing]
    outlines: Mapping[str, UseTrace | Missing]
    correlation: Mapping[str, float]
    samples: int
    late: int
    unopened: int
    ended: Mapping[str, tuple[EndedLife, ...]]


class Sampler:
    """Samples the use of cgroups.

    Args:
        root: The host.
        hierarchy: Where its cgroups are.
        limits: Every cgroup to sample, with its limit.
        clock: Time.

    A context manager: the files are closed however it ends.
    """

    def __init__(
        self,
        root: HostRoot,
        hierarchy: CpuHierarchy,
        limits: Mapping[str, GroupLimit],
        clock: Clock,
    ) -> None:
        self._root = root
        self._hierarchy = hierarchy
        self._limits = limits
        self._clock = clock
        self._groups: dict[str, _OpenFiles] = {}
        self._open: list[_OpenFiles] = []
        self._missing: dict[str, Missing] = {}
        self._unopened = 0
        self._ended: dict[str, list[EndedLife]] = {}
        self._awaited: set[str] = set()

    def __enter__(self) -> Self:
        try:
            self._open_all(raise_file_limit() - _open_files() - SPARE_FILES)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        for group in self._groups.values():
            group.close()

    def run(self, schedule: Schedule, on_progress: Progress | None = None) -> Sampled:
        """Sample for the whole window and return what was found."""
        with ahead_of_others():
            samples, late = self._sample(schedule, on_progress)
        return Sampled(
            demand=self.demand(schedule.interval_usec),
            outlines=self._outlines(),
            correlation={
                path: correlation_of_runs(trace(group.samples))
                for path, group in self._groups.items()
                if group.own and not group.lost
            },
            samples=samples,
            late=late,
            unopened=self._unopened,
            ended={path: tuple(lives) for path, lives in self._ended.items()},
        )

    def _sample(self, schedule: Schedule, on_progress: Progress | None) -> tuple[int, int]:
        """Sample for the whole window; return how often, and how many windows were late."""
        start = previous = self._clock.now_usec()
        self.sweep()
        samples, late = 1, 0
        for tick in range(1, schedule.ticks + 1):
            if not self._wait(start, tick, schedule):
                continue
            now = self._clock.now_usec()
            self.sweep()
            samples += 1
            late += now - previous > LATE_FACTOR * schedule.interval_usec
            previous = now
            if on_progress is not None:
                on_progress((now - start) / 1e6, schedule.window_usec / 1e6)
        return samples, late

    def sweep(self) -> None:
        """Read every open cgroup once; those that are gone are closed."""
        if self._awaited:
            self._reopen()
        clock = self._clock.monotonic_nsec
        lost = False
        for group in self._open:
            try:
                used, stalled, periods, throttled = group.read()
            except (OSError, ValueError) as error:
                group.lost = _why(error)
                lost = True
                continue
            samples = group.samples
            samples.times_nsec.append(clock())
            samples.usage.append(used)
            samples.stalled.append(stalled)
            if group.own:
                samples.periods.append(periods)
                samples.throttled.append(throttled)
        if lost:
            self._drop_lost()

    def demand(self, interval_usec: int) -> dict[str, Demand | Missing]:
        """Return the demand of each cgroup as sampled so far."""
        traces = {path: trace(group.samples) for path, group in self._groups.items()}
        found: dict[str, Demand | Missing] = dict(self._missing)
        for path, group in self._groups.items():
            if group.lost:
                found[path] = Missing(reason=f"lost while it was sampled: {group.lost}")
                continue
            above = self._above(path, group, traces)
            found[path] = measure(traces[path], interval_usec, above)
        return found

    def _outlines(self) -> dict[str, UseTrace | Missing]:
        """Return how use went, of each cgroup that is under a limit and was there to the end."""
        limited = {p: g for p, g in self._groups.items() if not g.lost and self._chain(p)}
        traces = {path: trace(group.samples) for path, group in limited.items()}
        return {p: outline(traces[p], self._above(p, g, traces)) for p, g in limited.items()}

    def _above(self, path: str, group: _OpenFiles, traces: Mapping[str, Trace]) -> Above:
        """Return the limits that may hold a cgroup back."""
        chain = self._chain(path)
        return Above(
            period_usec=max((limit.period_usec for limit in chain.values()), default=0),
            traces=[traces[p] for p in chain if p != path and p in traces],
            is_told=group.sees_ancestors,
        )

    def _drop_lost(self) -> None:
        for path, group in self._groups.items():
            if group.lost and group.files:
                group.close()
                if group.own:
                    self._ended.setdefault(path, []).append(group.life)
                    self._awaited.add(path)
        self._open = [group for group in self._open if not group.lost]

    def _reopen(self) -> None:
        """Look for limited groups that came back: a unit that restarts has a new one each time."""
        for path in sorted(self._awaited):
            chain = self._chain(path)
            files = self._files(path, own=True, above=bool(chain.keys() - {path}))
            if isinstance(files, dict) and self._open_group(path, files, own=True):
                self._awaited.remove(path)
                self._open.append(self._groups[path])

    def _wait(self, start: int, tick: int, schedule: Schedule) -> bool:
        """Sleep until a tick; return False when it is so late that the next one should do.

        Windows thus last from half the interval on: shorter ones would show peaks that are none.
        """
        due = start + schedule.at_usec(tick)
        early = due - self._clock.now_usec()
        if early > 0:
            self._clock.sleep(early / 1e6)
        late = self._clock.now_usec() - due
        return tick == schedule.ticks or late <= schedule.interval_usec / 2

    def _chain(self, path: str) -> dict[str, Bandwidth]:
        """Return the limits on the way up, the cgroup's own first."""
        known = ((above, self._limits.get(above)) for above in lineage(path))
        return {
            above: found.limit
            for above, found in known
            if found is not None and isinstance(found.limit, Bandwidth)
        }

    def _open_all(self, budget: int) -> None:
        # Those under a limit come first: for them the demand decides something.
        for path in sorted(self._limits, key=lambda p: not self._chain(p)):
            chain = self._chain(path)
            files = self._files(path, own=path in chain, above=bool(chain.keys() - {path}))
            if isinstance(files, Missing):
                self._missing[path] = files
            elif len(files) > budget:
                self._unopened += 1
                self._missing[path] = Missing(reason="not sampled: too many files would be open")
            else:
                budget -= len(files)
                self._open_group(path, files, own=path in chain)
        self._open = list(self._groups.values())

    def _files(self, path: str, *, own: bool, above: bool) -> dict[str, str] | Missing:
        """Return the files to read at each sample, by what they tell."""
        if isinstance(self._hierarchy.cpuacct, Missing):
            return self._hierarchy.cpuacct
        group = join(self._hierarchy.cpu, path)
        if self._hierarchy.version == 1:
            files = {"usage": join(self._hierarchy.cpuacct, path) + "/cpuacct.usage"}
            if own:
                files["own"] = f"{group}/cpu.stat"
        else:
            files = {"usage": f"{group}/cpu.stat"}
        if above and self._root.exists(f"{group}/cpu.stat.local"):
            files["local"] = f"{group}/cpu.stat.local"
        return files

    def _open_group(self, path: str, files: dict[str, str], *, own: bool) -> bool:
        """Take a cgroup among those that are sampled; say whether it could be."""
        group = (_FilesV1 if self._hierarchy.version == 1 else _FilesV2)(own=own)
        try:
            for role, name in files.items():
                group.files[role] = self._root.open(name)
            group.start()
        except (OSError, ValueError) as error:
            group.close()
            self._missing[path] = Missing(reason=f"{files['usage']}: {_why(error)}")
            return False
        self._groups[path] = group
        return True


_Reading = tuple[int, int, int, int]
"""Time used, time stalled, periods, throttled periods."""

NICENESS = -10
"""Before ordinary work, behind what is urgent: late samples would hide the peaks."""


@contextmanager
def ahead_of_others() -> Iterator[None]:
    """Go before other programs for a while, where that is allowed; niceness is the thread's own."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, min(before, NICENESS))
        yield
    finally:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, before)


class _OpenFiles:
    """The open files of one cgroup and what was read from them."""

    nsec_per_unit: int

    def __init__(self, *, own: bool) -> None:
        self.files: dict[str, int] = {}
        self.samples = Samples(nsec_per_unit=self.nsec_per_unit)
        self.lost = ""
        self.sees_ancestors = False
        self.own = own
        self._usage = self._stat = self._local = -1
        self._last: _Reading = (-1, 0, 0, 0)

    def start(self) -> None:
        """Take the files into use.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file holds something else.
        """
        self._usage = self.files["usage"]
        self._stat = self.files.get("own", -1)
        self._local = self.files.get("local", -1)
        # Without the cpu controller the file is there and empty.
        if self._local >= 0 and not os.pread(self._local, STAT_BYTES, 0):
            self._local = -1
        self.sees_ancestors = self._local >= 0
        self.read()

    def read(self) -> _Reading:
        """Return time used, time stalled, periods and throttled periods of its own limit.

        Times are in the unit of the hierarchy.

        Raises:
            OSError: The cgroup is gone.
            ValueError: A file holds something else.
        """
        raise NotImplementedError

    @property
    def life(self) -> EndedLife:
        """What its limit did from its creation to the last reading."""
        _, _, periods, throttled = self._last
        return EndedLife(periods=periods, throttled_periods=throttled)

    def close(self) -> None:
        """Close the files; they may be closed already."""
        while self.files:
            _, descriptor = self.files.popitem()
            os.close(descriptor)


class _FilesV1(_OpenFiles):
    nsec_per_unit = 1

    def read(self) -> _Reading:
        used = int(os.pread(self._usage, 32, 0))
        # A group that did not run tells nothing new: a stall is counted when it ends, and what
        # ends it is that the group runs. This halves the cost of limited groups that are idle.
        if used != self._last[0]:
            self._last = (used, *self._held())
        return self._last

    def _held(self) -> tuple[int, int, int]:
        stalled = periods = throttled = 0
        if self._stat >= 0:
            stat = os.pread(self._stat, STAT_BYTES, 0)
            stalled, periods, throttled = _counts(stat, b"throttled_time ")
        if self._local >= 0:
            stalled += number_after(os.pread(self._local, STAT_BYTES, 0), b"throttled_time ")
        return stalled, periods, throttled


class _FilesV2(_OpenFiles):
    nsec_per_unit = 1000

    def read(self) -> _Reading:
        stat = os.pread(self._usage, STAT_BYTES, 0)
        used = number_after(stat, b"usage_usec ")
        if used != self._last[0]:
            self._last = (used, *self._held(stat))
        return self._last

    def _held(self, stat: bytes) -> tuple[int, int, int]:
        stalled = periods = throttled = 0
        if self.own:
            stalled, periods, throttled = _counts(stat, b"throttled_usec ")
        if self._local >= 0:
            stalled += number_after(os.pread(self._local, STAT_BYTES, 0), b"throttled_usec ")
        return stalled, periods, throttled


def raise_file_limit() -> int:
    """Raise the number of files that may be open as far as it goes, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return (1 << 20) if soft == resource.RLIM_INFINITY else soft


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only their number is wanted
    except OSError:
        return 0


def _counts(stat: bytes, time_key: bytes) -> tuple[int, int, int]:
    """Return throttled time, periods and throttled periods.

    Raises:
        ValueError: One of them is not there.
    """
    return (
        number_after(stat, time_key),
        number_after(stat, b"nr_periods "),
        number_after(stat, b"nr_throttled "),
    )


def number_after(text: bytes, key: bytes) -> int:
    """Return the number behind a key.

    Raises:
        ValueError: There is none.
    """
    start = text.index(key) + len(key)
    return int(text[start : text.index(b"\n", start)])


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return "unexpected text"
    if error.errno == errno.ENODEV:  # what an open file of a removed cgroup says
        return "the cgroup is gone"
    return (error.strerror or str(error)).lower()
