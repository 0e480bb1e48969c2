"""One look at all cgroups of a host: counters, quota, and whose they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from quota_advisor.collect.host.cgroup_files import BriefReading, read_brief
from quota_advisor.collect.host.cgroup_tree import find_hierarchy, list_tree
from quota_advisor.collect.host.containers import name_containers, pod_uid, recognise
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.errors import CollectError
from quota_advisor.model.cgroup import CpuCounters
from quota_advisor.model.limit import CpuLimit, Missing
from quota_advisor.model.problem import Problem
from quota_advisor.model.unit_kind import unit_kind
from quota_advisor.records import dataclass

ASK_AGAIN_SEC = 60.0
"""How long an engine that did not know a container is left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One cgroup as it is exported.

    Attributes:
        path: Below the root of the CPU hierarchy; bytes that are no UTF-8 as escapes.
        unit: The unit that it belongs to; empty outside of systemd's tree.
        container: Name of its container, its id where no engine told the name; empty for none.
        pod_uid: Uid of its pod; empty for none.
        counters: One reading.
        limit: Its own limit.
    """

    path: str
    unit: str
    container: str
    pod_uid: str
    counters: CpuCounters
    limit: CpuLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All cgroups at one moment, each path once, and what could not be read."""

    groups: tuple[Group, ...]
    problems: tuple[Problem, ...]


class HostReader:
    """Reads the cgroups of one host again and again.

    Args:
        root: The host.
        now_sec: Monotonic clock.
    """

    def __init__(self, root: HostRoot, now_sec: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._now_sec = now_sec
        self._names: dict[str, str] = {}
        self._asked_sec: dict[str, float] = {}

    def read(self) -> Reading:
        """Return what there is now. What vanishes meanwhile is left out.

        Raises:
            CollectError: There is no cgroup hierarchy with the cpu controller.
        """
        hierarchy = find_hierarchy(self._root)
        if isinstance(hierarchy, Missing):
            raise CollectError(hierarchy.reason, hint="is this the root of a host with its /sys?")
        tree = list_tree(self._root, hierarchy)
        found: dict[str, tuple[str, BriefReading]] = {}
        problems = list(tree.problems)
        for path in tree.paths:
            brief = read_brief(self._root, hierarchy, path, _now_usec)
            if brief is None:
                continue
            problems += brief.problems
            label = label_text(path)
            if label in found:
                problems.append(Problem(subject=label, reason="another cgroup has the same label"))
            else:
                found[label] = (path, brief)
        problems += self._learn_names(path for path, _ in found.values())
        groups = tuple(self._group(label, *of) for label, of in found.items())
        return Reading(groups=groups, problems=tuple(dict.fromkeys(problems)))

    def _group(self, label: str, path: str, brief: BriefReading) -> Group:
        container = recognise(path)
        return Group(
            path=label,
            unit=label_text(unit_of(path)),
            container="" if container is None else self._names.get(container.id, container.id),
            pod_uid=pod_uid(path),
            counters=brief.counters,
            limit=brief.limit,
        )

    def _learn_names(self, paths: Iterable[str]) -> list[Problem]:
        """Ask engines for the names of new containers; those that are gone are forgotten."""
        ids = {path: found.id for path in paths if (found := recognise(path)) is not None}
        now, there = self._now_sec(), set(ids.values())
        self._names = {i: name for i, name in self._names.items() if i in there}
        self._asked_sec = {i: at for i, at in self._asked_sec.items() if i in there}
        new = [path for path, i in ids.items() if self._is_to_be_asked(i, now)]
        if not new:
            return []
        self._asked_sec |= dict.fromkeys((ids[path] for path in new), now)
        named, problems = name_containers(self._root, new, limits=False)
        for container in named.values():
            if isinstance(container.name, str):
                self._names[container.id] = label_text(container.name)
        return problems

    def _is_to_be_asked(self, identifier: str, now_sec: float) -> bool:
        asked = self._asked_sec.get(identifier)
        return identifier not in self._names and (asked is None or now_sec - asked > ASK_AGAIN_SEC)


def unit_of(path: str) -> str:
    """Return the unit that a cgroup belongs to; empty outside of systemd's tree.

    The first part below slices, or else the innermost slice. systemd puts ``_`` before names that
    look like files of cgroups. Source: systemd ``src/basic/cgroup-util.c`` (``cg_path_get_unit``).
    """
    slice_ = ""
    for part in path.split("/")[1:]:
        name = part.removeprefix("_")
        kind = unit_kind(name)
        if kind != "slice":
            return name if kind else ""
        slice_ = name
    return slice_


def label_text(text: str) -> str:
    """Return a name as valid UTF-8: stray bytes as escapes, everything else as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text


def _now_usec() -> int:
    return time.monotonic_ns() // 1000
