"""The report for people at a terminal: worst first, every number explained."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

import click
import tabulate

from quota_advisor.model.advice import Need
from quota_advisor.model.finding import Evidence, Finding, Recommendation, Severity
from quota_advisor.model.limit import Missing
from quota_advisor.model.report import Report, Results
from quota_advisor.model.workload import Host
from quota_advisor.render.columns import rows_worst_first, subject_heading, table_rows
from quota_advisor.render.view import View
from quota_advisor.units import format_ratio, format_usec

MIN_NAME_WIDTH = 12
NO_QUOTA = "No unit, container or cgroup here has a CPU quota."
_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render(report: Report, view: View) -> str:
    """Return the report as text."""
    blocks = [*_groups(report, view)]
    if report.host is not None:
        blocks[:0] = [headline(report.host), _table(report.host, report, view)]
    if view.verbose:
        blocks.append("\n".join(_silent(report.results)))
    blocks.append(summary(report))
    return "\n\n".join(block for block in blocks if block) + "\n"


def headline(host: Host) -> str:
    """Return one line: which machine, and how it was observed."""
    facts = host.facts
    node, seen = facts.node, facts.observation
    layout = "no cgroups" if isinstance(node.layout, Missing) else f"cgroup {node.layout}"
    if seen.window_usec == 0:
        window = "totals since each group was created"
    else:
        window = (
            f"{format_usec(seen.window_usec)} window,"
            f" {seen.samples} samples {format_usec(seen.interval_usec)} apart"
        )
    cpus = len(node.cpus_online)
    kernel = f"kernel {node.kernel_release}" if node.kernel_release else "kernel not known"
    return f"{facts.hostname}: {cpus} CPUs, {kernel}, {layout}; {window}"


def summary(report: Report) -> str:
    """Return one line that counts what was found, left out and not judged."""
    results = report.results
    parts = [
        _count(results.count(Severity.ERROR), "error"),
        _count(results.count(Severity.WARNING), "warning"),
        _count(results.count(Severity.INFO), "note"),
    ]
    if results.suppressed:
        parts.append(f"{len(results.suppressed)} suppressed")
    if results.skipped:
        parts.append(f"{_count(len(results.skipped), 'check')} could not judge (--verbose)")
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _table(host: Host, report: Report, view: View) -> str:
    headings, rows = table_rows(host, report, wide=view.wide, everything=view.all)
    if not rows:
        return NO_QUOTA
    if view.width and not view.wide:
        _fit(rows, headings, view.width)
    aligns = ["left" if h in ("KIND", "WORKLOAD", "IN FORCE") else "right" for h in headings]
    # As a row like the others: tabulate makes columns two wider than the headings that it is told.
    return tabulate.tabulate(
        [headings, *rows], tablefmt="plain", colalign=aligns, disable_numparse=True
    )


def _fit(rows: list[list[str]], headings: list[str], width: int) -> None:
    """Shorten names in the middle until the table fits; their ends tell units apart."""
    others = sum(max(len(row[i]) for row in [headings, *rows]) + 2 for i in range(1, len(headings)))
    room = max(width - others, MIN_NAME_WIDTH)
    for row in rows:
        row[0] = _shorten(row[0], room)


def _shorten(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    tail = (room - 1) * 2 // 3
    return text[: room - 1 - tail] + "…" + text[-tail:]


def _groups(report: Report, view: View) -> Iterator[str]:
    """Yield one block a subject, the worst first and in the order of the table."""
    groups: dict[str, list[Finding]] = {}
    for finding in report.results.findings:
        groups.setdefault(subject_heading(finding.subject), []).append(finding)
    rows = rows_worst_first(report.host, report, everything=True) if report.host else []
    places = {subject_heading(w.subject): place for place, w in enumerate(rows)}

    def rank(group: tuple[str, list[Finding]]) -> tuple[int, int]:
        heading, findings = group
        return -findings[0].severity.rank, places.get(heading, len(places))

    for heading, findings in sorted(groups.items(), key=rank):
        yield "\n".join(
            [click.style(heading, bold=True) if view.color else heading, *_lines(findings, view)]
        )


def _lines(findings: list[Finding], view: View) -> Iterator[str]:
    for finding in findings:
        yield from _finding(finding, view)
    ruled_out = next((f.ruled_out for f in findings if f.ruled_out), ())
    if ruled_out:
        yield from _wrap(causes_text(ruled_out), view, indent="  ", hang="    ")
    for advised in dict.fromkeys(f.recommendation for f in findings if f.recommendation):
        text = f"→ {' '.join(advised.summary.split())}"
        yield from _wrap(text, view, indent="  ", hang="    ")
        formula = formula_of(advised)
        if formula:
            yield from _wrap(formula, view, indent="    ", hang="    ")


def formula_of(advised: Recommendation) -> str:
    """Return the arithmetic behind a recommendation; empty where nothing was computed."""
    need = None if advised.advice is None else advised.advice.need
    return need.formula if isinstance(need, Need) else ""


def _finding(finding: Finding, view: View) -> Iterator[str]:
    label = f"{finding.severity:<8}"
    text = f"{finding.message}  [{finding.rule}]"
    lines = _wrap(text, view, indent=" " * 11, hang=" " * 11)
    lines[0] = lines[0].lstrip()
    shown = click.style(label, fg=_COLORS[finding.severity]) if view.color else label
    yield f"  {shown} {lines[0]}"
    yield from lines[1:]
    if finding.location is not None:
        place = finding.location
        yield f"{' ' * 11}at {place.file}:{place.line}:{place.column}"


def causes_text(causes: Iterable[Evidence]) -> str:
    """Return which other causes were ruled out, which were not, and which were not measured."""
    out: dict[str, list[str]] = {"ruled out": [], "NOT ruled out": [], "not measured": []}
    for cause in causes:
        if isinstance(cause.value, str):
            out["not measured"].append(cause.label)
        else:
            high = cause.threshold is not None and cause.value >= cause.threshold
            kind = "NOT ruled out" if high else "ruled out"
            out[kind].append(f"{cause.label} {format_ratio(cause.value)}")
    return "; ".join(f"{kind}: {', '.join(labels)}" for kind, labels in out.items() if labels)


def _silent(results: Results) -> Iterator[str]:
    """Yield what was suppressed and what could not be judged, with the reasons."""
    for suppressed in results.suppressed:
        finding = suppressed.finding
        yield f"suppressed {finding.rule} on {finding.subject.name}: {suppressed.reason}"
    for skipped in results.skipped:
        yield f"not judged {skipped.rule} on {skipped.subject.name}: {skipped.reason}"


def _wrap(text: str, view: View, *, indent: str, hang: str) -> list[str]:
    if not view.width:
        return [indent + text]
    # A percent sign stays with its number: a space that does not break holds them together.
    lines = textwrap.wrap(
        text.replace(" %", "\u00a0%"),
        width=max(view.width, 60),
        initial_indent=indent,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0%", " %") for line in lines]
