"""All cgroups that are watched, kept up to date while they come and go."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import time
from collections.abc import Callable, Iterable

from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, find_hierarchy, lineage, list_tree
from quota_advisor.collect.host.containers import name_containers, recognise
from quota_advisor.collect.host.live import FILES, LiveGroup
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.sampler import SPARE_FILES, raise_file_limit
from quota_advisor.errors import CollectError
from quota_advisor.model.limit import Bandwidth, CpuLimit, Missing, Unlimited
from quota_advisor.model.unit_kind import unit_kind
from quota_advisor.records import dataclass
from quota_advisor.watch.history import History

RESCAN_SEC = 5.0
"""How often new cgroups, and changed limits, are looked for."""


@dataclass(slots=True, kw_only=True)
class Watched:
    """One cgroup that is watched.

    Attributes:
        path: Below the root of the CPU hierarchy.
        name: Its unit, container, or else its path.
        kind: ``service``, ``container``, ``cgroup`` ….
        limit: Its own limit.
        above: Limited cgroups above it, nearest first, with their limits.
        history: Its readings.
        files: Its open files.
    """

    path: str
    name: str
    kind: str
    limit: CpuLimit
    above: tuple[tuple[str, Bandwidth], ...]
    history: History
    files: LiveGroup

    @property
    def in_force(self) -> tuple[Bandwidth, str] | None:
        """The tightest limit on the way up and whose it is; None without any."""
        own = [(self.limit, self.path)] if isinstance(self.limit, Bandwidth) else []
        limits = [*own, *((limit, path) for path, limit in self.above)]
        return min(limits, key=lambda pair: pair[0].cores) if limits else None


class Watcher:
    """Reads all cgroups of a host at each tick.

    Args:
        root: The host.
        names: Names, paths or patterns of what is wanted; none for whatever is under a limit.
        now_sec: Monotonic clock.

    Attributes:
        everything: Watch what is under no limit too.
        groups: What is watched, by path.
        unwatched: Cgroups left out because too many files would be open.

    Raises:
        CollectError: There is no cgroup hierarchy with the cpu controller.
    """

    def __init__(
        self,
        root: HostRoot,
        names: Iterable[str] = (),
        now_sec: Callable[[], float] = time.monotonic,
    ) -> None:
        hierarchy = find_hierarchy(root)
        if isinstance(hierarchy, Missing):
            raise CollectError(hierarchy.reason, hint="is this the root of a host with its /sys?")
        self._root = root
        self._hierarchy: CpuHierarchy = hierarchy
        self._wanted = tuple(names)
        self._now_sec = now_sec
        self._scanned_sec: float | None = None
        self._containers: dict[str, str] = {}
        """Name of each container's own cgroup; empty where no engine told it."""
        self._most_files = raise_file_limit() - SPARE_FILES - len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        self.everything = False
        self.groups: dict[str, Watched] = {}
        self.unwatched = 0

    @property
    def hierarchy(self) -> CpuHierarchy:
        """Where the cgroups are."""
        return self._hierarchy

    @property
    def wants_names(self) -> bool:
        """Whether only what was named is watched."""
        return bool(self._wanted)

    def close(self) -> None:
        """Close all files."""
        for group in self.groups.values():
            group.files.close()
        self.groups.clear()

    def tick(self) -> None:
        """Read everything once. What vanished is dropped, what came is taken in now and then."""
        now = self._now_sec()
        if self._scanned_sec is None or now - self._scanned_sec >= RESCAN_SEC:
            self._scanned_sec = now
            self._scan()
        gone = []
        clock = self._now_sec
        for path, group in self.groups.items():
            try:
                counts = group.files.read()
            except (OSError, ValueError):
                gone.append(path)
            else:
                group.history.add(clock(), counts)
        for path in gone:
            self.groups.pop(path).files.close()
        if gone:
            # A unit that restarts has a new one of the same name.
            self.rescan()

    def rescan(self) -> None:
        """Look for cgroups at the next tick: what is wanted has changed."""
        self._scanned_sec = None

    def _scan(self) -> None:
        paths = list_tree(self._root, self._hierarchy).paths
        self._drop_replaced(set(paths))
        self._learn_names(paths)
        limits: dict[str, Bandwidth] = {}
        self.unwatched = 0
        for path in paths:
            known = self.groups.get(path)
            files = known.files if known else self._open(path, len(self.groups))
            if files is None:
                continue
            limit = _limit_of(files)
            if isinstance(limit, Bandwidth):
                limits[path] = limit
            above = tuple((p, limits[p]) for p in lineage(path)[1:] if p in limits)
            if not self._is_wanted(path, limit, above):
                files.close()
                self.groups.pop(path, None)
            elif known is not None:
                known.limit, known.above = limit, above
            else:
                self._add(path, files, limit, above)

    def _open(self, path: str, held: int) -> LiveGroup | None:
        if (held + 1) * FILES > self._most_files:
            self.unwatched += 1
            return None
        try:
            return LiveGroup(self._root, self._hierarchy, path)
        except (OSError, ValueError):
            return None  # gone again, or without use of the CPU

    def _drop_replaced(self, paths: set[str]) -> None:
        """Drop what is gone; a file of a removed group may go on telling its last numbers."""
        for path in [p for p in self.groups if p not in paths]:
            self.groups.pop(path).files.close()

    def _add(
        self,
        path: str,
        files: LiveGroup,
        limit: CpuLimit,
        above: tuple[tuple[str, Bandwidth], ...],
    ) -> None:
        base = posixpath.basename(path)
        kind = "container" if path in self._containers else unit_kind(base) or "cgroup"
        named = self._containers.get(path) or (base if unit_kind(base) else path)
        self.groups[path] = Watched(
            path=path,
            name=named,
            kind=kind,
            limit=limit,
            above=above,
            history=History(),
            files=files,
        )

    def _learn_names(self, paths: Iterable[str]) -> None:
        """Ask engines for the names of containers that are new; those that are gone are dropped."""
        own = {p: c.id for p in paths if (c := recognise(p)) is not None and _is_own(p, c.id)}
        self._containers = {p: name for p, name in self._containers.items() if p in own}
        new = [path for path in own if path not in self._containers]
        named = name_containers(self._root, new, limits=False)[0] if new else {}
        for path in new:
            name = named[path].name if path in named else ""
            self._containers[path] = name if isinstance(name, str) else ""

    def _is_wanted(
        self, path: str, limit: CpuLimit, above: tuple[tuple[str, Bandwidth], ...]
    ) -> bool:
        if self._wanted:
            texts = (posixpath.basename(path), path, self._containers.get(path, ""))
            return any(_matches(texts, wanted) for wanted in self._wanted)
        return self.everything or isinstance(limit, Bandwidth) or bool(above)


def _is_own(path: str, container_id: str) -> bool:
    """Whether a cgroup is a container's own, not one inside it; slices write - as _."""
    return container_id in posixpath.basename(path).replace("_", "-")


def _matches(texts: Iterable[str], wanted: str) -> bool:
    """Whether somebody means a cgroup by a name, a path or a pattern."""
    patterns = (wanted, f"{wanted}.service")
    return any(fnmatch.fnmatchcase(text, pattern) for text in texts for pattern in patterns)


def _limit_of(files: LiveGroup) -> CpuLimit:
    try:
        return files.limit()
    except OSError:
        return Unlimited()
    except ValueError as error:
        return Missing(reason=str(error))
