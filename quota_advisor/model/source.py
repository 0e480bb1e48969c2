"""Where a value was read, exactly enough to read it again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SourceKind(StrEnum):
    """The sort of place a value comes from."""

    CGROUP_FILE = "cgroup-file"
    DBUS_PROPERTY = "dbus-property"
    UNIT_FILE = "unit-file"
    SYSTEM_FILE = "system-file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One place a value was read from.

    Attributes:
        kind: The sort of place.
        locator: A path, or ``unit property`` for D-Bus; never with the ``--root`` prefix.
        raw: The text as read, before parsing.
    """

    kind: SourceKind
    locator: str
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Location:
    """A place in a file. Lines and columns count from 1; columns count characters."""

    file: str
    line: int
    column: int
