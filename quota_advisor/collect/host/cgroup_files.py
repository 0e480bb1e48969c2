"""The files of one cgroup: what they mean, and reading them.

Sources: Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst,
Documentation/accounting/psi.rst and ``kernel/sched/core.c`` for the formats. A file that is not
there, a file that may not be read and a value of zero are three different things.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Self, TypeVar

from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, join
from quota_advisor.collect.host.root import HostRoot, describe, why
from quota_advisor.model.cgroup import CpuCounters
from quota_advisor.model.limit import Bandwidth, CpuLimit, Missing, Unlimited
from quota_advisor.model.problem import Problem
from quota_advisor.model.source import Source, SourceKind
from quota_advisor.records import dataclass
from quota_advisor.units import parse_cpu_list

MAX_NAMED_PROCESSES = 256
"""Command names are for people: after so many processes, more say nothing new."""

MAX_ASKED_THREADS = 1024
"""Threads whose policy is read: 20 ms of reading, and more of them are no real-time program."""

_POLICY = 41 - 3
"""Place of the policy among the fields behind the name in ``/proc/TID/stat``."""

_MAX_RAW = 4096
"""Longest text kept of one file; only lists of processes are longer."""

_UNSIGNED = re.compile(r"[0-9]{1,20}\Z")
_SIGNED = re.compile(r"-?[0-9]{1,20}\Z")
_SHOWN = 80

# The kernel prints these with %d; everything else in cpu.stat is an unsigned 64-bit time.
_INT_KEYS = frozenset({"nr_periods", "nr_throttled", "nr_bursts"})
_TIME_KEYS = frozenset({"usage_usec", "throttled_usec", "throttled_time", "burst_usec"})
_KNOWN_KEYS = _INT_KEYS | _TIME_KEYS | {"burst_time"}

Identity = tuple[int | None, ...]
"""Inode numbers of a cgroup's directories; None where a hierarchy has no such group."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimit:
    """The limit of one cgroup, as far as bandwidth control goes."""

    limit: CpuLimit
    burst_usec: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """What one cgroup is set to and what runs in it; fields as in ``CgroupFacts``."""

    limit: CpuLimit
    burst_usec: int | Missing
    weight: int | Missing
    cpus: tuple[int, ...] | Missing
    processes: int | Missing
    threads: int | Missing
    commands: tuple[str, ...]
    realtime_threads: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterReading:
    """One reading of a cgroup's counters, and which cgroup it was."""

    counters: CpuCounters
    identity: Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefReading:
    """A cgroup's counters and its limit, without what runs in it."""

    counters: CpuCounters
    limit: CpuLimit
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReading:
    """One reading of all that a cgroup tells; fields as in :class:`CounterReading`."""

    counters: CpuCounters
    identity: Identity
    settings: GroupSettings
    sources: tuple[Source, ...]
    problems: tuple[Problem, ...]


# Formats


def parse_cpu_max(text: str) -> Bandwidth | Unlimited:
    """Parse ``cpu.max`` (v2): quota or ``max``, and period, in microseconds.

    Raises:
        ValueError: Anything else.
    """
    quota, period = _pair(text)
    period_usec = _positive(period)
    if quota == "max":
        return Unlimited()
    return Bandwidth(quota_usec=_positive(quota), period_usec=period_usec)


def parse_cfs_quota(text: str) -> int | Unlimited:
    """Parse ``cpu.cfs_quota_us`` (v1): microseconds, -1 for no limit.

    Raises:
        ValueError: Anything else.
    """
    return Unlimited() if text.strip() == "-1" else _positive(text)


def parse_count(text: str) -> int:
    """Parse a file that holds one number that is not negative.

    Raises:
        ValueError: Anything else.
    """
    return _unsigned(text.strip())


def parse_stat(text: str) -> dict[str, int]:
    """Parse ``cpu.stat`` or ``cpu.stat.local``: known keys and their numbers as written.

    Unknown keys (``nice_usec``, ``core_sched.force_idle_usec``, ``wait_sum``) are passed over.
    The int counters wrap to negative numbers after 2³¹ (``kernel/sched/core.c`` prints ``%d``).

    Raises:
        ValueError: A known key without a number.
    """
    lines = (line.partition(" ") for line in text.splitlines())
    return {key: _stat_number(key, value) for key, _, value in lines if key in _KNOWN_KEYS}


def parse_pressure(text: str) -> dict[str, int]:
    """Parse a pressure file: ``some`` and ``full`` with their totals in microseconds.

    Raises:
        ValueError: A line without a total.
    """
    totals = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind in ("some", "full"):
            _, found, total = rest.rpartition("total=")
            totals[kind] = _unsigned(total if found else "")
    return totals


