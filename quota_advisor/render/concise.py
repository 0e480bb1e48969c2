"""One line a finding and nothing else: for editors, pipes and long lists."""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.model.finding import Finding
from quota_advisor.model.report import Report
from quota_advisor.printable import printable
from quota_advisor.render.view import View


def render(report: Report, view: View) -> Iterator[str]:
    """Yield ``file:line:column: severity: message [rule]``, fixable ones marked."""
    del view  # paths stay as they were named: an editor opens them from here
    for finding in report.results.findings:
        fixable = "" if finding.fix is None else " [fixable]"
        message = printable(finding.message)
        yield f"{_place(finding)}: {finding.severity}: {message} [{finding.rule}]{fixable}\n"


def _place(finding: Finding) -> str:
    place = finding.location
    if place is None:
        return printable(finding.subject.name)
    return f"{printable(place.file)}:{place.line}:{place.column}"
