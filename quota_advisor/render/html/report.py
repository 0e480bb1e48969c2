"""A report about a host, files or clusters as a page: what is wrong first, then everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from quota_advisor.model.finding import Evidence, Finding, Recommendation, Severity, Subject
from quota_advisor.model.report import Report
from quota_advisor.model.workload import Workload
from quota_advisor.render.cluster_table import container_rows, totals
from quota_advisor.render.cluster_table import headline as cluster_headline
from quota_advisor.render.columns import rows_worst_first, subject_heading, table_rows
from quota_advisor.render.html.charts import use_of
from quota_advisor.render.html.page import Fact, Page, Panel, Row, Said, Table, ToDo
from quota_advisor.render.html.page import render as render_page
from quota_advisor.render.parts import headline as cause_headline
from quota_advisor.render.parts import supporting
from quota_advisor.render.table import by_subject, causes_text, common_causes, formula_of
from quota_advisor.render.table import headline as host_headline
from quota_advisor.render.view import View
from quota_advisor.units import format_cores, format_number, format_ratio, format_usec

NAMES = frozenset({"WORKLOAD", "CONTAINER", "KIND", "IN FORCE", "PLACE", "RULE", "FINDING"})
"""Columns that hold names."""

_WORDS = {"lint": "CPU quotas in files", "k8s": "CPU of pods", "audit host": "CPU quotas of a host"}


def render(report: Report, view: View) -> Iterator[str]:
    """Yield the report as HTML."""
    yield from render_page(_page(report, view))


def _page(report: Report, view: View) -> Page:
    groups = by_subject(report)
    anchors = {_key(group[0].subject): f"s{number}" for number, group in enumerate(groups)}
    common = common_causes(report.results)
    workloads = {} if report.host is None else {w.subject: w for w in report.host.workloads}
    panels = [
        _panel(group, anchors[_key(group[0].subject)], workloads, report, common)
        for group in groups
    ]
    if report.host is None and not report.clusters:
        tables: tuple[Table, ...] = tuple(_places(report, anchors))
    else:
        tables = (*_hosts(report, view, anchors), *_clusters(report, view, anchors))
    return Page(
        title=_title(report),
        lead=(*_lead(report), *((common,) if common else ())),
        counts={s.value: report.results.count(s) for s in Severity},
        tables=tables,
        panels=tuple(panels),
        texts=tuple(_texts(report)),
    )


def _key(subject: Subject) -> str:
    return subject_heading(subject)


def _title(report: Report) -> str:
    if report.host is not None:
        return f"CPU quotas of {report.host.facts.hostname}"
    return _WORDS.get(report.command, report.command)


def _lead(report: Report) -> Iterator[str]:
    if report.host is not None:
        yield host_headline(report.host)
        yield f"Taken {report.host.facts.observation.taken_at}"
    for cluster in report.clusters:
        yield cluster_headline(cluster)
        if total := totals(cluster):
            yield total


def _hosts(report: Report, view: View, anchors: Mapping[str, str]) -> Iterator[Table]:
    host = report.host
    if host is None:
        return
    workloads = rows_worst_first(host, report, everything=view.all)
    found = table_rows(host, report, wide=True, everything=view.all, most=len(workloads))
    # The name leads its row, whatever else is shown.
    order = sorted(range(len(found.headings)), key=lambda i: found.headings[i] != "WORKLOAD")
    severities = _severities(report.results.findings)
    rows = tuple(
        Row(
            cells=tuple(row[i] for i in order),
            severity=severities.get(_key(workload.subject), ""),
            kind=workload.kind,
            anchor=anchors.get(_key(workload.subject), ""),
        )
        for workload, row in zip(workloads, found.rows, strict=True)
    )
    yield Table(
        title="Units, containers and cgroups, worst first",
        headings=tuple(found.headings[i] for i in order),
        rows=rows,
        names=NAMES,
    )


def _clusters(report: Report, view: View, anchors: Mapping[str, str]) -> Iterator[Table]:
    severities = _by_container(_severities(report.results.findings))
    anchors = _by_container(anchors)
    for cluster in report.clusters:
        number = len(cluster.containers)
        found = container_rows(cluster, report, everything=view.all, most=number)
        rows = [
            Row(
                cells=tuple(row),
                severity=next((severities[k] for k in _names(row) if k in severities), ""),
                kind="container",
                anchor=next((anchors[k] for k in _names(row) if k in anchors), ""),
            )
            for row in found.rows
        ]
        title = f"Containers of {cluster.facts.context}, worst first"
        yield Table(title=title, headings=tuple(found.headings), rows=tuple(rows), names=NAMES)


def _by_container(found: Mapping[str, str]) -> dict[str, str]:
    """Leave out of the names which of the replicas is the worst: a row stands for all."""
    return {key.partition(" (worst of ")[0]: value for key, value in found.items()}


def _names(row: Sequence[str]) -> Iterator[str]:
    """Yield the names that findings about a container, or its workload, may have."""
    yield f"{row[0]}/{row[1]}"
    yield row[0]


def _severities(findings: Iterable[Finding]) -> dict[str, str]:
    """Return the worst severity of what is said about each subject."""
    worst: dict[str, Severity] = {}
    for finding in findings:
        key = _key(finding.subject)
        worst[key] = max(worst.get(key, finding.severity), finding.severity, key=lambda s: s.rank)
    return {key: severity.value for key, severity in worst.items()}


def _places(report: Report, anchors: Mapping[str, str]) -> Iterator[Table]:
    """Yield the findings about files, one a row."""
    rows = [
        Row(
            cells=(_place(finding) or finding.subject.name, finding.rule, finding.message),
            severity=finding.severity.value,
            kind=finding.rule,
            anchor=anchors[_key(finding.subject)],
        )
        for finding in sorted(report.results.findings, key=lambda f: -f.severity.rank)
    ]
    if rows:
        headings = ("PLACE", "RULE", "FINDING")
        yield Table(title="Findings, worst first", headings=headings, rows=tuple(rows), names=NAMES)


def _panel(
    findings: Sequence[Finding],
    anchor: str,
    workloads: Mapping[Subject, Workload],
    report: Report,
    common: str,
) -> Panel:
    subject = findings[0].subject
    workload = workloads.get(subject)
    ruled_out = next((f.ruled_out for f in findings if f.ruled_out), ())
    shown = [f for finding in findings for f in (finding, *finding.parts)]
    advised = dict.fromkeys(f.recommendation for f in shown if f.recommendation)
    return Panel(
        anchor=anchor,
        title=subject.name,
        path="" if subject.cgroup in (None, subject.name) else subject.cgroup or "",
        severity=findings[0].severity.value,
        kind=subject.kind,
        headline=next(filter(None, map(cause_headline, findings)), ""),
        chart=None if workload is None else use_of(workload, report.advice.get(subject)),
        said=tuple(map(_said, findings)),
        advised=tuple(map(_to_do, advised)),
        ruled_out="" if common or not ruled_out else causes_text(ruled_out),
    )


def _said(finding: Finding) -> Said:
    parts = (finding, *finding.parts)
    evidence = dict.fromkeys(e for part in parts for e in part.evidence)
    return Said(
        severity=finding.severity.value,
        message=finding.message,
        rule=finding.rule,
        place=_place(finding),
        also=tuple(supporting(finding)),
        facts=tuple(map(_fact, evidence)),
    )


def _place(finding: Finding) -> str:
    place = finding.location
    return "" if place is None else f"{place.file}:{place.line}:{place.column}"


def _to_do(advised: Recommendation) -> ToDo:
    return ToDo(
        summary=" ".join(advised.summary.split()),
        formula=formula_of(advised),
        steps=tuple((step.command, step.undo) for step in advised.steps),
    )


def _fact(evidence: Evidence) -> Fact:
    return Fact(
        label=evidence.label,
        value=_amount(evidence.value, evidence.unit),
        threshold="" if evidence.threshold is None else _amount(evidence.threshold, evidence.unit),
        source="" if evidence.source is None else evidence.source.locator,
    )


def _amount(value: float | str, unit: str) -> str:
    if isinstance(value, str):
        return value
    known = {"ratio": format_ratio, "cores": format_cores, "usec": format_usec}
    return known[unit](value) if unit in known else f"{format_number(value)} {unit}".strip()


def _texts(report: Report) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what was not looked at, left out or not judged."""
    results = report.results
    sections: dict[str, tuple[str, ...]] = {
        "Could not be read": tuple(
            f"{p.subject}: {p.reason}" + (f": {p.hint}" if p.hint else "") for p in report.problems
        ),
        "Notes": report.notes,
        "Left out on request": tuple(
            f"{s.finding.rule} on {s.finding.subject.name}: {s.reason}" for s in results.suppressed
        ),
        "Not judged": tuple(f"{s.rule} on {s.subject.name}: {s.reason}" for s in results.skipped),
        "Rules that failed": tuple(
            f"{e.rule} on {e.subject.name}: {e.error}" for e in results.errors
        ),
    }
    yield from ((title, lines) for title, lines in sections.items() if lines)
