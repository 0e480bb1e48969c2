"""Say once what is true of many places: of a chart, of the whole input, of copies of an object.

Done last, to what fixes, suppressions and a baseline have left: those are about each place.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quota_advisor.documents.yaml.split import documents, whole
from quota_advisor.files.reading import read_found
from quota_advisor.model.finding import Evidence, Finding, Once, Related, Subject
from quota_advisor.model.lint import DIRECTORY, WHOLE_INPUT
from quota_advisor.model.report import Report

CHART = "Chart.yaml"

SHOWN = 10
"""Other places that a finding lists: thousands would make a report that nobody opens."""

MAX_COPY_BYTES = 4 << 20
"""Larger files are not compared."""


def said_once(report: Report) -> Report:
    """Return a report whose findings are told once each, with the number of their places."""
    results = report.results
    groups: dict[tuple[str, ...], list[Finding]] = {}
    charts = _Charts()
    for number, finding in enumerate(_without_copies(results.findings)):
        groups.setdefault(_group(finding, number, charts), []).append(finding)
    results.findings = [_one_of(group, charts) for group in groups.values()]
    return report


def _group(finding: Finding, number: int, charts: _Charts) -> tuple[str, ...]:
    """Return what findings are told together by."""
    if finding.once is None or finding.location is None or finding.fix is not None:
        return ("", str(number))
    if finding.once is Once.INPUT:
        return (finding.rule, finding.severity)
    return (finding.rule, finding.severity, charts.of(finding.location.file))


class _Charts:
    """Which directories are told of together, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[Path, str] = {}

    def of(self, file: str) -> str:
        """Return the nearest directory above a file that holds a chart, else its own."""
        directory = Path(file).parent
        if directory not in self._known:
            above = (directory, *directory.parents)
            chart = next((at for at in above if (at / CHART).is_file()), directory)
            self._known[directory] = str(chart)
        return self._known[directory]


def _one_of(group: Sequence[Finding], charts: _Charts) -> Finding:
    """Return the first of several findings, about what all of them are in."""
    first, *others = group
    if not others or first.location is None:
        return first
    if first.once is Once.INPUT:
        subject = Subject(kind=WHOLE_INPUT, name="all files")
    else:
        name = charts.of(first.location.file)
        subject = Subject(kind=DIRECTORY, name=name)
    return _counted(first, others, f"{len(others)} more like it", "places", subject)


def _counted(
    first: Finding, others: Sequence[Finding], words: str, unit: str, subject: Subject
) -> Finding:
    places = (finding.location for finding in others[:SHOWN])
    return replace(
        first,
        message=f"{first.message} ({words})",
        subject=subject,
        related=(*first.related, *(Related(at, "likewise") for at in places if at is not None)),
        evidence=(*first.evidence, Evidence(label=unit, value=len(others) + 1, unit=unit)),
    )


# ---- Copies of an object


def _without_copies(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in their order, those of identical objects in several files once."""
    alike: dict[tuple[str, ...], dict[int, Finding]] = {}
    for number, finding in enumerate(findings):
        alike.setdefault(_likeness(finding, number), {})[number] = finding
    texts = _Documents()
    left: dict[int, Finding] = {}
    for group in alike.values():
        left |= group if len(group) == 1 else _told_once(group, texts)
    return [left[number] for number in sorted(left)]


def _likeness(finding: Finding, number: int) -> tuple[str, ...]:
    if finding.location is None or finding.fix is not None or finding.once is not None:
        return ("", str(number))
    subject = finding.subject
    return (finding.rule, finding.severity, subject.kind, subject.name, finding.message)


def _told_once(group: Mapping[int, Finding], texts: _Documents) -> dict[int, Finding]:
    """Return findings that say the same; those at one place of identical documents once."""
    copies: dict[tuple[bytes, int, int], list[int]] = {}
    for number, finding in group.items():
        copies.setdefault(texts.around(finding), []).append(number)
    left: dict[int, Finding] = {}
    for first, *others in copies.values():
        left[first] = group[first]
        if others:
            words = f"and in {len(others)} identical cop{'y' if len(others) == 1 else 'ies'}"
            alike = [group[number] for number in others]
            left[first] = _counted(left[first], alike, words, "copies", left[first].subject)
    return left


class _Documents:
    """The documents of files in which several findings say the same, each file read once."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, list[tuple[int, int, int]]]] = {}

    def around(self, finding: Finding) -> tuple[bytes, int, int]:
        """Return the text of the document that a finding is in, and its place there.

        Where there is none to compare the text is the name of the file, so that it is like itself
        alone.
        """
        at = finding.location
        if at is None:
            return (b"", 0, 0)
        if at.file not in self._files:
            self._files[at.file] = self._read(at.file)
        data, parts = self._files[at.file]
        index = bisect.bisect_right(parts, at.line, key=lambda part: part[2]) - 1
        if index < 0:
            return (b"\0" + at.file.encode("utf-8", "surrogateescape"), at.line, at.column)
        start, end, line = parts[index]
        return (data[start:end].strip(), at.line - line, at.column)

    def _read(self, file: str) -> tuple[bytes, list[tuple[int, int, int]]]:
        try:
            data = read_found(Path(file), MAX_COPY_BYTES)
        except (OSError, ValueError):
            return (b"", [])
        if not file.endswith((".yaml", ".yml")):
            return (data, [(0, len(data), 1)])
        return (data, [(part.start, part.end, part.line) for part in documents(data, whole(data))])