def _pair(text: str) -> tuple[str, str]:
    first, second = text.split()
    return first, second


def _positive(text: str) -> int:
    number = _unsigned(text.strip())
    if number == 0:
        raise ValueError(text)
    return number


def _unsigned(text: str) -> int:
    # int() alone would take "1_000", "+1" and digits of other scripts, which no kernel writes.
    if not _UNSIGNED.match(text):
        raise ValueError(text)
    return int(text)


def _stat_number(key: str, value: str) -> int:
    if key not in _INT_KEYS:
        return _unsigned(value)
    if not _SIGNED.match(value):
        raise ValueError(value)
    return int(value)


# Reading


def read_limit(root: HostRoot, hierarchy: CpuHierarchy, path: str) -> GroupLimit | None:
    """Return the limit alone, or None when the cgroup has vanished."""
    with _GroupFiles(root, hierarchy, path) as group:
        limit, burst = _limit(group), _burst(group)
        return None if group.vanished else GroupLimit(limit=limit, burst_usec=burst)


def read_counters(
    root: HostRoot, hierarchy: CpuHierarchy, path: str, now_usec: Callable[[], int]
) -> CounterReading | None:
    """Return the cgroup's counters, or None when it has vanished.

    Args:
        root: The host.
        hierarchy: Where its cgroups are.
        path: The cgroup.
        now_usec: Monotonic clock.
    """
    with _GroupFiles(root, hierarchy, path) as group:
        counters = _counters(group, now_usec())
        if group.vanished:
            return None
        return CounterReading(counters=counters, identity=group.identity)


def read_brief(
    root: HostRoot, hierarchy: CpuHierarchy, path: str, now_usec: Callable[[], int]
) -> BriefReading | None:
    """Return what is exported of a cgroup, or None when it has vanished.

    Args:
        root: The host.
        hierarchy: Where its cgroups are.
        path: The cgroup.
        now_usec: Monotonic clock.
    """
    with _GroupFiles(root, hierarchy, path) as group:
        counters, limit = _counters(group, now_usec()), _limit(group)
        if group.vanished:
            return None
        return BriefReading(counters=counters, limit=limit, problems=tuple(group.problems))


def read_group(
    root: HostRoot, hierarchy: CpuHierarchy, path: str, now_usec: Callable[[], int]
) -> GroupReading | None:
    """Return all that a cgroup tells, its counters first, or None when it has vanished.

    Args:
        root: The host.
        hierarchy: Where its cgroups are.
        path: The cgroup.
        now_usec: Monotonic clock.
    """
    with _GroupFiles(root, hierarchy, path) as group:
        counters = _counters(group, now_usec())
        settings = _settings(group)
        if group.vanished:
            return None
        return GroupReading(
            counters=counters,
            identity=group.identity,
            settings=settings,
            sources=tuple(group.sources),
            problems=tuple(group.problems),
        )


def _settings(group: _GroupFiles) -> GroupSettings:
    processes, commands = _processes(group)
    limit, threads = _limit(group), _threads(group)
    return GroupSettings(
        limit=limit,
        burst_usec=_burst(group),
        weight=_weight(group),
        cpus=_cpus(group),
        processes=processes,
        threads=threads if isinstance(threads, Missing) else len(threads),
        commands=commands,
        realtime_threads=_realtime_threads(group, limit, threads),
    )


