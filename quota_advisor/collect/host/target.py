"""The cgroup of what people name: a unit, a container, a process, a cgroup itself."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from quota_advisor.collect.host.cgroup_tree import CgroupTree
from quota_advisor.collect.host.containers import name_containers
from quota_advisor.collect.host.processes import group_of_process
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.errors import CollectError, UsageError, did_you_mean
from quota_advisor.model.limit import Missing
from quota_advisor.records import NamedTuple

UNIT_ENDINGS = (".service", ".scope", ".slice", ".socket", ".mount", ".swap")
MIN_ID_LETTERS = 6
"""Shorter beginnings of a container's id fit too many."""


class Target(NamedTuple):
    """What was named.

    Attributes:
        subject: As people call it.
        path: Its cgroup.
    """

    subject: str
    path: str


def find_target(root: HostRoot, tree: CgroupTree, name: str) -> Target:
    """Return the cgroup of a unit, a container (name or id), a process id or a path.

    Raises:
        UsageError: Nothing fits, or more than one thing does.
        CollectError: The process is in no cgroup that can be seen from here.
    """
    if name.isascii() and name.isdigit():
        return _of_process(root, int(name))
    if name.startswith("/"):
        return _of_path(tree, name)
    found = _of_unit(tree.paths, name) or _of_container(root, tree.paths, name)
    if not found:
        raise UsageError(f"no unit, container or cgroup {name!r} runs here", hint=_near(tree, name))
    if len(found) > 1:
        listed = ", ".join(sorted(target.path for target in found)[:4])
        raise UsageError(f"{name!r} names {len(found)} cgroups", hint=f"take one: {listed}")
    return found[0]


def _of_process(root: HostRoot, pid: int) -> Target:
    path = group_of_process(root, pid)
    if isinstance(path, Missing):
        raise CollectError(f"process {pid}: {path.reason}")
    return Target(subject=f"process {pid}", path=path)


def _of_path(tree: CgroupTree, name: str) -> Target:
    mounts = (tree.hierarchy.cpu, tree.hierarchy.cpuacct)
    path = posixpath.normpath(name)
    for mount in mounts:
        if isinstance(mount, str) and (path + "/").startswith(mount + "/"):
            path = path[len(mount) :] or "/"
            break
    if path not in set(tree.paths):
        raise UsageError(f"no cgroup {path} here", hint=f"they are below {tree.hierarchy.cpu}")
    return Target(subject=posixpath.basename(path) or "/", path=path)


def _of_unit(paths: Iterable[str], name: str) -> list[Target]:
    wanted = {name} if name.endswith(UNIT_ENDINGS) else {name, f"{name}.service"}
    return [Target(posixpath.basename(p), p) for p in paths if posixpath.basename(p) in wanted]


def _of_container(root: HostRoot, paths: Iterable[str], name: str) -> list[Target]:
    containers, _ = name_containers(root, paths)
    by_id: dict[str, Target] = {}
    for path, container in containers.items():
        is_id = len(name) >= MIN_ID_LETTERS and container.id.startswith(name)
        if not is_id and container.name != name:
            continue
        known = by_id.get(container.id)
        # Its own cgroup, not one that it made below.
        if known is None or len(path) < len(known.path):
            by_id[container.id] = Target(name, path)
    return list(by_id.values())


def _near(tree: CgroupTree, name: str) -> str:
    near = did_you_mean(name, {posixpath.basename(path) for path in tree.paths})
    return near or "quota-advisor audit host lists what runs"
