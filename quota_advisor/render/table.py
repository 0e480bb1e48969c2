"""The report for people at a terminal: worst first, every number explained."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import click
import tabulate

from quota_advisor.model.advice import Need
from quota_advisor.model.finding import Evidence, Finding, Recommendation, Severity, Subject
from quota_advisor.model.limit import Missing
from quota_advisor.model.report import Report, Results
from quota_advisor.model.source import Location
from quota_advisor.model.workload import Host
from quota_advisor.printable import printable
from quota_advisor.render.columns import MAX_LISTED, rows_worst_first, subject_heading, table_rows
from quota_advisor.render.parts import advised_once, supporting
from quota_advisor.render.parts import headline as cause_headline
from quota_advisor.render.view import View
from quota_advisor.units import format_ratio, format_usec

MIN_NAME_WIDTH = 12
NO_QUOTA = "No unit, container or cgroup here has a CPU quota."
_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render(report: Report, view: View) -> str:
    """Return the report as text."""
    common = common_causes(report.results)
    blocks = findings_and_summary(report, view, common)
    if report.host is not None:
        top = [printable(headline(report.host)), *_wrap(common, view, indent="", hang="  ")]
        blocks[:0] = ["\n".join(line for line in top if line), _table(report.host, report, view)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def findings_and_summary(report: Report, view: View, common: str) -> list[str]:
    """Return what stands below the table, in blocks.

    Args:
        report: The report.
        view: How it is shown.
        common: What is said of other causes for all findings at once.
    """
    blocks = _groups(report, view, common)
    if view.verbose:
        blocks.append("\n".join(map(printable, _silent(report.results))))
    return [*blocks, summary(report)]


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
    cpus = str(len(node.cpus_online) or "-")
    kernel = f"kernel {node.kernel_release}" if node.kernel_release else "kernel not known"
    return f"{facts.hostname}: {cpus} CPUs, {kernel}, {layout}; {window}"


def summary(report: Report) -> str:
    """Return one line that counts what was found, left out and not judged."""
    results = report.results
    parts = [_counts(results)]
    if results.suppressed:
        parts.append(f"{len(results.suppressed)} suppressed")
    if results.skipped:
        parts.append(f"{count(len(results.skipped), 'check')} could not judge (--verbose)")
    return ", ".join(parts)


def _counts(results: Results) -> str:
    nouns = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    return ", ".join(count(results.count(severity), noun) for severity, noun in nouns.items())


def count(number: int, noun: str) -> str:
    """Return a number of things in words: ``1 cgroup``, ``2 cgroups``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _table(host: Host, report: Report, view: View) -> str:
    headings, rows, left_out = table_rows(host, report, wide=view.wide, everything=view.all)
    if not rows:
        return NO_QUOTA
    rows = [[printable(cell) for cell in row] for row in rows]
    if view.width and not view.wide:
        _fit(rows, headings, view.width)
    aligns = ["left" if h in ("KIND", "WORKLOAD", "IN FORCE") else "right" for h in headings]
    # As a row like the others: tabulate makes columns two wider than the headings that it is told.
    text = tabulate.tabulate(
        [headings, *rows], tablefmt="plain", colalign=aligns, disable_numparse=True
    )
    return "\n".join([text, *more_workloads(left_out)])


def more_workloads(left_out: int) -> list[str]:
    """Return the line that counts workloads that the table leaves out, or none."""
    return [f"… and {count(left_out, 'more workload')}: --all lists them"] if left_out else []


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


def by_subject(report: Report) -> list[list[Finding]]:
    """Return the findings about each subject, the worst first and in the order of the table."""
    groups: dict[str, list[Finding]] = {}
    for finding in report.results.findings:
        groups.setdefault(subject_heading(finding.subject), []).append(finding)
    rows = rows_worst_first(report.host, report, everything=True) if report.host else []
    places = {subject_heading(w.subject): place for place, w in enumerate(rows)}

    def rank(group: tuple[str, list[Finding]]) -> tuple[int, int]:
        heading, findings = group
        return -findings[0].severity.rank, places.get(heading, len(places))

    return [findings for _, findings in sorted(groups.items(), key=rank)]


