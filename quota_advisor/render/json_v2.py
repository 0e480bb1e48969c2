"""The report for programs: JSON, version 2, as :mod:`~quota_advisor.render.report_v2` has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import quota_advisor
from quota_advisor.model.advice import Advice as AdviceModel
from quota_advisor.model.advice import Need as NeedModel
from quota_advisor.model.advice import Step as StepModel
from quota_advisor.model.cgroup import CgroupFacts, CounterWindow
from quota_advisor.model.cgroup import Demand as DemandFacts
from quota_advisor.model.cgroup import SimulatedNeed as SimulatedFacts
from quota_advisor.model.finding import Evidence as EvidenceModel
from quota_advisor.model.finding import Finding as FindingModel
from quota_advisor.model.finding import Fix as FixModel
from quota_advisor.model.finding import InternalError, Severity, SuppressedFinding
from quota_advisor.model.finding import Recommendation as RecommendationModel
from quota_advisor.model.finding import Skipped as SkippedModel
from quota_advisor.model.finding import Subject as SubjectModel
from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Bandwidth, CpuLimit
from quota_advisor.model.limit import Missing as MissingFact
from quota_advisor.model.problem import Problem as ProblemModel
from quota_advisor.model.report import Report
from quota_advisor.model.source import Location as Place
from quota_advisor.model.source import Span
from quota_advisor.model.workload import Host
from quota_advisor.model.workload import Workload as WorkloadModel
from quota_advisor.render.encode import Members, encoded
from quota_advisor.render.view import View

if TYPE_CHECKING:
    from quota_advisor.model.cluster import AdvisedContainer
    from quota_advisor.model.cluster import Cluster as ClusterModel

    # Plain dictionaries are written: that they have this shape is for the type checker to see.
    from quota_advisor.render.report_v2 import (
        Advice,
        Cluster,
        Container,
        Counters,
        Demand,
        Edit,
        Evidence,
        Finding,
        FindingName,
        Fix,
        Limit,
        Location,
        Machine,
        Missing,
        Need,
        Observation,
        Problem,
        Recommendation,
        RuleError,
        SimulatedNeed,
        Skipped,
        Step,
        Subject,
        Summary,
        Suppressed,
        Tool,
        Workload,
    )

FORMAT = "quota-advisor/report/v2"

T = TypeVar("T")


def render(report: Report, _view: View) -> Iterator[str]:
    """Yield the report as JSON."""
    host, results = report.host, report.results
    document = Members(
        format=FORMAT,
        tool=_tool(),
        command=report.command,
        machine=None if host is None else _machine(host.facts),
        observation=None if host is None else _observation(host.facts),
        summary=_summary(report),
        findings=_with_parts(results.findings),
        workloads=iter(()) if host is None else _workloads(host, report),
        clusters=map(_cluster, report.clusters),
        suppressed=map(_suppressed, results.suppressed),
        skipped=map(_skipped, results.skipped),
        rule_errors=map(_rule_error, results.errors),
        problems=map(_problem, report.problems),
        notes=report.notes,
    )
    yield from encoded(document)
    yield "\n"


def _tool() -> Tool:
    return {"name": "quota-advisor", "version": quota_advisor.__version__}


def _summary(report: Report) -> Summary:
    results = report.results
    return {
        "error": results.count(Severity.ERROR),
        "warning": results.count(Severity.WARNING),
        "info": results.count(Severity.INFO),
        "suppressed": len(results.suppressed),
        "skipped": len(results.skipped),
    }


def _workloads(host: Host, report: Report) -> Iterator[Workload]:
    for workload in host.workloads:
        yield _workload(workload, report.advice[workload.subject])


def _cluster(cluster: ClusterModel) -> Cluster:
    facts = cluster.facts
    version, nodes = facts.version, facts.nodes
    return {
        "context": facts.context,
        "kubernetes_version": _missing(version)
        if isinstance(version, MissingFact)
        else f"{version[0]}.{version[1]}",
        "taken_at": facts.taken_at,
        "nodes": _missing(nodes) if isinstance(nodes, MissingFact) else len(nodes),
        "pods": sum(len(workload.pods) for workload in facts.workloads),
        "containers": tuple(map(_container, cluster.containers)),
    }


def _container(container: AdvisedContainer) -> Container:
    owner, use, request = container.owner, container.use, container.request
    is_measured = not isinstance(use, MissingFact)
    limit = container.limit
    return {
        "owner": {"namespace": owner.namespace, "kind": owner.kind, "name": owner.name},
        "name": container.name,
        "pods": container.pods,
        "request_millicores": container.request_millicores,
        "limit_millicores": container.limit_millicores,
        "worst_pod": container.worst_pod if is_measured else None,
        "source": use.source if not isinstance(use, MissingFact) else _missing(use),
        "now_cores": _or_missing(use if isinstance(use, MissingFact) else use.now_cores),
        "counters": _counters(use if isinstance(use, MissingFact) else use.counters),
        "demand": _demand(use if isinstance(use, MissingFact) else use.demand),
        "request_advice": _missing(request)
        if isinstance(request, MissingFact)
        else {
            "decision": request.decision.value,
            "millicores": request.millicores,
            "formula": request.formula,
        },
        "limit_advice": _missing(limit) if isinstance(limit, MissingFact) else _advice(limit),
    }


def _suppressed(suppressed: SuppressedFinding) -> Suppressed:
    return {"reason": suppressed.reason, "finding": _finding(suppressed.finding)}


def _skipped(skipped: SkippedModel) -> Skipped:
    return {
        "rule": skipped.rule,
        "subject": _subject(skipped.subject),
        "reason": skipped.reason,
    }


def _rule_error(error: InternalError) -> RuleError:
    return {"rule": error.rule, "subject": _subject(error.subject), "error": error.error}


def _problem(problem: ProblemModel) -> Problem:
    return {"subject": problem.subject, "reason": problem.reason, "hint": problem.hint}


def _machine(facts: HostFacts) -> Machine:
    return {
        "hostname": facts.hostname,
        "kernel_release": facts.node.kernel_release,
        "cpus": len(facts.node.cpus_online),
        "cgroup_layout": _or_missing(facts.node.layout),
        "systemd_version": _or_missing(facts.node.systemd_version),
    }


def _observation(facts: HostFacts) -> Observation:
    return {
        "taken_at": facts.observation.taken_at,
        "window_usec": facts.observation.window_usec,
        "interval_usec": facts.observation.interval_usec,
        "samples": facts.observation.samples,
    }


def _with_parts(findings: Iterable[FindingModel]) -> Iterator[Finding]:
    """Yield each finding, and after it what else is said of its cause."""
    for finding in findings:
        yield _finding(finding)
        name: FindingName = {"rule": finding.rule, "subject": _subject(finding.subject)}
        yield from (_finding(part, name) for part in finding.parts)


def _finding(finding: FindingModel, part_of: FindingName | None = None) -> Finding:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "message": finding.message,
        "subject": _subject(finding.subject),
        "location": None if finding.location is None else _location(finding.location),
        "related": tuple(
            {"location": _location(other.location), "message": other.message}
            for other in finding.related
        ),
        "evidence": tuple(map(_evidence, finding.evidence)),
        "ruled_out": tuple(map(_evidence, finding.ruled_out)),
        "recommendation": None
        if finding.recommendation is None
        else _recommendation(finding.recommendation),
        "fix": None if finding.fix is None else _fix(finding.fix),
        "part_of": part_of,
    }


def _location(place: Place) -> Location:
    end = (place.end_line, place.end_column) if isinstance(place, Span) else (None, None)
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "end_line": end[0],
        "end_column": end[1],
    }


def _fix(fix: FixModel) -> Fix:
    edits: list[Edit] = [
        {
            "file": edit.span.file,
            "line": edit.span.line,
            "column": edit.span.column,
            "end_line": edit.span.end_line,
            "end_column": edit.span.end_column,
            "text": edit.text,
        }
        for edit in fix.edits
    ]
    return {"description": fix.description, "safe": fix.safe, "edits": tuple(edits)}


def _subject(subject: SubjectModel) -> Subject:
    return {"kind": subject.kind, "name": subject.name, "cgroup": subject.cgroup}


def _evidence(evidence: EvidenceModel) -> Evidence:
    source, value = evidence.source, evidence.value
    return {
        "label": evidence.label,
        "value": value if isinstance(value, str) else float(value),
        "unit": evidence.unit,
        "threshold": evidence.threshold,
        "source": None
        if source is None
        else {"kind": source.kind.value, "locator": source.locator, "raw": source.raw},
    }


def _recommendation(recommendation: RecommendationModel) -> Recommendation:
    advice = recommendation.advice
    return {
        "summary": " ".join(recommendation.summary.split()),
        "advice": None if advice is None else _advice(advice),
        "steps": _steps(recommendation.steps),
    }


def _steps(steps: tuple[StepModel, ...]) -> tuple[Step, ...]:
    return tuple({"command": step.command, "undo": step.undo} for step in steps)


def _advice(advice: AdviceModel) -> Advice:
    quota, need = advice.quota, advice.need
    return {
        "decision": advice.decision.value,
        "quota": None
        if quota is None
        else {"cpu_quota_percent": quota.percent, "cores": quota.cores},
        "need": _missing(need) if isinstance(need, MissingFact) else _need(need),
        "summary": advice.summary,
        "reasons": advice.reasons,
        "steps": _steps(advice.steps),
    }


def _need(need: NeedModel) -> Need:
    return {
        "percent": need.percent,
        "cores": need.cores,
        "share_of_node_ratio": need.share_of_node_ratio,
        "lower_bound": need.lower_bound,
        "formula": need.formula,
        "windows": need.windows,
        "interval_usec": need.interval_usec,
    }


def _workload(workload: WorkloadModel, advice: AdviceModel | MissingFact) -> Workload:
    group = workload.cgroup
    tightest = workload.tightest
    in_force, owner = tightest if isinstance(tightest, tuple) else (tightest, None)
    return {
        "kind": workload.kind,
        "name": workload.name,
        "cgroup": workload.subject.cgroup,
        "configured": _limit(workload.configured),
        "limit": _limit(workload.limit),
        "in_force": _limit(in_force),
        "in_force_from": None if owner is None else owner.path,
        "counters": _counters(workload.counters),
        "totals": _missing(group) if isinstance(group, MissingFact) else _totals(group),
        "demand": _demand(group.demand) if isinstance(group, CgroupFacts) else _missing(group),
        "advice": _missing(advice) if isinstance(advice, MissingFact) else _advice(advice),
    }


def _limit(limit: CpuLimit) -> Limit:
    if isinstance(limit, MissingFact):
        return _missing(limit)
    if isinstance(limit, Bandwidth):
        return {
            "kind": "bandwidth",
            "quota_usec": limit.quota_usec,
            "period_usec": limit.period_usec,
            "cores": limit.cores,
            "percent": limit.percent,
        }
    return {"kind": "unlimited"}


def _counters(window: CounterWindow | MissingFact) -> Counters | Missing:
    if isinstance(window, MissingFact):
        return _missing(window)
    return {
        "basis": window.basis.value,
        "elapsed_usec": _or_missing(window.elapsed_usec),
        "periods": _or_missing(window.periods),
        "throttled_periods": _or_missing(window.throttled_periods),
        "throttled_usec": _or_missing(window.throttled_usec),
        "local_throttled_usec": _or_missing(window.local_throttled_usec),
        "pressure_full_usec": _or_missing(window.pressure_full_usec),
        "usage_usec": _or_missing(window.usage_usec),
    }


def _totals(group: CgroupFacts) -> Counters:
    totals = group.totals
    return {
        "basis": "lifetime",
        "elapsed_usec": {"kind": "missing", "reason": "the age of the cgroup is not known"},
        "periods": _or_missing(totals.nr_periods),
        "throttled_periods": _or_missing(totals.nr_throttled),
        "throttled_usec": _or_missing(totals.throttled_usec),
        "local_throttled_usec": _or_missing(totals.local_throttled_usec),
        "pressure_full_usec": _or_missing(totals.pressure_full_usec),
        "usage_usec": _or_missing(totals.usage_usec),
    }


def _demand(demand: DemandFacts | MissingFact) -> Demand | Missing:
    if isinstance(demand, MissingFact):
        return _missing(demand)
    return {
        "interval_usec": demand.interval_usec,
        "windows": demand.windows,
        "active_windows": _or_missing(demand.active_windows),
        "censored_windows": demand.censored_windows,
        "mean_cores": demand.mean_cores,
        "p95_cores": demand.p95_cores,
        "max_cores": demand.max_cores,
        "burst_cores": _or_missing(demand.burst_cores),
        "simulated": _simulated(demand.simulated),
    }


def _simulated(need: SimulatedFacts | MissingFact) -> SimulatedNeed | Missing:
    if isinstance(need, MissingFact):
        return _missing(need)
    return {
        "target": need.target,
        "cores": _or_missing(need.cores),
        "limit": _limit(need.limit),
        "throttled_ratio": _or_missing(need.throttled_ratio),
        "burst_usec": _or_missing(need.burst_usec),
        "burst_throttled_ratio": _or_missing(need.burst_throttled_ratio),
    }


def _or_missing(value: T | MissingFact) -> T | Missing:
    return _missing(value) if isinstance(value, MissingFact) else value


def _missing(value: MissingFact) -> Missing:
    return {"kind": "missing", "reason": value.reason}
