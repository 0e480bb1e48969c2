"""Where a value was read, exactly enough to read it again."""

from __future__ import annotations

from enum import StrEnum

from quota_advisor.records import dataclass


class SourceKind(StrEnum):
    """The sort of place a value comes from."""

    CGROUP_FILE = "cgroup-file"
    DBUS_PROPERTY = "dbus-property"
    UNIT_FILE = "unit-file"
    SYSTEM_FILE = "system-file"
    METRICS = "metrics"


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

    @property
    def start(self) -> Location:
        """Where it begins, which is the same whether or not its end is known."""
        return Location(file=self.file, line=self.line, column=self.column)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Span(Location):
    """A place with the end of what stands there, which is known where its text is at hand.

    Attributes:
        end_line: Line of the first character behind it.
        end_column: Column of that character; the place itself where nothing is written.
    """

    end_line: int
    end_column: int


def span_of(start: Location, text: str) -> Span:
    """Return the place of a text that begins somewhere and stands in one line."""
    return Span(
        file=start.file,
        line=start.line,
        column=start.column,
        end_line=start.line,
        end_column=start.column + len(text),
    )