class _GroupFiles:
    """Reads files of one cgroup, keeping book of sources, absences and problems.

    Each of its directories is opened once and held until the end: what is read belongs to one
    cgroup, even where another of the same name takes its place meanwhile.
    """

    def __init__(self, root: HostRoot, hierarchy: CpuHierarchy, path: str) -> None:
        self.root = root
        self.hierarchy = hierarchy
        self.path = path
        self.sources: list[Source] = []
        self.problems: list[Problem] = []
        self.absent: set[str] = set()
        self._gone = False
        self._held = ExitStack()
        self._directories: dict[str, int | OSError] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def vanished(self) -> bool:
        """Whether the cgroup was removed, so that nothing read of it counts."""
        inode = self._inode(self.hierarchy.cpu)
        if self._gone or inode is None:
            return True
        # A file that is not there may have gone with its cgroup, which the handle does not tell.
        return bool(self.absent) and self.root.inode(join(self.hierarchy.cpu, self.path)) != inode

    @property
    def identity(self) -> Identity:
        """The inode number of its directory in each hierarchy that counters come from."""
        h = self.hierarchy
        return tuple(self._inode(base) for base in (h.cpu, h.cpuacct, h.pressure))

    def text(self, base: str | Missing, name: str) -> str | Missing:
        """Return a file's text. Only what should be readable and is not becomes a problem."""
        if isinstance(base, Missing):
            return base
        locator = posixpath.join(join(base, self.path), name)
        try:
            text = self.root.read_in(self._directory(base), name)
        except OSError as error:
            return self._failed(error, locator, name)
        raw = text if len(text) <= _MAX_RAW else text[:_MAX_RAW] + "…"
        self.sources.append(Source(kind=SourceKind.CGROUP_FILE, locator=locator, raw=raw))
        return text

    def value(self, base: str | Missing, name: str, parse: Callable[[str], T]) -> T | Missing:
        """Return what a file says, or why it cannot be told. Nothing is guessed."""
        text = self.text(base, name)
        if isinstance(text, Missing):
            return text
        try:
            return parse(text)
        except ValueError:
            return self.problem(self.sources[-1].locator, f"unexpected text {_shown(text)}")

    def problem(self, locator: str, reason: str) -> Missing:
        """File a problem and return it as the missing value's reason."""
        self.problems.append(Problem(subject=locator, reason=reason))
        return Missing(reason=f"{locator}: {reason}")

    def _failed(self, error: OSError, locator: str, name: str) -> Missing:
        if error.errno == errno.ENODEV:
            self._gone = True
        elif error.errno in (errno.ENOENT, errno.ENOTDIR):
            self.absent.add(name)
        elif error.errno != errno.EOPNOTSUPP:  # pressure switched off, or a threaded cgroup
            self.problems.append(Problem(subject=locator, reason=why(error)))
        return Missing(reason=describe(error, locator))

    def _inode(self, base: str | Missing) -> int | None:
        if isinstance(base, Missing):
            return None
        try:
            return os.fstat(self._directory(base)).st_ino
        except OSError:
            return None

    def _directory(self, base: str) -> int:
        """Return the open directory of the cgroup in a hierarchy.

        Raises:
            OSError: It is not there, or may not be opened.
        """
        if base not in self._directories:
            try:
                opened: int | OSError = self._held.enter_context(
                    self.root.directory(join(base, self.path))
                )
            except OSError as error:
                opened = error
            self._directories[base] = opened
        known = self._directories[base]
        if isinstance(known, OSError):
            raise known
        return known


def _limit(group: _GroupFiles) -> CpuLimit:
    cpu = group.hierarchy.cpu
    if group.hierarchy.version == 1:
        quota = group.value(cpu, "cpu.cfs_quota_us", parse_cfs_quota)
        if "cpu.cfs_quota_us" in group.absent:
            return Unlimited()  # a kernel without bandwidth control
        if not isinstance(quota, int):
            return quota
        period = group.value(cpu, "cpu.cfs_period_us", _positive)
        if isinstance(period, Missing):
            return period
        return Bandwidth(quota_usec=quota, period_usec=period)
    limit = group.value(cpu, "cpu.max", parse_cpu_max)
    # The root, and a group whose parent does not hand it the controller, have no such file:
    # nothing can limit them but an ancestor.
    return Unlimited() if "cpu.max" in group.absent else limit


def _burst(group: _GroupFiles) -> int | Missing:
    name = "cpu.cfs_burst_us" if group.hierarchy.version == 1 else "cpu.max.burst"
    return group.value(group.hierarchy.cpu, name, parse_count)


def _weight(group: _GroupFiles) -> int | Missing:
    name = "cpu.shares" if group.hierarchy.version == 1 else "cpu.weight"
    return group.value(group.hierarchy.cpu, name, parse_count)


def _cpus(group: _GroupFiles) -> tuple[int, ...] | Missing:
    """Return the CPUs of the group's cpuset, or of the nearest ancestor that has one.

    On v1 the cpuset hierarchy is another tree: a group that is not in it says nothing.
    """
    cpuset = group.hierarchy.cpuset
    if group.hierarchy.version == 1:
        for name in ("cpuset.effective_cpus", "cpuset.cpus"):
            cpus = group.value(cpuset, name, parse_cpu_list)
            if name not in group.absent:
                return cpus
        return Missing(reason="the cpuset hierarchy has no cgroup of this name")
    name = "cpuset.cpus.effective"
    cpus = group.value(cpuset, name, parse_cpu_list)
    if name in group.absent and group.path != "/":
        above = posixpath.dirname(group.path)
        with _GroupFiles(group.root, group.hierarchy, above) as parent:
            parent.sources = group.sources
            return _cpus(parent)
    return cpus


