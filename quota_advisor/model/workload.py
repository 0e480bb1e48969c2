"""Units, containers and cgroups joined: the things that findings are about."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from quota_advisor.model.advice import Advice
from quota_advisor.model.cgroup import CgroupFacts, CounterWindow
from quota_advisor.model.finding import Subject
from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Bandwidth, CpuLimit, Missing, Unlimited
from quota_advisor.model.node import NodeFacts
from quota_advisor.model.unit import UnitConfig, UnitFacts, UnitProperties
from quota_advisor.model.unit_kind import unit_kind
from quota_advisor.records import NamedTuple, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One unit, container or bare cgroup, with everything above it that may limit it.

    Attributes:
        kind: ``service``, ``slice`` …, ``container`` or ``cgroup``.
        name: The name a person would use.
        cgroup: Its cgroup, or why it has none.
        unit: The unit behind it, if one is known.
        ancestors: Cgroups above it, nearest first; the root only where it has a limit, as the
            top of a container does when seen from inside.
        members: Cgroups directly below it that hold processes, themselves or further down.
        node: The machine that it runs on.
        shares_cpus: Another workload, neither above nor below it, is pinned to some of its CPUs.
    """

    kind: str
    name: str
    cgroup: CgroupFacts | Missing
    unit: UnitFacts | None
    ancestors: tuple[CgroupFacts, ...]
    members: tuple[CgroupFacts, ...]
    node: NodeFacts
    shares_cpus: bool = False

    @property
    def subject(self) -> Subject:
        """What a finding about this workload names."""
        path = None if isinstance(self.cgroup, Missing) else self.cgroup.path
        return Subject(kind=self.kind, name=self.name, cgroup=path)

    @property
    def limit(self) -> CpuLimit:
        """The workload's own live limit."""
        return self.cgroup if isinstance(self.cgroup, Missing) else self.cgroup.limit

    @property
    def configured(self) -> CpuLimit:
        """The limit that the unit's manager, or else its files, ask for."""
        if isinstance(self.properties, UnitProperties):
            return self.properties.limit
        if isinstance(self.config, UnitConfig):
            return self.config.limit
        return Missing(reason="no unit is known for this cgroup")

    @property
    def properties(self) -> UnitProperties | Missing:
        """What the manager says of the unit."""
        return Missing(reason="not a systemd unit") if self.unit is None else self.unit.properties

    @property
    def config(self) -> UnitConfig | Missing:
        """What the unit's files say."""
        return Missing(reason="not a systemd unit") if self.unit is None else self.unit.config

    @property
    def counters(self) -> CounterWindow | Missing:
        """Counters over the window, or the totals where those are judged."""
        return self.cgroup if isinstance(self.cgroup, Missing) else self.cgroup.window

    @property
    def lineage(self) -> tuple[CgroupFacts, ...]:
        """The workload's own cgroup, then its ancestors, nearest first."""
        own = () if isinstance(self.cgroup, Missing) else (self.cgroup,)
        return (*own, *self.ancestors)

    @property
    def tightest(self) -> tuple[Bandwidth, CgroupFacts] | Unlimited | Missing:
        """The limit in force and the cgroup that sets it: the smallest on the way up."""
        limited = [(g.limit, g) for g in self.lineage if isinstance(g.limit, Bandwidth)]
        if limited:
            return min(limited, key=lambda pair: pair[0].cores)
        unknown = [g.limit for g in self.lineage if isinstance(g.limit, Missing)]
        if isinstance(self.cgroup, Missing):
            unknown = [self.cgroup]
        return unknown[0] if unknown else Unlimited()

    @property
    def cpus_available(self) -> int:
        """Number of CPUs that the workload may run on: by its cpuset, its manager, or the node."""
        online = set(self.node.cpus_online)
        for group in self.lineage:
            if isinstance(group.cpus, tuple) and group.cpus:
                return len(online & set(group.cpus)) or len(group.cpus)
        told = isinstance(self.properties, UnitProperties) and self.properties.effective_cpus
        if isinstance(told, tuple) and told:
            return len(online & set(told)) or len(told)
        return len(online)

    @property
    def is_pinned(self) -> bool:
        """Whether it has fewer CPUs than the machine, and not just those of the group above."""
        if isinstance(self.cgroup, Missing) or not isinstance(self.cgroup.cpus, tuple):
            return False
        cpus = set(self.cgroup.cpus)
        above = next((set(g.cpus) for g in self.ancestors if isinstance(g.cpus, tuple)), set())
        inherited = bool(above) and above <= cpus
        return bool(cpus) and not inherited and not cpus >= set(self.node.cpus_online)

    def can_spend(self, limit: Bandwidth) -> bool:
        """Whether its CPUs are enough to spend a limit; yes where none are known."""
        return not 0 < self.cpus_available <= limit.cores

    @property
    def restart(self) -> str:
        """``Restart=`` as the manager, or else the files, say; empty where neither does."""
        if isinstance(self.properties, UnitProperties):
            return self.properties.restart
        return self.config.last("Service", "Restart") if isinstance(self.config, UnitConfig) else ""

    @property
    def transient(self) -> bool:
        """Whether the unit was made at run time by a program."""
        return isinstance(self.properties, UnitProperties) and self.properties.transient


class AdvisedWorkload(NamedTuple):
    """A workload with the decision about its quota: the subject of rules that recommend one.

    Attributes:
        workload: The workload, which has a quota of its own.
        advice: What was decided.
    """

    workload: Workload
    advice: Advice

    @property
    def subject(self) -> Subject:
        """What a finding about it names."""
        return self.workload.subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host's facts with its workloads joined."""

    facts: HostFacts
    workloads: tuple[Workload, ...]

    @property
    def subject(self) -> Subject:
        """What a finding about the machine names."""
        return Subject(kind="node", name=self.facts.hostname)


