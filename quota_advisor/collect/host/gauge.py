"""The counters of one cgroup, read often: each file is opened once."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Self

from quota_advisor.collect.host.cgroup_files import read_limit
from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, join
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.sampler import STAT_BYTES, number_after
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.records import NamedTuple


class Counts(NamedTuple):
    """What one reading says; None for what this kernel does not count for this cgroup.

    Attributes:
        used_usec: CPU time used since the cgroup was made.
        periods: Periods of its own quota in which it was active.
        throttled_periods: Those of them that ended throttled.
        throttled_usec: Time throttled by its own quota, summed over CPUs.
        stalled_usec: The same by its own or any quota above.
    """

    used_usec: int
    periods: int | None
    throttled_periods: int | None
    throttled_usec: int | None
    stalled_usec: int | None


class Glance(NamedTuple):
    """The files as they were read.

    Attributes:
        usage: Use, in the hierarchy's unit.
        stat: ``cpu.stat``.
        local: ``cpu.stat.local``; empty where there is none.
    """

    usage: bytes
    stat: bytes
    local: bytes


NOTHING_READ = Glance(b"", b"", b"")


class Gauge:
    """An open cgroup. Close it, or use it as a context manager.

    Args:
        root: The host.
        hierarchy: Where its cgroups are.
        path: The cgroup.

    Raises:
        OSError: It is not there, or must not be read.
        ValueError: Its files hold something else.
    """

    def __init__(self, root: HostRoot, hierarchy: CpuHierarchy, path: str) -> None:
        self._root, self._hierarchy, self.path = root, hierarchy, path
        self._is_v1 = hierarchy.version == 1
        self._scale = 1_000 if self._is_v1 else 1
        self._time_key = b"throttled_time " if self._is_v1 else b"throttled_usec "
        self._files: list[int] = []
        try:
            self._open()
            self._last = NOTHING_READ
            self.counts(self.glance())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; they may be closed already."""
        while self._files:
            os.close(self._files.pop())

    def glance(self) -> Glance:
        """Read the files, and leave it at that: what they say is worked out later, in one go.

        A reading comes after a sleep, when nothing is in the CPU's caches: each step counts.

        Raises:
            OSError: The cgroup is gone.
        """
        if not self._is_v1:
            stat = os.pread(self._usage, STAT_BYTES, 0)
            usage = stat[: stat.find(b"\n")]
        else:
            stat, usage = b"", os.pread(self._usage, 32, 0)
        # Who did not run was not stalled either: a stall is counted when it ends, by running on.
        if usage == self._last.usage:
            return self._last
        if self._is_v1:
            stat = os.pread(self._stat, STAT_BYTES, 0)
        local = os.pread(self._local, STAT_BYTES, 0) if self._local >= 0 else b""
        self._last = Glance(usage, stat, local)
        return self._last

    def counts(self, glance: Glance) -> Counts:
        """Return what the files said.

        Raises:
            ValueError: A file held something else.
        """
        used = int(glance.usage.rpartition(b" ")[2]) // self._scale
        stalled = None
        if glance.local:
            stalled = number_after(glance.local, self._time_key) // self._scale
        stat = glance.stat
        if b"nr_periods" not in stat:
            return Counts(used, None, None, None, stalled)
        return Counts(
            used,
            number_after(stat, b"nr_periods "),
            number_after(stat, b"nr_throttled "),
            number_after(stat, self._time_key) // self._scale,
            stalled,
        )

    def threads(self) -> int | None:
        """Return the number of threads; None where it cannot be told."""
        name = "tasks" if self._is_v1 else "cgroup.threads"
        text = self._root.try_read(f"{join(self._hierarchy.cpu, self.path)}/{name}")
        return None if isinstance(text, Missing) else text.count("\n")

    def _open(self) -> None:
        accounts = self._hierarchy.cpuacct
        if isinstance(accounts, Missing):
            raise OSError(errno.ENOENT, accounts.reason)
        group = join(self._hierarchy.cpu, self.path)
        usage = f"{join(accounts, self.path)}/cpuacct.usage" if self._is_v1 else f"{group}/cpu.stat"
        self._usage = self._take(usage)
        self._stat = self._take(f"{group}/cpu.stat") if self._is_v1 else self._usage
        self._local = -1
        with suppress(FileNotFoundError):
            self._local = self._take(f"{group}/cpu.stat.local")
        # Without the cpu controller the file is there and empty.
        if self._local >= 0 and not os.pread(self._local, STAT_BYTES, 0):
            self._local = -1

    def _take(self, name: str) -> int:
        self._files.append(self._root.open(name))
        return self._files[-1]


class Limit(NamedTuple):
    """The limit of a cgroup at one moment; None for no quota, and for a burst that cannot be.

    Attributes:
        quota_usec: Quota.
        period_usec: Its period.
        burst_usec: Burst allowance.
    """

    quota_usec: int | None
    period_usec: int | None
    burst_usec: int | None


NOTHING = Limit(None, None, None)


def limit_of(root: HostRoot, hierarchy: CpuHierarchy, path: str) -> Limit:
    """Return the limit of a cgroup now, nothing where it is gone."""
    found = read_limit(root, hierarchy, path)
    if found is None:
        return NOTHING
    burst = found.burst_usec if isinstance(found.burst_usec, int) else None
    if not isinstance(found.limit, Bandwidth):
        return Limit(None, None, burst)
    return Limit(found.limit.quota_usec, found.limit.period_usec, burst)
