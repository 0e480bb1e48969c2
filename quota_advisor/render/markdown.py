"""The report as Markdown: for tickets, pull requests and chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import tabulate

from quota_advisor.model.finding import Finding
from quota_advisor.model.report import Report
from quota_advisor.model.workload import Host
from quota_advisor.printable import printable
from quota_advisor.render.columns import MAX_LISTED, Table, table_rows
from quota_advisor.render.parts import advised_once, supporting
from quota_advisor.render.table import (
    NO_QUOTA,
    by_subject,
    causes_text,
    common_causes,
    formula_of,
    headline,
    more_findings,
    more_workloads,
    summary,
)
from quota_advisor.render.view import View

MAX_CHARACTERS = 65_536
"""GitHub refuses a comment that is longer."""

_ROOM_FOR_THE_END = 1_000


def render(report: Report, view: View) -> str:
    """Return the report as Markdown."""
    common = common_causes(report.results)
    blocks = [f"# quota-advisor {report.command}"]
    if report.host is not None:
        blocks += [_escape(headline(report.host)), _escape(common)]
        blocks.append(_table(report.host, report, view))
    for cluster in report.clusters:
        # Hosts and files need nothing of it.
        from quota_advisor.render import cluster_table  # noqa: PLC0415

        table = cluster_table.container_rows(cluster, report, everything=view.all)
        blocks += [_escape(cluster_table.headline(cluster)), _rows(table)]
        blocks.append(_escape(cluster_table.totals(cluster)))
    groups = by_subject(report)
    listed = len(groups) if view.all else MAX_LISTED
    findings = [finding for group in groups[:listed] for finding in group]
    if findings:
        blocks.append("## Findings")
        said: dict[str, str] = {}
        room = MAX_CHARACTERS - sum(len(block) + 2 for block in blocks) - _ROOM_FOR_THE_END
        items = ("\n".join(_item(finding, view, common, said)) for finding in findings)
        shown = _fitting(items, room)
        blocks.append("\n".join(shown))
        left_out = len(findings) - len(shown)
        if left_out:
            blocks.append(
                f"{left_out} more finding{'' if left_out == 1 else 's'} would not fit here."
            )
        blocks.append(more_findings(groups[listed:]))
    blocks.append(summary(report))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _fitting(items: Iterable[str], room: int) -> list[str]:
    """Return the first items that have room together."""
    shown = []
    for item in items:
        room -= len(item) + 1
        if room < 0:
            break
        shown.append(item)
    return shown


def _table(host: Host, report: Report, view: View) -> str:
    return _rows(table_rows(host, report, wide=view.wide, everything=view.all)) or NO_QUOTA


def _rows(table: Table) -> str:
    headings, rows, left_out = table
    if not rows:
        return ""
    text = tabulate.tabulate(
        [[_escape(cell) for cell in row] for row in rows],
        headers=[heading.capitalize() for heading in headings],
        tablefmt="github",
        disable_numparse=True,
    )
    return "\n\n".join([text, *more_workloads(left_out)])


def _item(finding: Finding, view: View, common: str, said: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a finding, what is read by few folded away.

    Args:
        finding: The finding.
        view: How it is shown.
        common: What is said of other causes for all findings at once.
        said: What was advised so far, each text with the subject that it was advised for.
    """
    name, message = _escape(finding.subject.name), _escape(finding.message)
    yield f"- **{finding.severity}** `{finding.rule}` — **{name}**: {message}"
    if finding.location is not None:
        place = finding.location
        yield f"  - at `{printable(place.file)}:{place.line}:{place.column}`"
    if finding.recommendation is not None:
        text = " ".join(finding.recommendation.summary.split())
        shown = advised_once(text, finding.subject.name, said)
        yield f"  - do: {_escape(shown)}"
    yield from _folded(list(_details(finding, view, common)))


def _details(finding: Finding, view: View, common: str) -> Iterator[str]:
    """Yield what few read: what else is said of the cause, the arithmetic, commands."""
    if view.verbose:
        for part in finding.parts:
            words = f"{_escape(part.subject.name)}: {_escape(part.message)}"
            yield f"**{part.severity}** `{part.rule}` — {words}"
    else:
        yield from map(_escape, supporting(finding))
    if finding.ruled_out and not common:
        yield _escape(causes_text(finding.ruled_out))
    if finding.recommendation is not None:
        formula = formula_of(finding.recommendation)
        if formula:
            yield f"from: {_escape(formula)}"
        for step in finding.recommendation.steps:
            yield f"try: {_code(step.command)}, back: {_code(step.undo)}"


def _folded(lines: list[str]) -> Iterator[str]:
    """Yield lines that are shown on a click; Markdown within HTML takes empty lines around it."""
    if lines:
        yield "  <details><summary>numbers and commands</summary>"
        yield ""
        yield from (f"  - {line}" for line in lines)
        yield ""
        yield "  </details>"


def _code(text: str) -> str:
    """Return a text as code, between more backticks than it has in a row."""
    text = printable(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def _escape(text: str) -> str:
    """Keep names and values from being read as markup."""
    text = printable(text)
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, f"\\{sign}")
    return text
