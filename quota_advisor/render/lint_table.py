"""What lint found, for people: one line a finding, in the form that editors make clickable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

import click

from quota_advisor.model.finding import Finding, Severity
from quota_advisor.model.report import Report, Results
from quota_advisor.printable import printable
from quota_advisor.render.view import View
from quota_advisor.rulebook.catalogue import load_catalog

MAX_NOTES = 10
"""Notes of one rule that are listed: hundreds of them hide what counts."""

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report, view: View) -> str:
    """Return the report as text."""
    results = report.results
    listed, more = (results.findings, Counter()) if view.verbose else _listed(results)
    blocks = [
        "\n".join(line for finding in findings for line in _lines(finding, view))
        for _, findings in groupby(listed, key=_file)
    ]
    if view.verbose:
        blocks.append("\n".join(_silent(results)))
    blocks.append("\n".join(_more(more)))
    blocks.append("\n".join(_ending(results)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _listed(results: Results) -> tuple[list[Finding], Counter[str]]:
    """Return the findings to list, and how many notes of which rules are only counted."""
    notes: Counter[str] = Counter()
    listed: list[Finding] = []
    for finding in results.findings:
        is_note = finding.severity is Severity.INFO
        notes[finding.rule] += is_note
        if not is_note or notes[finding.rule] <= MAX_NOTES:
            listed.append(finding)
    return listed, Counter({rule: n - MAX_NOTES for rule, n in notes.items() if n > MAX_NOTES})


def _more(more: Counter[str]) -> Iterator[str]:
    for rule, count in more.most_common():
        yield f"{count} more note{'' if count == 1 else 's'} of {rule}: --verbose lists them"


def _file(finding: Finding) -> str:
    return "" if finding.location is None else finding.location.file


def _lines(finding: Finding, view: View) -> Iterator[str]:
    word = finding.severity.value
    label = click.style(word, fg=_COLORS[finding.severity], bold=True) if view.color else word
    rule = click.style(f"[{finding.rule}]", dim=True) if view.color else f"[{finding.rule}]"
    fixable = "" if finding.fix is None else " [fixable]"
    yield f"{_place(finding)}: {label}: {printable(finding.message)} {rule}{fixable}"
    advice = finding.recommendation
    if advice is None:
        return
    text = _one_line(advice.summary)
    # What the rule always says is a page of explain; what was computed for this place is shown.
    if view.verbose or text != _general_advice(finding.rule):
        yield f"    → {printable(text)}"


def _place(finding: Finding) -> str:
    place = finding.location
    if place is None:
        return printable(finding.subject.name)
    return f"{printable(place.file)}:{place.line}:{place.column}"


def _general_advice(rule_id: str) -> str:
    rule = load_catalog().get(rule_id)
    return "" if rule is None else _one_line(rule.fix)


@lru_cache(maxsize=256)
def _one_line(text: str) -> str:
    return " ".join(text.split())


def _silent(results: Results) -> Iterator[str]:
    """Yield what was left out and what could not be judged, with the reasons."""
    for suppressed in results.suppressed:
        finding = suppressed.finding
        yield f"{_place(finding)}: left out: {suppressed.reason} [{finding.rule}]"
    for skipped in results.skipped:
        text = f"{skipped.subject.name}: not judged: {skipped.reason} [{skipped.rule}]"
        yield printable(text)


def _ending(results: Results) -> Iterator[str]:
    files = {_file(finding) for finding in results.findings} - {""}
    counts = [
        f"{count} {_NOUNS[severity]}{'' if count == 1 else 's'}"
        for severity in reversed(Severity)
        if (count := results.count(severity))
    ]
    total = ", ".join(counts) or "nothing found"
    where = f" in {len(files)} file{'' if len(files) == 1 else 's'}" if files else ""
    left_out = f", {len(results.suppressed)} left out" if results.suppressed else ""
    fixable = sum(finding.fix is not None for finding in results.findings)
    can_be_fixed = f", {fixable} fixable with --fix" if fixable else ""
    yield total + where + left_out + can_be_fixed
    if results.findings:
        yield "why, and how to fix it: quota-advisor explain RULE"
