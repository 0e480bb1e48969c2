"""The report for programs: JSON, version 2.

The models here are the contract. They are filled from the internal model and not dumped from
it, so that the one can change without the other. What is not known is an object with
``"kind": "missing"`` and the reason, never zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Literal, TypeVar

import pydantic
from pydantic_core import PydanticSerializationError

import quota_advisor
from quota_advisor.model.advice import Advice as AdviceModel
from quota_advisor.model.advice import Need as NeedModel
from quota_advisor.model.advice import Step as StepModel
from quota_advisor.model.cgroup import CgroupFacts, CounterWindow
from quota_advisor.model.cgroup import Demand as DemandFacts
from quota_advisor.model.finding import Evidence as EvidenceModel
from quota_advisor.model.finding import Finding as FindingModel
from quota_advisor.model.finding import Fix as FixModel
from quota_advisor.model.finding import Recommendation as RecommendationModel
from quota_advisor.model.finding import Severity
from quota_advisor.model.finding import Subject as SubjectModel
from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Bandwidth, CpuLimit
from quota_advisor.model.limit import Missing as MissingFact
from quota_advisor.model.report import Report
from quota_advisor.model.source import Location as Place
from quota_advisor.model.source import Span
from quota_advisor.model.workload import Workload as WorkloadModel
from quota_advisor.render.view import View

FORMAT: Literal["quota-advisor/report/v2"] = "quota-advisor/report/v2"

T = TypeVar("T")


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Missing(_Frozen):
    """A value that could not be had, and why."""

    kind: Literal["missing"] = "missing"
    reason: str


class Unlimited(_Frozen):
    """No limit is set."""

    kind: Literal["unlimited"] = "unlimited"


class Limited(_Frozen):
    """A limit that is set; ``percent`` counts 100 for one CPU, as systemd does."""

    kind: Literal["bandwidth"] = "bandwidth"
    quota_usec: int
    period_usec: int
    cores: float
    percent: float


Limit = Limited | Unlimited | Missing
Count = int | Missing


class Tool(_Frozen):
    """What made the report."""

    name: Literal["quota-advisor"] = "quota-advisor"
    version: str


class Machine(_Frozen):
    """The machine that was looked at."""

    hostname: str
    kernel_release: str
    cpus: int
    cgroup_layout: str | Missing
    systemd_version: str | Missing


class Observation(_Frozen):
    """How counters were observed; a window of 0 means lifetime totals."""

    taken_at: str
    window_usec: int
    interval_usec: int
    samples: int


class Counters(_Frozen):
    """Counters over the window, or since the cgroup was created."""

    basis: Literal["window", "lifetime"]
    elapsed_usec: Count
    periods: Count
    throttled_periods: Count
    throttled_usec: Count
    local_throttled_usec: Count
    pressure_full_usec: Count
    usage_usec: Count


class Demand(_Frozen):
    """CPU use at the scale of one sampling window.

    ``p95_cores`` is over the active windows. ``burst_cores`` is the most that a period may have to
    hold: the work of a short burst may fall into two windows.
    """

    interval_usec: int
    windows: int
    active_windows: Count
    censored_windows: int
    mean_cores: float
    p95_cores: float
    max_cores: float
    burst_cores: float | Missing


class Quota(_Frozen):
    """A quota to set; 100 % is one CPU, as systemd has it."""

    cpu_quota_percent: int
    cores: float


class Need(_Frozen):
    """The quota that the demand needs, known of quotas to keep too: nothing to set blindly.

    ``share_of_node_ratio`` is for people and is never written anywhere.
    """

    percent: int
    cores: float
    share_of_node_ratio: float
    lower_bound: bool
    formula: str
    windows: int
    interval_usec: int


class Step(_Frozen):
    """A command that does what is advised, and the one that takes it back; quoted for a shell."""

    command: str
    undo: str


class Advice(_Frozen):
    """The one decision about a quota; ``quota`` is null unless it is to be raised or lowered."""

    decision: Literal["set", "raise", "keep", "lower", "remove", "unknown"]
    quota: Quota | None
    need: Need | Missing
    summary: str
    reasons: tuple[str, ...]
    steps: tuple[Step, ...]


class Recommendation(_Frozen):
    """What to do; ``advice`` is the workload's, null where it rests on something else."""

    summary: str
    advice: Advice | None
    steps: tuple[Step, ...]


