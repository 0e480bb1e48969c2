"""One systemd unit file: its assignments with their places, read exactly as systemd reads it.

Source: systemd ``conf-parser.c`` and ``fileio.c`` (``read_line``), version 252 and later. Lines
are counted as systemd counts them, so that its messages and ours name the same line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field

from quota_advisor.model.source import Location
from quota_advisor.model.suppression import Suppression
from quota_advisor.model.unit import Assignment, MalformedLine, SwallowedLine, UnitFile
from quota_advisor.records import dataclass
from quota_advisor.units import SPACE

MAX_LINE_BYTES = 1 << 20
"""systemd reads no line this long, and none that continuations make longer."""

_BOM = "\ufeff"

# One line ends in any of these marks, but no mark counts twice and NUL is always the last.
_LINE = re.compile(
    rb"([^\n\r\0]*)(\r\n\0|\n\r\0|\r\n|\n\r|\n\0|\r\0|\n|\r|\0|\Z)",
)
_SUPPRESSION = re.compile(r"[#;]\s*quota-advisor:\s*ignore\[([^\]]*)\](.*)", re.DOTALL)

# What systemd calls invalid UTF-8: stray bytes, which decoding turned into surrogates, and the
# code points that Unicode reserves as "no character".
_NOT_TEXT = re.compile(
    "[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
_UNSAFE_IN_SECTION = re.compile(r"[\x00-\x1f\x7f\"'\\]")


@dataclass(frozen=True, slots=True)
class _Physical:
    """A line of the file without its end.

    Attributes:
        number: As systemd counts.
        text: The line, without a byte order mark.
        column: Column of the first character of ``text``.
        size: Length in bytes.
        marked: The line began with a byte order mark.
    """

    number: int
    text: str
    column: int
    size: int
    marked: bool

    @property
    def is_comment(self) -> bool:
        return self.text.lstrip(SPACE).startswith(("#", ";"))


@dataclass(slots=True)
class _Logical:
    """Physical lines that trailing backslashes join into one, and where each of them begins."""

    lines: list[_Physical] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    length: int = 0
    size: int = 0

    def add(self, line: _Physical, text: str) -> None:
        self.lines.append(line)
        self.offsets.append(self.length)
        self.parts.append(text)
        self.length += len(text)
        self.size += line.size

    def place(self, offset: int) -> tuple[int, int]:
        """Return index of the physical line and column of a character of the logical line."""
        index = bisect_right(self.offsets, offset) - 1
        return index, self.lines[index].column + offset - self.offsets[index]


def parse_unit_file(path: str, data: bytes) -> UnitFile:
    """Return everything in a unit file or drop-in; no content makes this raise.

    Args:
        path: Path on the host, as it should appear in messages.
        data: Content of the file.
    """
    reader = _Reader(path)
    reader.read(data)
    return UnitFile(
        path=path,
        assignments=tuple(reader.assignments),
        suppressions=tuple(reader.suppressions),
        malformed=tuple(reader.malformed),
    )


class _Reader:
    def __init__(self, path: str) -> None:
        self.assignments: list[Assignment] = []
        self.suppressions: list[Suppression] = []
        self.malformed: list[MalformedLine] = []
        self._path = path
        self._section: str | None = None
        self._stopped = False

    def read(self, data: bytes) -> None:
        logical = _Logical()
        for line in _physical_lines(data):
            if line.size >= MAX_LINE_BYTES:
                self._refuse(self._at(line.number, line.column), "the line is too long", fatal=True)
                return
            if line.is_comment:
                self._comment(line)
            # systemd looks for comments before it looks for a byte order mark.
            if line.is_comment and not line.marked:
                continue
            logical = self._continue(logical, line)
            if self._stopped:
                return
        if logical.lines:
            self._logical_line(logical)

    def _continue(self, logical: _Logical, line: _Physical) -> _Logical:
        """Add a line, use what is complete with it, and return what is not."""
        if logical.size + line.size > MAX_LINE_BYTES:
            self._refuse(self._at(line.number, line.column), "the line is too long", fatal=True)
            return logical
        continues = _continues(line.text)
        logical.add(line, line.text[:-1] + " " if continues else line.text)
        if continues:
            return logical
        self._logical_line(logical)
        return _Logical()

    def _comment(self, line: _Physical) -> None:
        text = line.text.lstrip(SPACE)
        match = _SUPPRESSION.match(text)
        if match is None:
            return
        ids = (part.strip() for part in match[1].split(","))
        column = line.column + len(line.text) - len(text)
        self.suppressions.append(
            Suppression(
                rules=tuple(part for part in ids if part),
                reason=match[2].strip(),
                location=self._at(line.number, column),
            )
        )

    def _logical_line(self, logical: _Logical) -> None:
        joined = "".join(logical.parts)
        text = joined.strip(SPACE)
        if not text:
            return
        start = len(joined) - len(joined.lstrip(SPACE))
        index, column = logical.place(start)
        where = self._at(logical.lines[index].number, column)
        if _NOT_TEXT.search(text):
            self._refuse(where, "the line is not valid UTF-8", fatal=True)
        elif text.startswith("["):
            self._header(text, where)
        elif self._section is None and text.startswith(("#", ";")):
            return
        elif "=" in text and not text.startswith("="):
            self._assignment(logical, joined, start)
        elif not (self._section or "").startswith("X-"):
            self._refuse(where, "there is no key" if text.startswith("=") else "there is no '='")

    def _header(self, text: str, where: Location) -> None:
        if not text.endswith("]") or len(text) == 1:
            self._refuse(where, "the section header does not end in ']'", fatal=True)
        elif _UNSAFE_IN_SECTION.search(text):
            self._refuse(where, "the section header has characters it must not have", fatal=True)
        else:
            self._section = text[1:-1]

    def _assignment(self, logical: _Logical, joined: str, start: int) -> None:
        equals = joined.index("=", start)
        value = joined[equals + 1 :].strip(SPACE)
        value_at = joined.index(value, equals + 1) if value else equals + 1
        key_line, key_column = logical.place(start)
        value_line, value_column = logical.place(value_at)
        self.assignments.append(
            Assignment(
                section=self._section or "",
                key=joined[start:equals].strip(SPACE),
                value=value,
                location=self._at(logical.lines[key_line].number, key_column),
                value_location=self._at(logical.lines[value_line].number, value_column),
                swallowed=tuple(self._swallowed(logical, key_line + 1)),
            )
        )

    def _swallowed(self, logical: _Logical, first: int) -> Iterator[SwallowedLine]:
        for line, part in zip(logical.lines[first:], logical.parts[first:], strict=True):
            text = part.strip(SPACE)
            if text:
                column = line.column + len(part) - len(part.lstrip(SPACE))
                yield SwallowedLine(text=text, location=self._at(line.number, column))

    def _refuse(self, location: Location, reason: str, *, fatal: bool = False) -> None:
        self.malformed.append(MalformedLine(location=location, reason=reason, fatal=fatal))
        self._stopped = fatal

    def _at(self, line: int, column: int) -> Location:
        return Location(file=self._path, line=line, column=column)


def _physical_lines(data: bytes) -> Iterator[_Physical]:
    """Yield the lines of a file; systemd drops the first byte order mark it meets."""
    bom_seen = False
    for number, match in enumerate(_LINE.finditer(data), start=1):
        if match.start() == len(data):
            return
        text = match[1].decode("utf-8", "surrogateescape")
        column = 1
        marked = not bom_seen and text.startswith(_BOM)
        if marked:
            bom_seen = True
            text = text[1:]
            # Editors do not count the mark at the start of a file; elsewhere it is a character.
            column = 1 if number == 1 else 2
        yield _Physical(number, text, column, len(match[1]), marked)


def _continues(text: str) -> bool:
    """Whether the line ends in a backslash that no other backslash escapes."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
