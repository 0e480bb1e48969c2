"""Where what begins at some place of a unit file ends, told by what was read of the file.

So the facts of a host are enough: nothing is read again, and a snapshot tells the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from quota_advisor.model.source import Location, Span, span_of
from quota_advisor.model.unit import UnitFile

_WORD = re.compile(r"[^\s\"']*")


class UnitExtents:
    """Gives places of unit files their ends: keys, values, and words inside of values.

    Args:
        files: The files, as they were read.
    """

    def __init__(self, files: Iterable[UnitFile]) -> None:
        self._files = {file.path: file for file in files}
        self._spans: dict[str, dict[Location, Span]] = {}

    def __call__(self, place: Location) -> Location:
        """Return a place with its end; as it is where nothing is known to begin there."""
        file = self._files.get(place.file)
        if file is None or type(place) is Span:
            return place
        if file.path not in self._spans:
            self._spans[file.path] = dict(_spans(file))
        return self._spans[file.path].get(place) or _word(file, place) or place


def _spans(file: UnitFile) -> Iterator[tuple[Location, Span]]:
    for assignment in file.assignments:
        for line in assignment.swallowed:
            yield line.location, line.span
        # Of a value that begins below its key, all of it counts and not only the first line.
        yield assignment.value_location, assignment.value_span
        yield assignment.location, assignment.key_span


def _word(file: UnitFile, place: Location) -> Span | None:
    """Return the word that begins inside of a value."""
    for assignment in file.assignments:
        lines = ((line.location, line.text) for line in assignment.swallowed)
        for start, text in (*lines, (assignment.value_location, assignment.value)):
            offset = place.column - start.column
            if start.line == place.line and 0 < offset < len(text):
                found = _WORD.match(text, offset)
                return span_of(place, found[0] if found else "")
    return None
