"""Where the CPU controller's cgroups are, and which there are.

A running host is recognised by its mounts, because a directory may hold anything; below
``--root`` there are no mounts to ask, and the files decide. A v2 hierarchy without the CPU
controller is looked at all the same: its groups tell what they use, and why no quota holds.
Paths of cgroups are relative to the mount: inside a container ``/`` is the container's own cgroup,
and may well have a limit.
"""

from __future__ import annotations

import errno
import posixpath
import re
from collections.abc import Iterable
from typing import Literal

from quota_advisor.collect.host.root import HostRoot, describe, why
from quota_advisor.model.limit import Missing
from quota_advisor.model.node import CgroupLayout
from quota_advisor.model.problem import Problem
from quota_advisor.records import dataclass

MOUNT_POINT = "/sys/fs/cgroup"
"""Where every distribution mounts cgroups; other mounts of them are copies for containers."""

NO_CONTROLLER = Missing(reason="no cgroup hierarchy with the cpu controller was found")

_VANISHED = frozenset({errno.ENOENT, errno.ENODEV, errno.ENOTDIR})
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuHierarchy:
    """Directories of the host that hold what is told about one cgroup.

    Attributes:
        layout: How the controllers are spread.
        version: Version of the hierarchy with the CPU controller.
        cpu: Root of the hierarchy with the CPU controller.
        cpuacct: Root of the hierarchy with the CPU time; on v2 the same as ``cpu``.
        cpuset: Root of the hierarchy with the cpusets; on v2 the same as ``cpu``.
        pressure: Root of the v2 hierarchy, which alone has pressure per cgroup.
    """

    layout: CgroupLayout
    version: Literal[1, 2]
    cpu: str
    cpuacct: str | Missing
    cpuset: str | Missing
    pressure: str | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupTree:
    """All cgroups of the CPU hierarchy at one moment.

    Attributes:
        hierarchy: Where they are.
        paths: Their paths, parents before children; ``/`` is the first.
        problems: Directories that could not be listed.
    """

    hierarchy: CpuHierarchy
    paths: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def find_hierarchy(root: HostRoot) -> CpuHierarchy | Missing:
    """Return where the CPU controller is, or why there is none.

    Sources: ``/proc/self/mounts`` on a running host (Documentation/filesystems/proc.rst), else
    the files below ``/sys/fs/cgroup``.
    """
    if root.live:
        found = _from_mounts(root)
        if found is not None:
            return found
    return _from_files(root)


def find_tree(root: HostRoot) -> CgroupTree | Missing:
    """Return all cgroups of the CPU hierarchy, or why there are none."""
    hierarchy = find_hierarchy(root)
    return hierarchy if isinstance(hierarchy, Missing) else list_tree(root, hierarchy)


def list_tree(root: HostRoot, hierarchy: CpuHierarchy) -> CgroupTree:
    """Return the cgroups that there are now. Those that vanish meanwhile are left out."""
    pending, paths, problems = ["/"], [], []
    while pending:
        path = pending.pop()
        directory = join(hierarchy.cpu, path)
        try:
            children = _subdirectories(root, directory)
        except OSError as error:
            if error.errno in _VANISHED and path != "/":
                continue
            problems.append(_unlistable(error, directory))
            children = []
        paths.append(path)
        pending += [posixpath.join(path, name) for name in reversed(children)]
    return CgroupTree(hierarchy=hierarchy, paths=tuple(paths), problems=tuple(problems))


def join(directory: str, path: str) -> str:
    """Return the directory of the cgroup ``path`` below a hierarchy's root."""
    return directory if path == "/" else directory + path


def lineage(path: str) -> tuple[str, ...]:
    """Return ``path`` and all its ancestors, the root last."""
    chain = [path]
    while chain[-1] != "/":
        chain.append(posixpath.dirname(chain[-1]))
    return tuple(chain)


def _subdirectories(root: HostRoot, directory: str) -> list[str]:
    # Links are not followed: a cgroup is never one, and a loop in a hostile tree would be endless.
    return [entry.name for entry in root.entries(directory) if entry.is_dir]


