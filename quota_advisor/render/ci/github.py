"""The report as annotations of a GitHub workflow run.

Source: GitHub documentation, "Workflow commands for GitHub Actions"; the escapes are those of
``@actions/core`` (``escapeData`` and ``escapeProperty``).
"""

from __future__ import annotations

from collections.abc import Mapping

from quota_advisor.model.finding import Finding, Severity
from quota_advisor.model.report import Report
from quota_advisor.model.source import Location, Span
from quota_advisor.printable import printable
from quota_advisor.render.parts import supporting
from quota_advisor.render.places import relative
from quota_advisor.render.view import View

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report, view: View) -> str:
    """Return one workflow command a finding."""
    lines = [_annotation(finding, view) for finding in report.results.findings]
    for problem in report.problems:
        properties = {"title": "could not be read"}
        lines.append(
            _command("error", properties, printable(f"{problem.subject}: {problem.reason}"))
        )
    return "".join(f"{line}\n" for line in lines)


def _annotation(finding: Finding, view: View) -> str:
    properties: dict[str, str] = {}
    message = printable("\n".join([finding.message, *supporting(finding)]), keep="\r\n")
    if finding.location is None:
        message = f"{printable(finding.subject.name)}: {message}"
    else:
        place = finding.location
        properties["file"] = printable(relative(place.file, view))
        properties |= _region(place)
    properties["title"] = finding.rule
    if finding.recommendation is not None:
        # An annotation is all that a reviewer sees: no page of the rule is at hand there.
        message += f"\nwhat to do: {printable(' '.join(finding.recommendation.summary.split()))}"
    return _command(_COMMANDS[finding.severity], properties, message)


def _region(place: Location) -> dict[str, str]:
    """Return a place as GitHub has it, which takes no columns for one of several lines."""
    start = {"line": str(place.line), "col": str(place.column)}
    if not isinstance(place, Span):
        return start
    if place.end_line > place.line:
        return {"line": str(place.line), "endLine": str(place.end_line)}
    # The last column is one of the region's own, where it has any.
    last = max(place.end_column - 1, place.column)
    return start | {"endLine": str(place.end_line), "endColumn": str(last)}


def _command(name: str, properties: Mapping[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
