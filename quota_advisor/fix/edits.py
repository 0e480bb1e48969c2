"""Edits of a text by line and column, as findings carry them, and making them."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Sequence

from quota_advisor.documents.text import Lines
from quota_advisor.model.finding import Edit, Fix
from quota_advisor.model.source import Location, Span

Wanted = Collection[tuple[str, Location]]
"""Findings to fix, each as rule and place."""

_BOM = "\ufeff"


def span(lines: Lines, file: str, start: int, end: int) -> Span:
    """Return some characters of a text as a place of its file."""
    (line, column), (end_line, end_column) = lines.place(start), lines.place(end)
    return Span(file=file, line=line, column=column, end_line=end_line, end_column=end_column)


def location(place: tuple[int, int], file: str) -> Location:
    """Return line and column as a place of a file."""
    return Location(file=file, line=place[0], column=place[1])


def apply(data: bytes, fixes: Iterable[Fix]) -> tuple[bytes, list[Fix]]:
    """Return a file with some fixes made, and those that were.

    Each is made wholly or not at all. One that would change what another before it changes, or put
    something in at the same place, is left for the next time: by then it may be another.

    Args:
        data: The file that they were made for.
        fixes: All for this file; equal ones are made once and are all among those made.
    """
    text = data.decode("utf-8", "surrogateescape")
    mark = _BOM * text.startswith(_BOM)
    text = text.removeprefix(_BOM)
    lines, taken = Lines(text), _Taken()
    made: list[Fix] = []
    known: set[tuple[Edit, ...]] = set()
    for fix in fixes:
        if fix.edits in known or taken.take(_ranges(lines, fix.edits)):
            known.add(fix.edits)
            made.append(fix)
    pieces, last = [mark], 0
    for start, end, new in taken.ranges:
        pieces += [text[last:start], new]
        last = end
    return "".join([*pieces, text[last:]]).encode("utf-8", "surrogateescape"), made


_Range = tuple[int, int, str]
"""Start, end, and what takes the place of what is in between."""


def _ranges(lines: Lines, edits: Sequence[Edit]) -> list[_Range] | None:
    found: list[_Range] = []
    for edit in edits:
        start = lines.offset(edit.span.line, edit.span.column)
        end = lines.offset(edit.span.end_line, edit.span.end_column)
        if start is None or end is None or end < start:
            return None
        found.append((start, end, edit.text))
    return found


class _Taken:
    """Ranges of a text that something becomes of.

    Attributes:
        ranges: In their order; none touches another.
    """

    def __init__(self) -> None:
        self.ranges: list[_Range] = []

    def take(self, ranges: list[_Range] | None) -> bool:
        """Add some ranges, if all of them are free."""
        if ranges is None or not all(map(self._is_free, ranges)):
            return False
        for one in ranges:
            insort(self.ranges, one)
        return True

    def _is_free(self, one: _Range) -> bool:
        at = bisect_right(self.ranges, one)
        return not any(_collide(one, other) for other in self.ranges[max(at - 1, 0) : at + 1])


def _collide(one: _Range, other: _Range) -> bool:
    """Whether two ranges overlap, or both put something in at the same place."""
    overlap = one[0] < other[1] and other[0] < one[1]
    return overlap or one[:2] == other[:2]
