"""Files whose name says what they are: unit files, drop-ins and quadlets."""

from __future__ import annotations

from pathlib import PurePosixPath

from quota_advisor.model.unit_kind import UNIT_SECTIONS

QUADLET_SUFFIXES = frozenset(
    (".container", ".pod", ".kube", ".volume", ".network", ".image", ".build")
)
UNIT_SUFFIXES = frozenset(f".{kind}" for kind in UNIT_SECTIONS)


def is_quadlet(name: str) -> bool:
    """Whether a file is a podman quadlet or a drop-in of one."""
    return PurePosixPath(_owner(name)).suffix in QUADLET_SUFFIXES


def is_unit(name: str) -> bool:
    """Whether a file is a unit file or a drop-in of a unit that can have a CPU quota."""
    owner = _owner(name)
    suffix = PurePosixPath(owner).suffix
    # A directory such as "service.d" holds drop-ins for every unit of its type.
    return (suffix or f".{owner}") in UNIT_SUFFIXES and (suffix != "" or owner != name)


def _owner(name: str) -> str:
    """Return the name of the unit that a file belongs to: its own, or of its ``.d`` directory."""
    path = PurePosixPath(name)
    directory = path.parent.name
    if path.suffix == ".conf" and directory.endswith(".d"):
        return directory.removesuffix(".d")
    return path.name