def _processes(group: _GroupFiles) -> tuple[int | Missing, tuple[str, ...]]:
    pids = group.value(group.hierarchy.cpu, "cgroup.procs", _lines)
    if isinstance(pids, Missing):
        return pids, ()
    # v1 may list a process twice; 0 stands for each process of another PID namespace.
    foreign = pids.count("0")
    own = sorted(set(pids) - {"0"})
    return foreign + len(own), _commands(group.root, own[:MAX_NAMED_PROCESSES])


def _threads(group: _GroupFiles) -> list[str] | Missing:
    name = "tasks" if group.hierarchy.version == 1 else "cgroup.threads"
    return group.value(group.hierarchy.cpu, name, _lines)


def _realtime_threads(
    group: _GroupFiles, limit: CpuLimit, threads: list[str] | Missing
) -> int | Missing:
    """Return how many of a limited group's threads no quota binds. Threads may end meanwhile."""
    if isinstance(threads, Missing) or not isinstance(limit, Bandwidth):
        return threads if isinstance(threads, Missing) else Missing(reason="no limit to bind them")
    if len(threads) > MAX_ASKED_THREADS:
        return Missing(reason=f"more than {MAX_ASKED_THREADS} threads are not asked one by one")
    texts = (group.root.try_read(f"/proc/{tid}/stat") for tid in threads)
    return sum(is_realtime(text) for text in texts if isinstance(text, str))


def is_realtime(stat: str) -> bool:
    """Whether ``/proc/TID/stat`` names a policy outside of the fair class.

    Field 41 is the policy (proc_pid_stat(5)): 1 and 2 are real-time, 6 is deadline. The name in
    field 2 may hold blanks and brackets: fields are counted from behind the last bracket.
    """
    fields = stat.rpartition(")")[2].split()
    return len(fields) > _POLICY and fields[_POLICY] in ("1", "2", "6")


def _lines(text: str) -> list[str]:
    """Return the process numbers of a list.

    Raises:
        ValueError: Anything that is no number.
    """
    return [str(_unsigned(line)) for line in text.splitlines()]


def _commands(root: HostRoot, pids: Iterable[str]) -> tuple[str, ...]:
    """Return command names, most frequent first. Processes may end at any moment."""
    texts = (root.try_read(f"/proc/{pid}/comm") for pid in pids)
    names = Counter(text.removesuffix("\n") for text in texts if isinstance(text, str))
    return tuple(sorted(names, key=lambda name: (-names[name], name)))


def _counters(group: _GroupFiles, read_at_usec: int) -> CpuCounters:
    h = group.hierarchy
    stat = _keys(group, group.value(h.cpu, "cpu.stat", parse_stat), "cpu.stat")
    local = _keys(group, group.value(h.cpu, "cpu.stat.local", parse_stat), "cpu.stat.local")
    pressure = _keys(group, group.value(h.pressure, "cpu.pressure", parse_pressure), "cpu.pressure")
    v1 = h.version == 1
    return CpuCounters(
        read_at_usec=read_at_usec,
        usage_usec=_nsec(group.value(h.cpuacct, "cpuacct.usage", parse_count))
        if v1
        else stat("usage_usec"),
        nr_periods=stat("nr_periods"),
        nr_throttled=stat("nr_throttled"),
        throttled_usec=_nsec(stat("throttled_time")) if v1 else stat("throttled_usec"),
        nr_bursts=stat("nr_bursts"),
        burst_usec=_nsec(stat("burst_time")) if v1 else stat("burst_usec"),
        local_throttled_usec=_nsec(local("throttled_time")) if v1 else local("throttled_usec"),
        pressure_some_usec=pressure("some"),
        pressure_full_usec=pressure("full"),
    )


def _keys(
    group: _GroupFiles, found: dict[str, int] | Missing, name: str
) -> Callable[[str], int | Missing]:
    """Return a look-up of one file's keys that never turns an absent key into zero."""
    if isinstance(found, Missing):
        return lambda _key: found
    where = posixpath.join(group.path, name)
    return lambda key: found.get(key, Missing(reason=f"{key} is not reported in {where}"))


def _nsec(value: int | Missing) -> int | Missing:
    """Return nanoseconds (every time of v1) as microseconds."""
    return value if isinstance(value, Missing) else value // 1000


def _shown(text: str) -> str:
    return repr(text.strip() if len(text) <= _SHOWN else text[:_SHOWN] + "…")
