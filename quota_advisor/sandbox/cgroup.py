"""A temporary cgroup: its limit, its weight, its counters, on cgroup v1, v2 and both at once."""

from __future__ import annotations

import errno
import time
from pathlib import Path

from quota_advisor.collect.host.cgroup_files import read_counters
from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, join
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.cgroup import CpuCounters
from quota_advisor.model.limit import Bandwidth
from quota_advisor.records import dataclass
from quota_advisor.sandbox.errors import SandboxError
from quota_advisor.sandbox.priority import Priority

HOST = HostRoot(Path("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryCgroup:
    """A cgroup that is gone after its ``with`` block, together with load of ours in it.

    Attributes:
        hierarchy: Where the controllers are.
        path: Its path in each of them.
    """

    hierarchy: CpuHierarchy
    path: str

    @property
    def directories(self) -> tuple[Path, ...]:
        """Its directory in each hierarchy, the one with the CPU controller first."""
        return tuple(Path(join(base, self.path)) for base in bases_of(self.hierarchy))

    @property
    def join_files(self) -> tuple[str, ...]:
        """The files by which a process joins it, one for each hierarchy."""
        return tuple(str(directory / "cgroup.procs") for directory in self.directories)

    def set_limit(self, limit: Bandwidth, burst_usec: int = 0) -> None:
        """Set quota, period and burst, in an order that the kernel takes from any state.

        Raises:
            SandboxError: The kernel refuses the values, or knows no burst.
        """
        burst_file = burst_file_of(self.hierarchy)
        has_burst = (self.directories[0] / burst_file).exists()
        if burst_usec and not has_burst:
            raise SandboxError(
                f"this kernel has no {burst_file}", hint="burst needs Linux 5.14 or a backport"
            )
        # A quota below the burst is refused, so the burst goes first and comes back last.
        if has_burst:
            self._write(burst_file, "0")
        if self.hierarchy.version == 1:
            # The new period with the old quota may exceed an ancestor's share; no quota does not.
            self._write("cpu.cfs_quota_us", "-1")
            self._write("cpu.cfs_period_us", str(limit.period_usec))
            self._write("cpu.cfs_quota_us", str(limit.quota_usec))
        else:
            self._write("cpu.max", f"{limit.quota_usec} {limit.period_usec}")
        if burst_usec:
            self._write(burst_file, str(burst_usec))

    def set_priority(self, priority: Priority) -> None:
        """Decide how it stands against other cgroups.

        Raises:
            SandboxError: The kernel refuses.
        """
        v1 = self.hierarchy.version == 1
        number = priority.shares if v1 else priority.weight
        if number is not None:
            self._write("cpu.shares" if v1 else "cpu.weight", str(number))

    def counters(self) -> CpuCounters:
        """Return the kernel's account of this cgroup.

        Raises:
            SandboxError: Somebody removed it.
        """
        reading = read_counters(
            HOST, self.hierarchy, self.path, lambda: time.monotonic_ns() // 1_000
        )
        if reading is None:
            raise SandboxError(
                f"{self.directories[0]} vanished during the run", hint="see who removes cgroups"
            )
        return reading.counters

    def _write(self, name: str, text: str) -> None:
        file = self.directories[0] / name
        try:
            file.write_text(text, encoding="ascii")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SandboxError(
                f"{file}: the kernel does not take {text!r}: {reason}",
                hint=self._why_refused(error),
            ) from error

    def _why_refused(self, error: OSError) -> str:
        if error.errno == errno.EINVAL and self.hierarchy.version == 1:
            return "the share must not exceed that of any cgroup above it"
        return ""


def burst_file_of(hierarchy: CpuHierarchy) -> str:
    """Return the name of the file that a burst is written to."""
    return "cpu.cfs_burst_us" if hierarchy.version == 1 else "cpu.max.burst"


def bases_of(hierarchy: CpuHierarchy) -> tuple[str, ...]:
    """Return the roots of the hierarchies that a group needs: one, or on v1 perhaps two."""
    both = (hierarchy.cpu, hierarchy.cpuacct)
    return tuple(dict.fromkeys(base for base in both if isinstance(base, str)))
