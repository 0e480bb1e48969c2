"""A report as CSV: whatever was looked at makes the rows.

Clusters make a row a container, a host a row a workload, files a row a finding. What is not known
is an empty cell, never zero.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from quota_advisor.model.advice import Advice
from quota_advisor.model.cgroup import CgroupFacts, CounterWindow, Demand
from quota_advisor.model.cluster import AdvisedContainer, Cluster, Use
from quota_advisor.model.finding import Finding
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.report import Report
from quota_advisor.model.workload import Workload
from quota_advisor.printable import printable
from quota_advisor.render.view import View

Row = dict[str, object]

MILLI = 1000

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet take a text for a formula."""


def render(report: Report, _: View) -> str:
    """Return the report as CSV with a line of headings."""
    rows = list(_rows(report))
    text = io.StringIO()
    writer = csv.DictWriter(text, _headings(report, rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _rows(report: Report) -> Iterator[Row]:
    if report.clusters:
        rules = _rules_by_name(report)
        for cluster in report.clusters:
            yield from (_container(cluster, container, rules) for container in cluster.containers)
    elif report.host is not None:
        rules = _rules_by_name(report)
        for workload in report.host.workloads:
            row = _workload(workload, report)
            yield row | {"rules": " ".join(rules.get(workload.subject.name, ()))}
    else:
        yield from map(_finding, report.results.findings)


def _rules_by_name(report: Report) -> dict[str, list[str]]:
    """Return the rules that found something, by the name of its subject, each once."""
    found: dict[str, dict[str, None]] = {}
    for finding in report.results.findings:
        for said in (finding, *finding.parts):
            # A replica that speaks for all of them is named behind the name of the container.
            name = said.subject.name.partition(" (")[0]
            found.setdefault(name, {})[said.rule] = None
    return {name: list(rules) for name, rules in found.items()}


def _headings(report: Report, rows: list[Row]) -> list[str]:
    if rows:
        return list(rows[0])
    # Nothing to show is a table without rows, not an empty file.
    return list(CONTAINER_COLUMNS if report.command == "k8s" else FINDING_COLUMNS)


def _cell(value: object) -> object:
    """Return a value as it is written: names come from strangers, and a sheet runs formulas."""
    if value is None or isinstance(value, Missing):
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


CONTAINER_COLUMNS = (
    "cluster", "namespace", "kind", "workload", "container", "pods", "worst_pod",
    "request_millicores", "limit_millicores", "mean_cores", "p95_cores", "max_cores",
    "throttled_ratio", "throttled_usec", "source", "windows", "interval_usec",
    "request_decision", "request_advised_millicores", "limit_decision", "limit_advised_millicores",
    "limit_is_lower_bound", "formula", "rules",
)  # fmt: skip
FINDING_COLUMNS = ("severity", "rule", "subject", "message", "file", "line", "column")


def _container(
    cluster: Cluster, container: AdvisedContainer, rules: Mapping[str, list[str]]
) -> Row:
    owner = container.owner.subject.name
    request, limit = container.request, container.limit
    quota = None if isinstance(limit, Missing) else limit.quota
    formulas = [] if isinstance(request, Missing) else [request.formula]
    formulas += [quota.formula] if quota else []
    row: Row = {
        "cluster": cluster.facts.context,
        "namespace": container.owner.namespace,
        "kind": container.owner.kind,
        "workload": container.owner.name,
        "container": container.name,
        "pods": container.pods,
        "worst_pod": container.worst_pod,
        "request_millicores": container.request_millicores,
        "limit_millicores": container.limit_millicores,
        **_used(container.use),
        "request_decision": None if isinstance(request, Missing) else request.decision.value,
        "request_advised_millicores": None if isinstance(request, Missing) else request.millicores,
        "limit_decision": None if isinstance(limit, Missing) else limit.decision.value,
        "limit_advised_millicores": round(quota.cores * MILLI) if quota else None,
        "limit_is_lower_bound": quota.lower_bound if quota else None,
        "formula": "; ".join(formulas),
        "rules": " ".join([*rules.get(f"{owner}/{container.name}", ()), *rules.get(owner, ())]),
    }
    return {name: row[name] for name in CONTAINER_COLUMNS}


def _used(use: Use | Missing) -> Row:
    if isinstance(use, Missing):
        return {**_demand(use), **_counters(use), "source": None}
    return {**_demand(use.demand), **_counters(use.counters), "source": use.source}


def _demand(demand: Demand | Missing) -> Row:
    names = ("mean_cores", "p95_cores", "max_cores", "windows", "interval_usec")
    return {name: None if isinstance(demand, Missing) else getattr(demand, name) for name in names}


def _counters(window: CounterWindow | Missing) -> Row:
    names = ("throttled_ratio", "throttled_usec")
    return {name: None if isinstance(window, Missing) else getattr(window, name) for name in names}


def _workload(workload: Workload, report: Report) -> Row:
    advice = report.advice.get(workload.subject)
    quota = advice.quota if isinstance(advice, Advice) else None
    group = workload.cgroup if isinstance(workload.cgroup, CgroupFacts) else None
    missing = Missing(reason="it has no cgroup")
    return {
        "kind": workload.kind,
        "workload": workload.name,
        "cgroup": workload.subject.cgroup,
        **_limits(workload),
        **_counters(group.window if group else missing),
        **_demand(group.demand if group else missing),
        "decision": advice.decision.value if isinstance(advice, Advice) else None,
        "advised_percent": quota.percent if quota else None,
        "is_lower_bound": quota.lower_bound if quota else None,
        "formula": quota.formula if quota else None,
    }


def _limits(workload: Workload) -> Mapping[str, object]:
    limit, configured = workload.limit, workload.configured
    known = limit if isinstance(limit, Bandwidth) else None
    return {
        "limit_percent": known.percent if known else None,
        "period_usec": known.period_usec if known else None,
        "configured_percent": configured.percent if isinstance(configured, Bandwidth) else None,
    }


def _finding(finding: Finding) -> Row:
    place = finding.location
    row = (
        finding.severity.value,
        finding.rule,
        finding.subject.name,
        finding.message,
        place.file if place else None,
        place.line if place else None,
        place.column if place else None,
    )
    return dict(zip(FINDING_COLUMNS, row, strict=True))
