"""Give the places of findings their ends, from the texts that they are in.

Each text is looked at once, and only if something is found in it. Findings of manifests get their
ends while the text is at hand (:class:`Texts`), what is left over at the end from the files
(:func:`complete`): places in other files, and those that only all files together show.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from quota_advisor.checkout.inputs import FileKind, InputFile, read_input
from quota_advisor.documents.text import to_utf8
from quota_advisor.documents.yaml.extent import Extents
from quota_advisor.model.finding import Finding
from quota_advisor.model.report import Results
from quota_advisor.model.source import Location, Span
from quota_advisor.patterns import pattern

MAX_FILE_BYTES = 4 << 20
"""Of larger files nothing is read a second time for the sake of an end."""

_OTHER_BREAKS = pattern("[\x85\u2028\u2029]")
"""What YAML 1.1 takes for line ends and this module does not."""

_REST_OF_LINE = pattern(r"[^\r\n]*")


class Texts:
    """Gives places of some YAML or JSON texts their ends.

    Args:
        texts: Content by file, with the number of its first line.
    """

    def __init__(self, texts: Mapping[str, tuple[bytes, int]]) -> None:
        self._texts = texts
        self._extents: dict[str, Extents | None] = {}

    def __call__(self, place: Location) -> Location:
        """Return a place with its end; as it is where the text does not tell."""
        file = place.file
        if file not in self._texts or type(place) is Span:
            return place
        if file not in self._extents:
            self._extents[file] = _extents(*self._texts[file])
        extents = self._extents[file]
        return _with_end(
            place, None if extents is None else extents.end_of(place.line, place.column)
        )


def _extents(data: bytes, first_line: int) -> Extents | None:
    try:
        text = to_utf8(data).decode("utf-8", "surrogateescape")
    except UnicodeDecodeError:
        return None
    if not text.isascii() and _OTHER_BREAKS.search(text):
        return None
    return Extents(text, first_line)


def _with_end(place: Location, end: tuple[int, int] | None) -> Location:
    if end is None:
        return place
    return Span(
        file=place.file, line=place.line, column=place.column, end_line=end[0], end_column=end[1]
    )


def complete(results: Results, files: Iterable[InputFile]) -> None:
    """Give the places that have none yet their ends, from the files that they are in.

    Args:
        results: What was found; findings take the place of those without ends.
        files: The input; of other files nothing is known.
    """
    wanted = {
        place.file
        for finding in (*results.findings, *(s.finding for s in results.suppressed))
        for place in _places(finding)
        if type(place) is not Span
    }
    if not wanted:
        return
    extent = _Files(file for file in files if file.path in wanted)
    for index, finding in enumerate(results.findings):
        if type(finding.location) is not Span or finding.related:
            results.findings[index] = _completed(finding, extent)
    results.suppressed[:] = [
        replace(s, finding=_completed(s.finding, extent)) for s in results.suppressed
    ]


def _places(finding: Finding) -> Iterable[Location]:
    if finding.location is not None:
        yield finding.location
    for other in finding.related:
        yield other.location


def _completed(finding: Finding, extent: _Files) -> Finding:
    if all(type(place) is Span for place in _places(finding)):
        return finding
    return replace(
        finding,
        location=finding.location and extent(finding.location),
        related=tuple(other._replace(location=extent(other.location)) for other in finding.related),
    )


class _Files:
    """Gives places of whole files their ends."""

    def __init__(self, files: Iterable[InputFile]) -> None:
        self._manifests: dict[str, tuple[bytes, int]] = {}
        self._units: dict[str, list[str]] = {}
        for file in files:
            if file.size <= MAX_FILE_BYTES:
                # A file that is gone by now has no ends to tell.
                with contextlib.suppress(OSError):
                    self._add(file, read_input(file))
        self._texts = Texts(self._manifests)

    def _add(self, file: InputFile, data: bytes) -> None:
        if file.kind is FileKind.MANIFEST:
            self._manifests[file.path] = (data, 1)
        else:
            text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
            self._units[file.path] = text.split("\n")

    def __call__(self, place: Location) -> Location:
        lines = self._units.get(place.file)
        if lines is None or type(place) is Span:
            return self._texts(place)
        if place.line > len(lines):
            return place
        # What rules say of unit files without knowing its end is about the rest of the line.
        rest = _REST_OF_LINE.match(lines[place.line - 1], place.column - 1)
        return _with_end(place, rest and (place.line, len(rest[0].rstrip()) + place.column))
