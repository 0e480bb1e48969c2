"""The temporary cgroups that runs are measured in: cgroup v1, v2 and both at once.

A sandbox is a place where cgroups can be made. Where systemd owns the tree it is a transient scope
with delegation, else the top of the hierarchy. Each run gets a fresh cgroup in it: what a former
run left of its period timer, its pool and its counters is nobody's business.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from quota_advisor.collect.host.cgroup_files import read_counters, read_limit
from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, find_hierarchy, join, lineage
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.cgroup import CpuCounters
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.sandbox.errors import SandboxError
from quota_advisor.sandbox.names import new_name
from quota_advisor.sandbox.priority import Priority
from quota_advisor.sandbox.removal import make, remove, remove_orphans
from quota_advisor.sandbox.scope import find_manager, transient_scope, wait_until_gone
from quota_advisor.sandbox.signals import shielded

HOST = HostRoot(Path("/"))

_ASK_HOST = "run it on the host itself, or give the container a writable, delegated cgroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A place in which cgroups can be made.

    Attributes:
        hierarchy: Where the controllers are.
        path: Path of the sandbox; ``/`` is the top of the hierarchy.
        kind: First word of the names of cgroups made here.
        priority: Of what runs in them.
        left: Cgroups of killed runs that could not be removed.
    """

    hierarchy: CpuHierarchy
    path: str
    kind: str
    priority: Priority
    left: tuple[Path, ...] = ()

    @property
    def ancestor_limit(self) -> tuple[str, Bandwidth] | None:
        """The tightest limit above whatever is made here, and whose it is."""
        found = [
            (path, group.limit)
            for path in lineage(self.path)
            if (group := read_limit(HOST, self.hierarchy, path)) is not None
        ]
        limits = [(path, limit) for path, limit in found if isinstance(limit, Bandwidth)]
        return min(limits, key=lambda pair: pair[1].cores, default=None)

    @contextmanager
    def group(self) -> Iterator[Group]:
        """Make a cgroup, and remove it afterwards, whatever happens.

        Raises:
            SandboxError: It cannot be made, or cannot be removed.
        """
        name = new_name(self.kind)
        path = f"/{name}" if self.path == "/" else f"{self.path}/{name}"
        group = Group(hierarchy=self.hierarchy, path=path)
        with shielded() as exposed:
            made: list[Path] = []
            try:
                made.extend(_make(directory) for directory in group.directories)
                if self.path == "/":
                    # In a scope nobody competes: there the scope itself has the weight.
                    group.set_priority(self.priority)
                with exposed():
                    yield group
            finally:
                remove(reversed(made))


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A temporary cgroup.

    Attributes:
        hierarchy: Where the controllers are.
        path: Its path in each of them.
    """

    hierarchy: CpuHierarchy
    path: str

    @property
    def directories(self) -> tuple[Path, ...]:
        """Its directory in each hierarchy, the one with the CPU controller first."""
        return tuple(Path(join(base, self.path)) for base in _bases(self.hierarchy))

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


@contextmanager
def open_sandbox(kind: str = "probe", priority: Priority = Priority.NORMAL) -> Iterator[Sandbox]:
    """Find or make a place for temporary cgroups, after removing what killed runs left there.

    Args:
        kind: First word of the names, after the program's own.
        priority: Of everything that runs in it.

    Raises:
        SandboxError: There is no CPU controller, or nothing can be made below it.
    """
    hierarchy = find_hierarchy(HOST)
    if isinstance(hierarchy, Missing):
        raise SandboxError(hierarchy.reason, hint=_ASK_HOST)
    if os.geteuid() != 0:
        raise SandboxError("temporary cgroups can only be made by root", hint="run it with sudo")
    left = tuple(remove_orphans(_places(hierarchy)))
    if find_manager() is None:
        with _top(hierarchy):
            yield Sandbox(hierarchy=hierarchy, path="/", kind=kind, priority=priority, left=left)
    else:
        with _scope(hierarchy, kind, priority) as path:
            yield Sandbox(hierarchy=hierarchy, path=path, kind=kind, priority=priority, left=left)


def burst_file_of(hierarchy: CpuHierarchy) -> str:
    """Return the name of the file that a burst is written to."""
    return "cpu.cfs_burst_us" if hierarchy.version == 1 else "cpu.max.burst"


def _bases(hierarchy: CpuHierarchy) -> tuple[str, ...]:
    """Return the roots of the hierarchies that a group needs: one, or on v1 perhaps two."""
    both = (hierarchy.cpu, hierarchy.cpuacct)
    return tuple(dict.fromkeys(base for base in both if isinstance(base, str)))


def _places(hierarchy: CpuHierarchy) -> list[Path]:
    """Return where runs make cgroups: at the top, and as scopes of systemd."""
    tops = [Path(base) for base in _bases(hierarchy)]
    return [*tops, *(top / "system.slice" for top in tops)]


@contextmanager
def _top(hierarchy: CpuHierarchy) -> Iterator[None]:
    """See to it that cgroups at the top of the hierarchy have the CPU controller."""
    if hierarchy.version == 1:
        yield
        return
    control = Path(hierarchy.cpu) / "cgroup.subtree_control"
    with shielded() as exposed:
        enabled = _enable_cpu(control)
        try:
            with exposed():
                yield
        finally:
            if enabled and not any(child.is_dir() for child in control.parent.iterdir()):
                with suppress(OSError):
                    control.write_text("-cpu", encoding="ascii")


@contextmanager
def _scope(hierarchy: CpuHierarchy, kind: str, priority: Priority) -> Iterator[str]:
    """Yield the path of a scope of systemd whose children have the CPU controller."""
    address = find_manager()
    if address is None:
        raise SandboxError("systemd can no longer be reached", hint="run again")
    name = new_name(kind)
    controller = "cpu" if hierarchy.version == 1 else ""
    with shielded() as exposed:
        made: list[Path] = []
        scope = None
        try:
            with transient_scope(address, name, controller, priority) as (path, helper):
                scope = Path(join(hierarchy.cpu, path))
                if hierarchy.version == 2:  # noqa: PLR2004
                    # Only a cgroup without processes of its own can hand controllers down.
                    made.append(_make(scope / "waiting"))
                    (made[0] / "cgroup.procs").write_text(str(helper), encoding="ascii")
                    _enable_cpu(scope / "cgroup.subtree_control")
                with exposed():
                    yield path
        finally:
            remove(made)
            if scope is not None:
                wait_until_gone(scope, address, name)


def _enable_cpu(control: Path) -> bool:
    """Hand the CPU controller down to a cgroup's children, and tell whether that was needed.

    Raises:
        SandboxError: The kernel refuses.
    """
    try:
        if "cpu" in control.read_text(encoding="ascii").split():
            return False
        control.write_text("+cpu", encoding="ascii")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        busy = error.errno == errno.EBUSY
        why = "processes run in this very cgroup" if busy else reason
        raise SandboxError(
            f"{control}: cannot enable the cpu controller: {why}", hint=_ASK_HOST
        ) from error
    return True


def _make(directory: Path) -> Path:
    try:
        return make(directory)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SandboxError(f"{directory}: cannot be made: {reason}", hint=_ASK_HOST) from error
