"""Who keeps the CPU limit of a workload, and by which name: the knob that its subject really has.

systemd keeps those of units. The scopes and slices that an engine, a kubelet or a hypervisor asks
for look like units, and a drop-in of theirs is never read: they are made anew each time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from quota_advisor.model.cgroup import CgroupFacts, Engine
from quota_advisor.model.limit import Missing
from quota_advisor.model.source import Location
from quota_advisor.model.unit import UnitConfig, UnitProperties
from quota_advisor.model.unit_kind import unit_kind
from quota_advisor.model.workload import Workload, ancestor_paths
from quota_advisor.records import dataclass

FIRST_PROXMOX_ID = 100
"""Proxmox VE numbers its guests from here; plain LXC names them."""


class Keeper(StrEnum):
    """Who writes a limit, and would write it again."""

    SYSTEMD = "systemd"
    USER_SYSTEMD = "systemd of a user"
    TRANSIENT = "whoever started the transient unit"
    DOCKER = "docker"
    PODMAN = "podman"
    NERDCTL = "nerdctl"
    KUBERNETES = "kubernetes"
    LXC = "lxc"
    PROXMOX = "proxmox"
    ECS = "ecs"
    NSPAWN = "systemd-nspawn"
    LIBVIRT = "libvirt"
    INSIDE = "what runs inside the container"
    OUTSIDE = "what runs this container"
    UNKNOWN = "not known"


_SYSTEMCTL = (Keeper.SYSTEMD, Keeper.USER_SYSTEMD, Keeper.TRANSIENT, Keeper.NSPAWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """Where the limit of a workload is set.

    Attributes:
        keeper: Who keeps it.
        name: What the keeper calls the workload: unit, container, domain, guest.
        user: The unit belongs to the manager of a user.
        written_at: The line of a unit file that sets it.
        limit_file: The file of the kernel that holds it; empty where there is none.
        version: Version of the cgroup hierarchy.
    """

    keeper: Keeper
    name: str
    user: bool = False
    written_at: Location | None = None
    limit_file: str = ""
    version: int = 2

    @property
    def is_unit(self) -> bool:
        """Whether ``systemctl`` sets it."""
        return self.keeper in _SYSTEMCTL


_ENGINES = {
    Engine.DOCKER: Keeper.DOCKER,
    Engine.PODMAN: Keeper.PODMAN,
    Engine.CONTAINERD: Keeper.NERDCTL,
    Engine.CRIO: Keeper.KUBERNETES,
    Engine.KUBERNETES: Keeper.KUBERNETES,
}
_ECS_SLICE = re.compile(r"ecstasks(-.+)?\.slice")
_LXC_PAYLOAD = re.compile(r"lxc\.payload\.(.+)")
_VIRTUAL_MACHINE = re.compile(r"machine-(?:qemu|lxc)-[0-9]+-(.+)\.scope")
_MACHINE = re.compile(r"machine-(.+)\.scope")
_USER_MANAGER = re.compile(r"user@[0-9]+\.service")


def knob_of(workload: Workload) -> Knob:
    """Return who keeps the limit of a workload."""
    config, group = workload.config, workload.cgroup
    at = config.quota_from if isinstance(config, UnitConfig) else None
    keeper, name = _kept(workload)
    source = None if isinstance(group, Missing) else group.limit_source
    return Knob(
        keeper=keeper,
        name=name,
        user=_belongs_to_a_user(workload),
        written_at=None if at is None else at.value_location,
        limit_file="" if source is None else source.locator,
        version=2 if isinstance(group, Missing) else group.version,
    )


def is_kubernetes(path: str) -> bool:
    """Whether a cgroup belongs to a pod, as its path tells."""
    return any(part.startswith("kubepods") for part in path.split("/"))


def _kept(workload: Workload) -> tuple[Keeper, str]:
    """Return the keeper and the name, the surest sign first."""
    group = workload.cgroup
    if isinstance(group, Missing):
        return _unit(workload), workload.name
    if group.path == "/":
        return Keeper.OUTSIDE, workload.name
    if is_kubernetes(group.path):
        return Keeper.KUBERNETES, workload.name
    parts = group.path.strip("/").split("/")
    if parts[0] == "ecs" or any(_ECS_SLICE.fullmatch(part) for part in parts):
        return Keeper.ECS, workload.name
    found = _guest(parts) or _container(workload, group)
    return found or (_unit(workload), workload.name)


def _guest(parts: Sequence[str]) -> tuple[Keeper, str] | None:
    """Return the container of LXC, virtual machine or nspawn container that a path leads into."""
    for index, part in enumerate(parts):
        below = [name for name in parts[index + 1 :] if name != "ns"]
        name = part.replace("\\x2d", "-")
        if part == "lxc" and below:
            return _lxc(below[0], below[1:])
        payload = _LXC_PAYLOAD.fullmatch(part)
        if payload is not None:
            return _lxc(payload[1], below)
        domain = _VIRTUAL_MACHINE.fullmatch(name)
        if domain is not None:
            return Keeper.LIBVIRT, domain[1]
        if parts[:index] == ["machine.slice"] and _MACHINE.fullmatch(name):
            return (Keeper.INSIDE, parts[-1]) if below else (Keeper.NSPAWN, part)
        if part.startswith("systemd-nspawn@") and below:
            return Keeper.INSIDE, parts[-1]
    return None


def _lxc(name: str, below: Sequence[str]) -> tuple[Keeper, str]:
    if below:
        return Keeper.INSIDE, below[-1]
    is_proxmox = name.isdecimal() and int(name) >= FIRST_PROXMOX_ID
    return (Keeper.PROXMOX if is_proxmox else Keeper.LXC), name


def _container(workload: Workload, group: CgroupFacts) -> tuple[Keeper, str] | None:
    container = group.container
    if container is None:
        return None
    if workload.kind != "container":
        return Keeper.INSIDE, workload.name
    name = container.name if isinstance(container.name, str) else container.id
    return _ENGINES[container.engine], name


def _unit(workload: Workload) -> Keeper:
    """Return who keeps the limit of what is a unit or a bare cgroup."""
    if workload.transient:
        return Keeper.TRANSIENT
    if _belongs_to_a_user(workload):
        return Keeper.USER_SYSTEMD
    group = workload.cgroup
    below_slices = isinstance(group, Missing) or all(
        unit_kind(path) == "slice" for path in ancestor_paths(group.path)
    )
    is_unit = workload.unit is not None or (unit_kind(workload.name) != "" and below_slices)
    return Keeper.SYSTEMD if is_unit else Keeper.UNKNOWN


def _belongs_to_a_user(workload: Workload) -> bool:
    if isinstance(workload.properties, UnitProperties):
        return workload.properties.manager == "user"
    if isinstance(workload.cgroup, Missing) or not unit_kind(workload.name):
        return False
    above = workload.cgroup.path.split("/")[:-1]
    return any(_USER_MANAGER.fullmatch(part) for part in above)