class Subject(_Frozen):
    """What a finding is about; ``cgroup`` is null where it is not live."""

    kind: str
    name: str
    cgroup: str | None


class Location(_Frozen):
    """A place in a file, counted from 1, columns in characters.

    The end is that of the first character behind it, equal to the start where nothing is written;
    null where the text was not at hand.
    """

    file: str
    line: int
    column: int
    end_line: int | None
    end_column: int | None


class Related(_Frozen):
    """Another place that a finding is about, and what stands there."""

    location: Location
    message: str


class Edit(_Frozen):
    """Characters of a file, from a start up to an end, and the text that takes their place."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(_Frozen):
    """A change that settles a finding for certain: all of its edits, or none.

    ``safe`` says that what is in force stays in force. Else something takes effect, as it was
    written, that was ignored or refused until now.
    """

    description: str
    safe: bool
    edits: tuple[Edit, ...]


class Source(_Frozen):
    """Where a value was read, and the text as read."""

    kind: str
    locator: str
    raw: str


class Evidence(_Frozen):
    """One number or text that a finding rests on."""

    label: str
    value: float | str
    unit: str
    threshold: float | None
    source: Source | None


class FindingName(_Frozen):
    """Rule and subject of a finding: no two findings that are no parts have both in common."""

    rule: str
    subject: Subject


class Finding(_Frozen):
    """One conclusion.

    ``part_of`` names the finding that stands for the cause, to which this one adds; null for
    those that stand for themselves. Only these are counted, and their severity is the worst of
    their parts.
    """

    rule: str
    severity: Literal["error", "warning", "info"]
    confidence: Literal["low", "medium", "high"]
    message: str
    subject: Subject
    location: Location | None
    related: tuple[Related, ...]
    evidence: tuple[Evidence, ...]
    ruled_out: tuple[Evidence, ...]
    recommendation: Recommendation | None
    fix: Fix | None
    part_of: FindingName | None


class Suppressed(_Frozen):
    """A finding that was left out on request."""

    reason: str
    finding: Finding


class Skipped(_Frozen):
    """A rule that could not judge a subject."""

    rule: str
    subject: Subject
    reason: str


class RuleError(_Frozen):
    """A rule that failed: a defect of this program."""

    rule: str
    subject: Subject
    error: str


class Problem(_Frozen):
    """Something that was asked for and could not be read."""

    subject: str
    reason: str
    hint: str


class Workload(_Frozen):
    """One unit, container or cgroup with its limits, counters and advice."""

    kind: str
    name: str
    cgroup: str | None
    configured: Limit
    limit: Limit
    in_force: Limit
    in_force_from: str | None
    counters: Counters | Missing
    totals: Counters | Missing
    demand: Demand | Missing
    advice: Advice | Missing


class Summary(_Frozen):
    """Number of findings by severity, parts of others not among them, and of what was left out."""

    error: int
    warning: int
    info: int
    suppressed: int
    skipped: int


class ReportV2(_Frozen):
    """A whole report; ``machine`` and ``observation`` are null where files were linted."""

    format: Literal["quota-advisor/report/v2"] = FORMAT
    tool: Tool
    command: str
    machine: Machine | None
    observation: Observation | None
    summary: Summary
    findings: tuple[Finding, ...]
    workloads: tuple[Workload, ...]
    suppressed: tuple[Suppressed, ...]
    skipped: tuple[Skipped, ...]
    rule_errors: tuple[RuleError, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def render(report: Report, _view: View) -> str:
    """Return the report as JSON text."""
    document = build(report)
    try:
        return document.model_dump_json(indent=2) + "\n"
    except PydanticSerializationError:
        # A name that is no UTF-8. Python's own writer is slower and takes it.
        return json.dumps(document.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def build(report: Report) -> ReportV2:
    """Return the report in its published form."""
    host, results = report.host, report.results
    return ReportV2(
        tool=Tool(version=quota_advisor.__version__),
        command=report.command,
        machine=None if host is None else _machine(host.facts),
        observation=None if host is None else _observation(host.facts),
        summary=Summary(
            error=results.count(Severity.ERROR),
            warning=results.count(Severity.WARNING),
            info=results.count(Severity.INFO),
            suppressed=len(results.suppressed),
            skipped=len(results.skipped),
        ),
        findings=tuple(_with_parts(results.findings)),
        workloads=()
        if host is None
        else tuple(
            _workload(workload, report.advice[workload.subject]) for workload in host.workloads
        ),
        suppressed=tuple(
            Suppressed(reason=s.reason, finding=_finding(s.finding)) for s in results.suppressed
        ),
        skipped=tuple(
            Skipped(rule=s.rule, subject=_subject(s.subject), reason=s.reason)
            for s in results.skipped
        ),
        rule_errors=tuple(
            RuleError(rule=e.rule, subject=_subject(e.subject), error=e.error)
            for e in results.errors
        ),
        problems=tuple(
            Problem(subject=p.subject, reason=p.reason, hint=p.hint) for p in report.problems
        ),
        notes=report.notes,
    )


def _machine(facts: HostFacts) -> Machine:
    return Machine(
        hostname=facts.hostname,
        kernel_release=facts.node.kernel_release,
        cpus=len(facts.node.cpus_online),
        cgroup_layout=_or_missing(facts.node.layout),
        systemd_version=_or_missing(facts.node.systemd_version),
    )


def _observation(facts: HostFacts) -> Observation:
    return Observation(
        taken_at=facts.observation.taken_at,
        window_usec=facts.observation.window_usec,
        interval_usec=facts.observation.interval_usec,
        samples=facts.observation.samples,
    )


def _with_parts(findings: Iterable[FindingModel]) -> Iterator[Finding]:
    """Yield each finding, and after it what else is said of its cause."""
    for finding in findings:
        yield _finding(finding)
        name = FindingName(rule=finding.rule, subject=_subject(finding.subject))
        yield from (_finding(part, name) for part in finding.parts)


def _finding(finding: FindingModel, part_of: FindingName | None = None) -> Finding:
    return Finding(
        rule=finding.rule,
        severity=finding.severity.value,
        confidence=finding.confidence.value,
        message=finding.message,
        subject=_subject(finding.subject),
        location=None if finding.location is None else _location(finding.location),
        related=tuple(
            Related(location=_location(other.location), message=other.message)
            for other in finding.related
        ),
        evidence=tuple(map(_evidence, finding.evidence)),
        ruled_out=tuple(map(_evidence, finding.ruled_out)),
        recommendation=None
        if finding.recommendation is None
        else _recommendation(finding.recommendation),
        fix=None if finding.fix is None else _fix(finding.fix),
        part_of=part_of,
    )


def _location(place: Place) -> Location:
    end = (place.end_line, place.end_column) if isinstance(place, Span) else (None, None)
    return Location(
        file=place.file,
        line=place.line,
        column=place.column,
        end_line=end[0],
        end_column=end[1],
    )


def _fix(fix: FixModel) -> Fix:
    edits = (
        Edit(
            file=edit.span.file,
            line=edit.span.line,
            column=edit.span.column,
            end_line=edit.span.end_line,
            end_column=edit.span.end_column,
            text=edit.text,
        )
        for edit in fix.edits
    )
    return Fix(description=fix.description, safe=fix.safe, edits=tuple(edits))


def _subject(subject: SubjectModel) -> Subject:
    return Subject(kind=subject.kind, name=subject.name, cgroup=subject.cgroup)


def _evidence(evidence: EvidenceModel) -> Evidence:
    source = evidence.source
    return Evidence(
        label=evidence.label,
        value=evidence.value,
        unit=evidence.unit,
        threshold=evidence.threshold,
        source=None
        if source is None
        else Source(kind=source.kind.value, locator=source.locator, raw=source.raw),
    )


def _recommendation(recommendation: RecommendationModel) -> Recommendation:
    advice = recommendation.advice
    return Recommendation(
        summary=" ".join(recommendation.summary.split()),
        advice=None if advice is None else _advice(advice),
        steps=_steps(recommendation.steps),
    )


def _steps(steps: tuple[StepModel, ...]) -> tuple[Step, ...]:
    return tuple(Step(command=step.command, undo=step.undo) for step in steps)


def _advice(advice: AdviceModel) -> Advice:
    quota, need = advice.quota, advice.need
    return Advice(
        decision=advice.decision.value,
        quota=None if quota is None else Quota(cpu_quota_percent=quota.percent, cores=quota.cores),
        need=_missing(need) if isinstance(need, MissingFact) else _need(need),
        summary=advice.summary,
        reasons=advice.reasons,
        steps=_steps(advice.steps),
    )


def _need(need: NeedModel) -> Need:
    return Need(
        percent=need.percent,
        cores=need.cores,
        share_of_node_ratio=need.share_of_node_ratio,
        lower_bound=need.lower_bound,
        formula=need.formula,
        windows=need.windows,
        interval_usec=need.interval_usec,
    )


def _workload(workload: WorkloadModel, advice: AdviceModel | MissingFact) -> Workload:
    group = workload.cgroup
    tightest = workload.tightest
    in_force, owner = tightest if isinstance(tightest, tuple) else (tightest, None)
    return Workload(
        kind=workload.kind,
        name=workload.name,
        cgroup=workload.subject.cgroup,
        configured=_limit(workload.configured),
        limit=_limit(workload.limit),
        in_force=_limit(in_force),
        in_force_from=None if owner is None else owner.path,
        counters=_counters(workload.counters),
        totals=_missing(group) if isinstance(group, MissingFact) else _totals(group),
        demand=_demand(group.demand) if isinstance(group, CgroupFacts) else _missing(group),
        advice=_missing(advice) if isinstance(advice, MissingFact) else _advice(advice),
    )


def _limit(limit: CpuLimit) -> Limit:
    if isinstance(limit, MissingFact):
        return _missing(limit)
    if isinstance(limit, Bandwidth):
        return Limited(
            quota_usec=limit.quota_usec,
            period_usec=limit.period_usec,
            cores=limit.cores,
            percent=limit.percent,
        )
    return Unlimited()


def _counters(window: CounterWindow | MissingFact) -> Counters | Missing:
    if isinstance(window, MissingFact):
        return _missing(window)
    return Counters(
        basis=window.basis.value,
        elapsed_usec=_or_missing(window.elapsed_usec),
        periods=_or_missing(window.periods),
        throttled_periods=_or_missing(window.throttled_periods),
        throttled_usec=_or_missing(window.throttled_usec),
        local_throttled_usec=_or_missing(window.local_throttled_usec),
        pressure_full_usec=_or_missing(window.pressure_full_usec),
        usage_usec=_or_missing(window.usage_usec),
    )


def _totals(group: CgroupFacts) -> Counters:
    totals = group.totals
    return Counters(
        basis="lifetime",
        elapsed_usec=Missing(reason="the age of the cgroup is not known"),
        periods=_or_missing(totals.nr_periods),
        throttled_periods=_or_missing(totals.nr_throttled),
        throttled_usec=_or_missing(totals.throttled_usec),
        local_throttled_usec=_or_missing(totals.local_throttled_usec),
        pressure_full_usec=_or_missing(totals.pressure_full_usec),
        usage_usec=_or_missing(totals.usage_usec),
    )


def _demand(demand: DemandFacts | MissingFact) -> Demand | Missing:
    if isinstance(demand, MissingFact):
        return _missing(demand)
    return Demand(
        interval_usec=demand.interval_usec,
        windows=demand.windows,
        active_windows=_or_missing(demand.active_windows),
        censored_windows=demand.censored_windows,
        mean_cores=demand.mean_cores,
        p95_cores=demand.p95_cores,
        max_cores=demand.max_cores,
        burst_cores=_or_missing(demand.burst_cores),
    )


def _or_missing(value: T | MissingFact) -> T | Missing:
    return _missing(value) if isinstance(value, MissingFact) else value


def _missing(value: MissingFact) -> Missing:
    return Missing(reason=value.reason)
