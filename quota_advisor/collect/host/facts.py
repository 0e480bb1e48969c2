"""Collect everything about one host: machine, cgroups, units, files."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime

from quota_advisor.collect.host.cgroup_tree import MOUNT_POINT, CgroupTree, find_tree
from quota_advisor.collect.host.node import collect_node, read_node
from quota_advisor.collect.host.processes import group_of_process
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.sampler import Progress
from quota_advisor.collect.host.systemd.bus import BusError, Manager
from quota_advisor.collect.host.systemd.connect import Adapter, connect
from quota_advisor.collect.host.systemd.units import (
    read_restarts,
    read_units,
    read_version,
    restarts_within,
)
from quota_advisor.collect.host.unit_files import UnitFileReader
from quota_advisor.collect.host.window import Observed, observe
from quota_advisor.documents.systemd.names import SYSTEM_SEARCH_PATH, user_search_path
from quota_advisor.model.host import HostFacts, Observation
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.problem import Problem
from quota_advisor.model.unit import UnitFacts, UnitProperties
from quota_advisor.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to look at, and how.

    Attributes:
        window_sec: Length of the window; 0 judges lifetime totals.
        samples: Number of sampling windows; None for one in 100 ms.
        adapter: D-Bus library.
        user: Look at the calling user's own manager too.
        on_progress: Called with the seconds gone and the seconds in all.
    """

    window_sec: float
    samples: int | None = None
    adapter: Adapter = "auto"
    user: bool = False
    on_progress: Progress | None = None

    @property
    def managers(self) -> tuple[Manager, ...]:
        """The managers to ask."""
        return ("system", "user") if self.user else ("system",)


@dataclass(slots=True)
class _Units:
    """What the managers and the unit files said."""

    facts: list[UnitFacts] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    version: str | Missing = field(default_factory=lambda: Missing(reason="no manager was asked"))


def collect_host(root: HostRoot, request: Request) -> HostFacts:
    """Return all facts of a host. What cannot be read becomes a problem in the facts.

    Raises:
        KeyboardInterrupt: Passed on; nothing is left behind.
    """
    tree = find_tree(root)
    before = _restarts_before(root, request)
    first = read_node(root, _now_usec)
    observed = _observe(root, tree, request)
    last = read_node(root, _now_usec) if observed.observation.window_usec else None
    units = _Units()
    for manager in request.managers:
        _collect_units(root, manager, request.adapter, units, before.get(manager))
    units.facts = [_with_main_process(root, unit) for unit in units.facts]
    node, node_problems = collect_node(root, tree, first, last, units.version)
    nothing = [] if units.facts else _nothing_to_see(tree, observed)
    return HostFacts(
        hostname=_hostname(root),
        observation=observed.observation,
        node=node,
        cgroups=observed.cgroups,
        units=tuple(units.facts),
        notes=(*units.notes, *observed.notes),
        problems=_distinct((*observed.problems, *units.problems, *node_problems, *nothing)),
    )


def _observe(root: HostRoot, tree: CgroupTree | Missing, request: Request) -> Observed:
    if isinstance(tree, Missing):
        # Nothing to wait for: an image has files, but no cgroups.
        seen = Observation(taken_at=_utc_now(), window_usec=0, interval_usec=0, samples=0)
        return Observed(observation=seen, cgroups=(), problems=(), notes=(tree.reason,))
    return observe(
        root,
        tree,
        window_sec=request.window_sec,
        samples=request.samples,
        on_progress=request.on_progress,
    )


def _nothing_to_see(tree: CgroupTree | Missing, observed: Observed) -> list[Problem]:
    """Return a problem where neither units nor cgroups that use the CPU were found.

    No finding there does not mean that all is well.
    """
    if any(isinstance(group.totals.usage_usec, int) for group in observed.cgroups):
        return []
    reason = tree.reason if isinstance(tree, Missing) else "no cgroup tells its use of the CPU"
    hint = "is this the root of a host? Mount it with its /sys, or look at the host itself"
    return [Problem(subject=MOUNT_POINT, reason=f"nothing to judge: {reason}", hint=hint)]


def _restarts_before(root: HostRoot, request: Request) -> dict[Manager, dict[str, int]]:
    """Return how often each manager has restarted its services before the window begins.

    A manager that does not answer is told of once, when its units are read.
    """
    found: dict[Manager, dict[str, int]] = {}
    for manager in request.managers if request.window_sec > 0 else ():
        with contextlib.suppress(BusError):
            bus = connect(root, manager, request.adapter)
            if not isinstance(bus, Missing):
                with bus:
                    found[manager] = read_restarts(bus)
    return found


def _collect_units(
    root: HostRoot,
    manager: Manager,
    adapter: Adapter,
    units: _Units,
    before: Mapping[str, int] | None,
) -> None:
    """Add one manager's units, with the files that describe them."""
    loaded = _ask_manager(root, manager, adapter, units)
    reader = UnitFileReader(root, _search_path(manager))
    known = {unit.name: unit for unit in loaded}
    for name in dict.fromkeys((*known, *reader.names())):
        properties = known.get(name, Missing(reason="no manager has loaded this unit"))
        restarts = restarts_within(properties, before)
        config = reader.read(name)
        units.facts.append(
            UnitFacts(name=name, properties=properties, config=config, restarts=restarts)
        )
    units.problems.extend(reader.problems)


def _with_main_process(root: HostRoot, unit: UnitFacts) -> UnitFacts:
    """Add where the main process of an active unit with a quota really is."""
    properties = unit.properties
    if isinstance(properties, Missing) or not isinstance(properties.limit, Bandwidth):
        return unit
    if properties.active_state != "active" or not properties.main_pid:
        return unit
    return replace(unit, main_process_group=group_of_process(root, properties.main_pid))


def _ask_manager(
    root: HostRoot, manager: Manager, adapter: Adapter, units: _Units
) -> tuple[UnitProperties, ...]:
    """Return a manager's units; without one, say so once and go on with what is there."""
    try:
        bus = connect(root, manager, adapter)
        if isinstance(bus, Missing):
            units.notes.append(f"{bus.reason}; units are judged by their files and cgroups")
            return ()
        with bus:
            if manager == "system":
                units.version = read_version(bus)
            loaded, problems = read_units(bus, manager)
    except BusError as error:
        units.problems.append(Problem(subject="D-Bus", reason=error.what, hint=error.hint))
        return ()
    units.problems.extend(problems)
    return loaded


def _search_path(manager: Manager) -> tuple[str, ...]:
    if manager == "system":
        return tuple(SYSTEM_SEARCH_PATH)
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    return user_search_path(os.path.expanduser("~"), runtime)  # noqa: PTH111 - text wanted


def _hostname(root: HostRoot) -> str:
    if root.live:
        return socket.gethostname()
    name = root.try_read("/etc/hostname")
    return name.strip() if isinstance(name, str) and name.strip() else "unnamed host"


def _distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(dict.fromkeys(problems))


def _now_usec() -> int:
    return time.monotonic_ns() // 1000


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
