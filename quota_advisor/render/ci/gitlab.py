"""The report as GitLab's code quality artifact: a JSON array, one entry a finding.

Source: GitLab documentation, "Code Quality", "Implement a custom tool": description, check_name,
fingerprint, location.path, location.lines.begin and severity are required.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from quota_advisor.model.finding import Finding, Severity
from quota_advisor.model.report import Report
from quota_advisor.model.source import Span
from quota_advisor.render.encode import encoded
from quota_advisor.render.parts import supporting
from quota_advisor.render.places import relative
from quota_advisor.render.view import View
from quota_advisor.rulebook.fingerprint import fingerprints

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(report: Report, view: View) -> Iterator[str]:
    """Yield the report as a JSON array; what is left out is not in it."""
    yield from encoded(_entries(report, view))
    yield "\n"


def _entries(report: Report, view: View) -> Iterator[dict[str, Any]]:
    results, name_of = report.results, partial(relative, view=view)
    # What is left out counts, as everywhere: a finding keeps its fingerprint beside it.
    findings = [*results.findings, *(s.finding for s in results.suppressed)]
    prints = fingerprints(findings, name_of)
    for finding, fingerprint in zip(results.findings, prints, strict=False):
        yield _entry(finding, fingerprint, view)
    for problem in report.problems:
        path = name_of(problem.subject)
        yield {
            "description": f"could not be read: {problem.reason}",
            "check_name": "could-not-be-read",
            "fingerprint": _fingerprint(path),
            "severity": "blocker",
            "location": {"path": path, "lines": {"begin": 1}},
        }


def _fingerprint(path: str) -> str:
    text = f"could-not-be-read\0{path}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]


def _entry(finding: Finding, fingerprint: str, view: View) -> dict[str, Any]:
    place = finding.location
    advice = finding.recommendation
    lines = [finding.message, *supporting(finding)]
    entry: dict[str, Any] = {
        "description": ". ".join(lines),
        "check_name": finding.rule,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            # The format knows files only: what has none goes by its name.
            "path": finding.subject.name if place is None else relative(place.file, view),
            "lines": {"begin": 1 if place is None else place.line},
        },
    }
    if isinstance(place, Span):
        entry["location"]["lines"]["end"] = place.end_line
    if advice is not None:
        entry["content"] = {"body": " ".join(advice.summary.split())}
    return entry
