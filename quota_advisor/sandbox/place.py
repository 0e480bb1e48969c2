"""Where temporary cgroups can be made, and what keeps them temporary.

Where systemd owns the tree that is a transient scope with delegation, else the top of the
hierarchy. Each measurement gets a fresh cgroup there: what a former one left of its period timer,
its pool and its counters is nobody's business.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quota_advisor.collect.host.cgroup_files import read_limit
from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, find_hierarchy, join, lineage
from quota_advisor.collect.host.systemd.bus import BusAddress
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.records import dataclass
from quota_advisor.sandbox.cgroup import HOST, TemporaryCgroup, bases_of, burst_file_of
from quota_advisor.sandbox.errors import SandboxError
from quota_advisor.sandbox.names import new_name
from quota_advisor.sandbox.priority import Priority
from quota_advisor.sandbox.removal import make, remove, remove_orphans
from quota_advisor.sandbox.scope import find_manager, transient_scope, wait_until_gone
from quota_advisor.sandbox.signals import shielded

_ASK_HOST = "run it on the host itself, or give the container a writable, delegated cgroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A place in which cgroups can be made.

    Attributes:
        hierarchy: Where the controllers are.
        path: Path of the sandbox; ``/`` is the top of the hierarchy.
        purpose: First word of the names of cgroups made here.
        priority: Of what runs in them.
        orphans: Cgroups of killed programs that could not be removed: somebody's processes are in.
    """

    hierarchy: CpuHierarchy
    path: str
    purpose: str
    priority: Priority
    orphans: tuple[Path, ...] = ()

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

    @property
    def burst_file(self) -> str:
        """Name of the file that a burst is written to."""
        return burst_file_of(self.hierarchy)

    @contextmanager
    def group(self) -> Iterator[TemporaryCgroup]:
        """Make a cgroup, and remove it afterwards, whatever happens.

        Raises:
            SandboxError: It cannot be made, or cannot be removed.
        """
        name = new_name(self.purpose)
        path = f"/{name}" if self.path == "/" else f"{self.path}/{name}"
        group = TemporaryCgroup(hierarchy=self.hierarchy, path=path)
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


@contextmanager
def open_sandbox(purpose: str, priority: Priority = Priority.NORMAL) -> Iterator[Sandbox]:
    """Find or make a place for temporary cgroups, after removing what killed programs left there.

    Nothing of it remains afterwards, however the ``with`` block ends: Ctrl-C, SIGTERM and SIGHUP
    become exceptions in it (``KeyboardInterrupt``, and ``SystemExit`` with 128 plus the number),
    and wait while something is made or removed. What SIGKILL leaves behind, the next sandbox
    removes.

    Args:
        purpose: First word of the cgroups' names after the program's own, in lower-case letters.
        priority: Of everything that runs in it, against the rest of the machine.

    Raises:
        SandboxError: There is no CPU controller, this is not root, or nothing can be made or
            removed below it.
    """
    hierarchy = find_hierarchy(HOST)
    if isinstance(hierarchy, Missing):
        raise SandboxError(hierarchy.reason, hint=_ASK_HOST)
    if os.geteuid() != 0:
        raise SandboxError("temporary cgroups can only be made by root", hint="run it with sudo")
    orphans = tuple(remove_orphans(_places(hierarchy)))
    manager = find_manager()
    place = (
        _top(hierarchy)
        if manager is None
        else _scope(hierarchy, manager, new_name(purpose), priority)
    )
    with shielded() as exposed, place as path, exposed():
        yield Sandbox(
            hierarchy=hierarchy, path=path, purpose=purpose, priority=priority, orphans=orphans
        )


def _places(hierarchy: CpuHierarchy) -> list[Path]:
    """Return where sandboxes are: at the top, and as scopes of systemd."""
    tops = [Path(base) for base in bases_of(hierarchy)]
    return [*tops, *(top / "system.slice" for top in tops)]


@contextmanager
def _top(hierarchy: CpuHierarchy) -> Iterator[str]:
    """See to it that cgroups at the top of the hierarchy have the CPU controller."""
    if hierarchy.version == 1:
        yield "/"
        return
    control = Path(hierarchy.cpu) / "cgroup.subtree_control"
    enabled = _enable_cpu(control)
    try:
        yield "/"
    finally:
        if enabled and not any(child.is_dir() for child in control.parent.iterdir()):
            with suppress(OSError):
                control.write_text("-cpu", encoding="ascii")


@contextmanager
def _scope(
    hierarchy: CpuHierarchy, manager: BusAddress, name: str, priority: Priority
) -> Iterator[str]:
    """Yield the path of a scope of systemd whose children have the CPU controller."""
    controller = "cpu" if hierarchy.version == 1 else ""
    made: list[Path] = []
    scope = None
    try:
        with transient_scope(manager, name, controller, priority) as (path, helper):
            scope = Path(join(hierarchy.cpu, path))
            if hierarchy.version == 2:  # noqa: PLR2004
                # Only a cgroup without processes of its own can hand controllers down.
                made.append(_make(scope / "waiting"))
                (made[0] / "cgroup.procs").write_text(str(helper), encoding="ascii")
                _enable_cpu(scope / "cgroup.subtree_control")
            yield path
    finally:
        remove(made)
        if scope is not None:
            wait_until_gone(scope, manager, name)


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