def _unlistable(error: OSError, directory: str) -> Problem:
    return Problem(
        subject=directory,
        reason=why(error),
        hint="cgroups below it were not looked at; run as root to see them",
    )


def _from_mounts(root: HostRoot) -> CpuHierarchy | None:
    """Return the hierarchy as mounted, or None when the mounts cannot tell."""
    text = root.try_read("/proc/self/mounts")
    if isinstance(text, Missing):
        return None
    v1, unified = _cgroup_mounts(text)
    if "cpu" in v1:
        return _legacy(v1["cpu"], v1.get("cpuacct"), v1.get("cpuset"), unified)
    return None if unified is None else _unified(unified)


def _cgroup_mounts(text: str) -> tuple[dict[str, str], str | None]:
    """Return the mount point of each v1 controller and of the v2 hierarchy.

    A tool inside a container often sees the host's mounts a second time, below another directory:
    those in the usual place win.
    """
    v1: dict[str, str] = {}
    v2: dict[str, str] = {}
    for kind, point, options in sorted(_mounts(text), key=_unusual):
        if kind == "cgroup2":
            v2.setdefault("unified", point)
        if kind == "cgroup":
            for option in options:
                v1.setdefault(option, point)
    return v1, v2.get("unified")


def _mounts(text: str) -> Iterable[tuple[str, str, list[str]]]:
    """Yield type, mount point and options of each line of a mount table."""
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) >= 4:  # noqa: PLR2004 - device, mount point, type, options
            point = _OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[1])
            yield fields[2], point, fields[3].split(",")


def _unusual(mount: tuple[str, str, list[str]]) -> bool:
    point = mount[1]
    return point != MOUNT_POINT and not point.startswith(MOUNT_POINT + "/")


def _from_files(root: HostRoot) -> CpuHierarchy | Missing:
    """Return the hierarchy as its files show it."""
    try:
        names = root.names(MOUNT_POINT)
    except OSError as error:
        return Missing(reason=f"{NO_CONTROLLER.reason}: {describe(error, MOUNT_POINT)}")
    cpu = _holding(root, names, "cpu.cfs_quota_us")
    if cpu is not None:
        cpuacct = _holding(root, names, "cpuacct.usage")
        cpuset = _holding(root, names, "cpuset.cpus")
        return _legacy(cpu, cpuacct, cpuset, _holding(root, names, "cgroup.controllers"))
    if "cgroup.controllers" in names:
        return _unified(MOUNT_POINT)
    unified = _holding(root, names, "cgroup.controllers")
    if unified is not None:
        return _unified(unified)
    return Missing(reason=f"{NO_CONTROLLER.reason} below {MOUNT_POINT}")


def _holding(root: HostRoot, names: list[str], file_name: str) -> str | None:
    """Return the first hierarchy whose root has a file of this name.

    Names of one controller (``cpu``) come before names of several (``cpu,cpuacct``) and before
    the links that distributions add; all lead to the same files.
    """
    directories = (posixpath.join(MOUNT_POINT, name) for name in names)
    return next((d for d in directories if root.exists(posixpath.join(d, file_name))), None)


def has_cpu_controller(root: HostRoot, directory: str) -> bool:
    """Whether the top of a v2 hierarchy has the CPU controller to hand on."""
    controllers = root.try_read(posixpath.join(directory, "cgroup.controllers"))
    return not isinstance(controllers, Missing) and "cpu" in controllers.split()


def _legacy(cpu: str, cpuacct: str | None, cpuset: str | None, unified: str | None) -> CpuHierarchy:
    return CpuHierarchy(
        layout=CgroupLayout.V1 if unified is None else CgroupLayout.HYBRID,
        version=1,
        cpu=cpu,
        cpuacct=cpuacct or Missing(reason="no hierarchy with the cpuacct controller"),
        cpuset=cpuset or Missing(reason="no hierarchy with the cpuset controller"),
        pressure=unified or Missing(reason="cgroup v1 has no pressure per cgroup"),
    )


def _unified(directory: str) -> CpuHierarchy:
    return CpuHierarchy(
        layout=CgroupLayout.V2,
        version=2,
        cpu=directory,
        cpuacct=directory,
        cpuset=directory,
        pressure=directory,
    )