def join(facts: HostFacts) -> Host:
    """Join cgroups and units into workloads; parents come before children."""
    by_path = {group.path: group for group in facts.cgroups}
    units = _unit_index(facts)
    members = _members(by_path)
    live = [
        _live(group, _unit_of(group, units), by_path, members, facts.node)
        for group in facts.cgroups
        if group.path != "/" or isinstance(group.limit, Bandwidth)
    ]
    seen = {id(workload.unit) for workload in live if workload.unit is not None}
    idle = [_idle(unit, facts.node) for unit in facts.units if id(unit) not in seen]
    return Host(facts=facts, workloads=(*_with_neighbours(live), *idle))


def ancestor_paths(path: str) -> Iterator[str]:
    """Yield the paths above ``path``, nearest first, the root left out."""
    parent = posixpath.dirname(path)
    while parent not in ("/", ""):
        yield parent
        parent = posixpath.dirname(parent)


def _unit_index(facts: HostFacts) -> Mapping[str, UnitFacts]:
    """Index units by cgroup path where a manager told it, else by name."""
    index: dict[str, UnitFacts] = {}
    for unit in facts.units:
        if isinstance(unit.properties, Missing):
            index.setdefault(unit.name, unit)
        elif unit.properties.control_group:
            index[unit.properties.control_group] = unit
    return index


def _unit_of(group: CgroupFacts, units: Mapping[str, UnitFacts]) -> UnitFacts | None:
    """Find the unit of a cgroup: where the manager put it, else by its name, in slices only.

    Below anything else, names mean others: units of a user's manager, of a container's systemd,
    or groups that a service made for itself.
    """
    if group.path in units:
        return units[group.path]
    name = posixpath.basename(group.path)
    in_slices = all(unit_kind(path) == "slice" for path in ancestor_paths(group.path))
    return units.get(name) if in_slices and unit_kind(name) else None


def _members(by_path: Mapping[str, CgroupFacts]) -> Mapping[str, tuple[CgroupFacts, ...]]:
    """Map each path to its direct children that hold processes, themselves or below."""
    occupied: set[str] = set()
    for path, group in by_path.items():
        if isinstance(group.processes, int) and group.processes > 0:
            occupied.update((path, *ancestor_paths(path)))
    children: dict[str, tuple[CgroupFacts, ...]] = {}
    for path, group in by_path.items():
        if path in occupied and path != "/":
            parent = posixpath.dirname(path)
            children[parent] = (*children.get(parent, ()), group)
    return children


def _with_neighbours(workloads: Sequence[Workload]) -> Iterator[Workload]:
    """Yield the workloads, those that share the CPUs that they are pinned to marked."""
    pinned: dict[tuple[int, ...], list[str]] = {}
    for workload in workloads:
        if workload.is_pinned:
            group = workload.lineage[0]
            pinned.setdefault(_cpus_of(group), []).append(group.path)
    for workload in workloads:
        shares = workload.is_pinned and _has_neighbour(workload.lineage[0], pinned)
        yield replace(workload, shares_cpus=True) if shares else workload


def _has_neighbour(group: CgroupFacts, pinned: Mapping[tuple[int, ...], Sequence[str]]) -> bool:
    own = set(_cpus_of(group))
    return any(
        not own.isdisjoint(cpus) and any(_are_apart(group.path, path) for path in paths)
        for cpus, paths in pinned.items()
    )


def _are_apart(one: str, other: str) -> bool:
    """Whether neither of two groups is, or lies below, the other."""
    return not f"{one}/".startswith(f"{other}/") and not f"{other}/".startswith(f"{one}/")


def _cpus_of(group: CgroupFacts) -> tuple[int, ...]:
    return group.cpus if isinstance(group.cpus, tuple) else ()


def _live(
    group: CgroupFacts,
    unit: UnitFacts | None,
    by_path: Mapping[str, CgroupFacts],
    members: Mapping[str, tuple[CgroupFacts, ...]],
    node: NodeFacts,
) -> Workload:
    kind, name = _identity(group, unit)
    return Workload(
        kind=kind,
        name=name,
        cgroup=group,
        unit=unit,
        ancestors=tuple(_above(group.path, by_path)),
        members=members.get(group.path, ()),
        node=node,
    )


def _above(path: str, by_path: Mapping[str, CgroupFacts]) -> Iterator[CgroupFacts]:
    """Yield the cgroups above ``path`` that may limit it, nearest first."""
    yield from (by_path[above] for above in ancestor_paths(path) if above in by_path)
    root = by_path.get("/")
    if root is not None and path != "/" and isinstance(root.limit, Bandwidth):
        yield root


def _identity(group: CgroupFacts, unit: UnitFacts | None) -> tuple[str, str]:
    """Name a cgroup: by its container, its unit, or its path."""
    base = posixpath.basename(group.path)
    if group.container is not None and _names(base, group.container.id):
        known = group.container.name
        return "container", known if isinstance(known, str) else base
    if unit is not None:
        return unit_kind(unit.name), unit.name
    return (unit_kind(base), base) if unit_kind(base) else ("cgroup", group.path)


def _names(base: str, container_id: str) -> bool:
    """Whether a cgroup is the container's own, not one inside it; slices write - as _."""
    return container_id in base or container_id.replace("-", "_") in base


def _idle(unit: UnitFacts, node: NodeFacts) -> Workload:
    return Workload(
        kind=unit_kind(unit.name),
        name=unit.name,
        cgroup=Missing(reason="no cgroup: the unit is not running"),
        unit=unit,
        ancestors=(),
        members=(),
        node=node,
    )
