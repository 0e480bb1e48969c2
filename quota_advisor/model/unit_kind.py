"""Types of units, told by their names."""

from __future__ import annotations

UNIT_SECTIONS = {
    "service": "Service",
    "slice": "Slice",
    "scope": "Scope",
    "socket": "Socket",
    "mount": "Mount",
    "swap": "Swap",
}
"""Unit types that have a cgroup, and the section that holds their CPU keys."""


def unit_kind(name: str) -> str:
    """Return the unit type that a name ends in, or an empty string for other names."""
    stem, _, suffix = name.rpartition(".")
    return suffix if stem and suffix in UNIT_SECTIONS else ""