def more_findings(left_out: Sequence[Sequence[Finding]]) -> str:
    """Return the line that counts findings about subjects that are not listed."""
    if not left_out:
        return ""
    rest = Results(findings=[finding for findings in left_out for finding in findings])
    return f"… and {count(len(left_out), 'more subject')} ({_counts(rest)}): --all shows them"


def _groups(report: Report, view: View, common: str) -> list[str]:
    """Return one block a subject, and a line that counts those beyond the worst."""
    groups = by_subject(report)
    listed = len(groups) if view.all else MAX_LISTED
    names = Counter(findings[0].subject.name for findings in groups)
    said: dict[str, str] = {}
    blocks = []
    for findings in groups[:listed]:
        subject = findings[0].subject
        name = subject.name if names[subject.name] == 1 else subject_heading(subject)
        head = next(filter(None, map(cause_headline, findings)), "")
        heading = _wrap("  ".join(filter(None, (name, head))), view, indent="", hang="  ")
        if view.color:
            heading = [click.style(line, bold=True) for line in heading]
        blocks.append("\n".join([*heading, *_lines(findings, view, common, said)]))
    return [*blocks, more_findings(groups[listed:])]


def _lines(findings: list[Finding], view: View, common: str, said: dict[str, str]) -> Iterator[str]:
    """Yield what is said about one subject.

    Args:
        findings: About the subject.
        view: How it is shown.
        common: What is said of other causes for all subjects at once.
        said: What was advised so far, each text with the subject that it was advised for.
    """
    shown = [f for finding in findings for f in (finding, *(finding.parts if view.verbose else ()))]
    place: Location | None = None
    for finding in shown:
        yield from _finding(finding, findings[0].subject, view)
        if finding.location is not None and finding.location != place:
            place = finding.location
            yield printable(f"{' ' * 11}at {place.file}:{place.line}:{place.column}")
        if not view.verbose:
            for line in supporting(finding, below_headline=True):
                yield from _wrap(line, view, indent=" " * 11, hang=" " * 11)
    ruled_out = next((f.ruled_out for f in findings if f.ruled_out), ())
    if ruled_out and not common:
        yield from _wrap(causes_text(ruled_out), view, indent="  ", hang="    ")
    for advised in dict.fromkeys(f.recommendation for f in shown if f.recommendation):
        yield from _advice(advised, findings[0].subject.name, view, said)


def _advice(advised: Recommendation, name: str, view: View, said: dict[str, str]) -> Iterator[str]:
    text = advised_once(" ".join(advised.summary.split()), name, said)
    yield from _wrap(f"→ {text}", view, indent="  ", hang="    ")
    yield from _wrap(formula_of(advised), view, indent="    ", hang="    ")
    for step in advised.steps:
        # Never broken into lines: it is there to be copied.
        yield from (printable(f"    try:  {step.command}"), printable(f"    back: {step.undo}"))


def formula_of(advised: Recommendation) -> str:
    """Return the arithmetic behind a recommendation; empty where nothing was computed."""
    need = None if advised.advice is None else advised.advice.need
    return need.formula if isinstance(need, Need) else ""


def _finding(finding: Finding, heading: Subject, view: View) -> Iterator[str]:
    label = f"{finding.severity:<8}"
    about = "" if finding.subject == heading else f"{finding.subject.name}: "
    text = f"{about}{finding.message}  [{finding.rule}]"
    lines = _wrap(text, view, indent=" " * 11, hang=" " * 11)
    lines[0] = lines[0].lstrip()
    shown = click.style(label, fg=_COLORS[finding.severity]) if view.color else label
    yield f"  {shown} {lines[0]}"
    yield from lines[1:]


def common_causes(results: Results) -> str:
    """Return what is said of other causes where it is the same for all, else nothing."""
    texts = {causes_text(f.ruled_out) for f in results.findings if f.ruled_out}
    return texts.pop() if len(texts) == 1 else ""


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
    """Return the lines of a text, none of an empty one."""
    text = printable(text)
    if not view.width:
        return [indent + text] if text else []
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
