"""Counters of many cgroups, read again and again at little cost.

Each file is opened once and read from its start each time. What did not run since the last reading
tells nothing new of its own limit: its counters are not read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from quota_advisor.collect.host.cgroup_files import (
    parse_cfs_quota,
    parse_count,
    parse_cpu_max,
    parse_pressure,
    parse_stat,
)
from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, join
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.limit import Bandwidth, CpuLimit, Missing, Unlimited
from quota_advisor.records import NamedTuple

FILE_BYTES = 4096
FILES = 5
"""Most files that one cgroup holds open."""

UNTOLD = Missing(reason="the kernel does not tell")


class Counts(NamedTuple):
    """One reading; what the kernel does not tell is None, never zero.

    Attributes:
        used_usec: CPU time used.
        periods: Periods of its own quota.
        throttled: Those that ended throttled.
        throttled_usec: Time held back by its own quota, summed over CPUs.
        stalled_usec: Wall time in which all that wanted a CPU waited (PSI full).
    """

    used_usec: int
    periods: int | None
    throttled: int | None
    throttled_usec: int | None
    stalled_usec: int | None


class LiveGroup:
    """The open files of one cgroup.

    Args:
        root: The host.
        hierarchy: Where its cgroups are.
        path: The cgroup.

    Raises:
        OSError: The cgroup is gone, or tells no use of the CPU.
        ValueError: A file holds something else.
    """

    def __init__(self, root: HostRoot, hierarchy: CpuHierarchy, path: str) -> None:
        self._root = root
        self._held: list[int] = []
        self._last = Counts(-1, None, None, None, None)
        group = join(hierarchy.cpu, path)
        try:
            if hierarchy.version == 1:
                self._open_v1(hierarchy, group, path)
            else:
                self._open_v2(group)
            self._pressure = self._try(hierarchy.pressure, path, "cpu.pressure")
            self.inode = os.fstat(self._usage).st_ino
            self.read()
        except BaseException:
            self.close()
            raise

    def _open_v1(self, hierarchy: CpuHierarchy, group: str, path: str) -> None:
        if isinstance(hierarchy.cpuacct, Missing):
            raise ValueError(hierarchy.cpuacct.reason)  # noqa: TRY004 - it is the host that lacks it
        self._usage = self._open(join(hierarchy.cpuacct, path) + "/cpuacct.usage")
        self._stat = self._try(group, "/", "cpu.stat")
        self._quota = self._try(group, "/", "cpu.cfs_quota_us")
        self._period = self._try(group, "/", "cpu.cfs_period_us")
        self.read = self._read_v1
        self.limit = self._limit_v1

    def _open_v2(self, group: str) -> None:
        self._usage = self._stat = self._open(f"{group}/cpu.stat")
        self._quota = self._try(group, "/", "cpu.max")
        self.read = self._read_v2
        self.limit = self._limit_v2

    read: Callable[[], Counts]
    limit: Callable[[], CpuLimit]

    def close(self) -> None:
        """Close the files; they may be closed already."""
        while self._held:
            os.close(self._held.pop())

    def _open(self, name: str) -> int:
        descriptor = self._root.open(name)
        self._held.append(descriptor)
        return descriptor

    def _try(self, base: str | Missing, path: str, name: str) -> int:
        """Return a file, -1 where it is not there or cannot be read."""
        if isinstance(base, Missing):
            return -1
        with suppress(OSError):
            descriptor = self._open(f"{join(base, path)}/{name}")
            os.pread(descriptor, 1, 0)
            return descriptor
        return -1

    def _read_v1(self) -> Counts:
        used = int(os.pread(self._usage, 32, 0)) // 1000
        if used != self._last.used_usec:
            stat = _parsed(self._stat)
            held = stat.get("throttled_time")
            self._last = Counts(
                used,
                stat.get("nr_periods"),
                stat.get("nr_throttled"),
                None if held is None else held // 1000,
                self._stalled(),
            )
        return self._last

    def _read_v2(self) -> Counts:
        text = os.pread(self._usage, FILE_BYTES, 0)
        if (start := text.find(b"usage_usec ")) < 0:
            raise ValueError("no usage_usec")
        used = int(text[start + 11 : text.index(b"\n", start)])
        if used != self._last.used_usec:
            stat = parse_stat(text.decode("ascii"))
            self._last = Counts(
                used,
                stat.get("nr_periods"),
                stat.get("nr_throttled"),
                stat.get("throttled_usec"),
                self._stalled(),
            )
        return self._last

    def _stalled(self) -> int | None:
        if self._pressure < 0:
            return None
        with suppress(OSError, ValueError):
            return parse_pressure(_text(self._pressure)).get("full")
        return None

    def _limit_v1(self) -> CpuLimit:
        if self._quota < 0 or self._period < 0:
            return Unlimited()
        quota = parse_cfs_quota(_text(self._quota))
        if isinstance(quota, Unlimited):
            return quota
        return Bandwidth(quota_usec=quota, period_usec=max(parse_count(_text(self._period)), 1))

    def _limit_v2(self) -> CpuLimit:
        return Unlimited() if self._quota < 0 else parse_cpu_max(_text(self._quota))


def _text(descriptor: int) -> str:
    return os.pread(descriptor, FILE_BYTES, 0).decode("ascii")


def _parsed(descriptor: int) -> dict[str, int]:
    return {} if descriptor < 0 else parse_stat(_text(descriptor))
