"""Clusters for people at a terminal: their containers, worst first, then what was found."""

from __future__ import annotations

from collections.abc import Iterator

import tabulate

from quota_advisor.model.advice import Advice, Decision
from quota_advisor.model.cgroup import CounterWindow, Demand
from quota_advisor.model.cluster import AdvisedContainer, Cluster, RequestAdvice
from quota_advisor.model.finding import Finding
from quota_advisor.model.limit import Missing
from quota_advisor.model.report import Report
from quota_advisor.printable import printable
from quota_advisor.render.columns import ABSENT, MAX_LISTED, Table
from quota_advisor.render.table import common_causes, count, findings_and_summary
from quota_advisor.render.view import View
from quota_advisor.units import format_ratio

_TO_THE_LEFT = ("WORKLOAD", "CONTAINER", "ADVICE")
HEADINGS = (
    "WORKLOAD",
    "CONTAINER",
    "PODS",
    "REQUEST",
    "LIMIT",
    "NOW",
    "PEAK",
    "THROTTLED",
    "ADVICE",
)

MILLI = 1000


def render(report: Report, view: View) -> str:
    """Return the report as text."""
    common = common_causes(report.results)
    blocks: list[str] = []
    for cluster in report.clusters:
        blocks += [printable(headline(cluster)), _table(cluster, report, view), totals(cluster)]
    blocks += [printable(common), *findings_and_summary(report, view, common)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def headline(cluster: Cluster) -> str:
    """Return one line: which cluster, and what of it was looked at."""
    facts = cluster.facts
    version, nodes = facts.version, facts.nodes
    told = (
        f"Kubernetes {version[0]}.{version[1]}" if isinstance(version, tuple) else "version unknown"
    )
    number = "nodes not known" if isinstance(nodes, Missing) else count(len(nodes), "node")
    pods = count(sum(len(workload.pods) for workload in facts.workloads), "pod")
    return f"{facts.context}: {told}, {number}, {pods} of {count(len(facts.workloads), 'workload')}"


def totals(cluster: Cluster) -> str:
    """Return what is asked for, used and advised together; empty where nothing was measured."""
    asked = used = advised = 0.0
    for container in cluster.containers:
        demand = container.use if isinstance(container.use, Missing) else container.use.demand
        if isinstance(demand, Missing) or container.request_millicores is None:
            continue
        now, request = container.request_millicores, container.request
        asked += now * container.pods
        used += demand.p95_cores * MILLI * container.pods
        advised += container.pods * (now if isinstance(request, Missing) else request.millicores)
    if not asked:
        return ""
    change = (asked - advised) / MILLI
    what = f"frees {change:.1f}" if change >= 0 else f"needs {-change:.1f} more"
    return (
        f"measured containers ask for {asked / MILLI:.1f} cores and use {used / MILLI:.1f} at their"
        f" peaks; the advised requests: {what}"
    )


def _table(cluster: Cluster, report: Report, view: View) -> str:
    headings, rows, left_out = container_rows(cluster, report, everything=view.all)
    if not rows:
        return ""
    cells = [[printable(cell) for cell in row] for row in rows]
    aligns = ["left" if heading in _TO_THE_LEFT else "right" for heading in headings]
    text = tabulate.tabulate(
        [headings, *cells], tablefmt="plain", colalign=aligns, disable_numparse=True
    )
    more = f"… and {count(left_out, 'more container')}: --all lists them" if left_out else ""
    return "\n".join(filter(None, [text, more]))


def container_rows(
    cluster: Cluster, report: Report, *, everything: bool, most: int = MAX_LISTED
) -> Table:
    """Return the table, worst finding first.

    Args:
        cluster: Its containers are the rows.
        report: What was found.
        everything: List those that nothing was found about too, and more than the worst.
        most: How many of the others are listed.
    """
    ranks = _ranks(report)
    measured = any(not isinstance(c.use, Missing) for c in cluster.containers)
    ordered = sorted(cluster.containers, key=lambda c: (-_rank(c, ranks), c.owner, c.name))
    wanted = [c for c in ordered if everything or measured or _rank(c, ranks) >= 0]
    shown = wanted if everything else wanted[:most]
    rows = [list(_cells(container)) for container in shown]
    kept = [i for i in range(len(HEADINGS)) if i < _ALWAYS or any(r[i] != ABSENT for r in rows)]
    return Table(
        [HEADINGS[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
        left_out=len(wanted) - len(shown),
    )


_ALWAYS = 5


def _ranks(report: Report) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for finding in report.results.findings:
        for said in (finding, *finding.parts):
            name = _workload_name(said)
            ranks[name] = max(ranks.get(name, -1), said.severity.rank)
    return ranks


def _workload_name(finding: Finding) -> str:
    name = finding.subject.name
    return "/".join(name.split("/")[:2]) if finding.subject.kind == "container" else name


def _rank(container: AdvisedContainer, ranks: dict[str, int]) -> int:
    return ranks.get(container.owner.subject.name, -1)


def _cells(container: AdvisedContainer) -> Iterator[str]:
    yield f"{container.owner.namespace}/{container.owner.name}"
    yield container.name
    yield str(container.pods)
    yield amount_text(container.request_millicores)
    yield amount_text(container.limit_millicores)
    yield _now(container)
    yield _peak(container)
    yield _throttled(container)
    yield _advice(container)


def amount_text(millicores: int | None) -> str:
    """Return an amount as manifests have it; ``none`` where nothing is set."""
    if millicores is None:
        return "none"
    whole, rest = divmod(millicores, MILLI)
    return f"{millicores}m" if rest else str(whole)


def _now(container: AdvisedContainer) -> str:
    use = container.use
    if isinstance(use, Missing) or isinstance(use.now_cores, Missing):
        return ABSENT
    return f"{round(use.now_cores * MILLI)}m"


def _peak(container: AdvisedContainer) -> str:
    demand = container.use if isinstance(container.use, Missing) else container.use.demand
    if not isinstance(demand, Demand):
        return ABSENT
    return f"{round(demand.p95_cores * MILLI)}m"


def _throttled(container: AdvisedContainer) -> str:
    window = container.use if isinstance(container.use, Missing) else container.use.counters
    if not isinstance(window, CounterWindow) or isinstance(window.throttled_ratio, Missing):
        return ABSENT
    return format_ratio(window.throttled_ratio)


def _advice(container: AdvisedContainer) -> str:
    parts = [*_request(container.request), *_limit(container.limit)]
    return ", ".join(parts) or ABSENT


def _request(advice: RequestAdvice | Missing) -> Iterator[str]:
    if isinstance(advice, RequestAdvice) and advice.decision is not Decision.KEEP:
        yield f"request {amount_text(advice.millicores)}"


def _limit(advice: Advice | Missing) -> Iterator[str]:
    if isinstance(advice, Missing):
        return
    quota = advice.quota
    if quota is not None:
        at_least = "≥ " if quota.lower_bound else ""
        yield f"limit {at_least}{amount_text(round(quota.cores * MILLI))}"
    elif advice.decision is Decision.REMOVE:
        yield "limit has no effect"
