"""The report as Markdown: for tickets, pull requests and chat."""

from __future__ import annotations

from collections.abc import Iterator

import tabulate

from quota_advisor.model.finding import Finding
from quota_advisor.model.report import Report
from quota_advisor.model.workload import Host
from quota_advisor.printable import printable
from quota_advisor.render.columns import table_rows
from quota_advisor.render.table import NO_QUOTA, causes_text, formula_of, headline, summary
from quota_advisor.render.view import View


def render(report: Report, view: View) -> str:
    """Return the report as Markdown."""
    blocks = [f"# quota-advisor {report.command}"]
    if report.host is not None:
        blocks += [_escape(headline(report.host)), _table(report.host, report, view)]
    if report.results.findings:
        blocks.append("## Findings")
        blocks.append("\n".join(line for f in report.results.findings for line in _item(f)))
    blocks.append(summary(report))
    return "\n\n".join(blocks) + "\n"


def _table(host: Host, report: Report, view: View) -> str:
    headings, rows = table_rows(host, report, wide=view.wide, everything=view.all)
    if not rows:
        return NO_QUOTA
    return tabulate.tabulate(
        [[_escape(cell) for cell in row] for row in rows],
        headers=[heading.capitalize() for heading in headings],
        tablefmt="github",
        disable_numparse=True,
    )


def _item(finding: Finding) -> Iterator[str]:
    name, message = _escape(finding.subject.name), _escape(finding.message)
    yield f"- **{finding.severity}** `{finding.rule}` — **{name}**: {message}"
    if finding.location is not None:
        place = finding.location
        yield f"  - at `{printable(place.file)}:{place.line}:{place.column}`"
    if finding.ruled_out:
        yield f"  - {_escape(causes_text(finding.ruled_out))}"
    if finding.recommendation is not None:
        yield f"  - do: {_escape(' '.join(finding.recommendation.summary.split()))}"
        formula = formula_of(finding.recommendation)
        if formula:
            yield f"  - from: {_escape(formula)}"


def _escape(text: str) -> str:
    """Keep names and values from being read as markup."""
    text = printable(text)
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, f"\\{sign}")
    return text
