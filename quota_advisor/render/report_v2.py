"""The shape of the report for programs, version 2: the contract that its schema is made from.

It is filled from the internal model and not dumped from it, so that the one can change without the
other. What is not known is an object with ``"kind": "missing"`` and the reason, never zero.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict


class Missing(TypedDict):
    """A value that could not be had, and why."""

    kind: Literal["missing"]
    reason: str


class Unlimited(TypedDict):
    """No limit is set."""

    kind: Literal["unlimited"]


class Limited(TypedDict):
    """A limit that is set; ``percent`` counts 100 for one CPU, as systemd does."""

    kind: Literal["bandwidth"]
    quota_usec: int
    period_usec: int
    cores: float
    percent: float


Limit = Limited | Unlimited | Missing
Count = int | Missing


class Tool(TypedDict):
    """What made the report."""

    name: Literal["quota-advisor"]
    version: str


class Machine(TypedDict):
    """The machine that was looked at."""

    hostname: str
    kernel_release: str
    cpus: int
    cgroup_layout: str | Missing
    systemd_version: str | Missing


class Observation(TypedDict):
    """How counters were observed; a window of 0 means lifetime totals."""

    taken_at: str
    window_usec: int
    interval_usec: int
    samples: int


class Counters(TypedDict):
    """Counters over the window, or since the cgroup was created."""

    basis: Literal["window", "lifetime"]
    elapsed_usec: Count
    periods: Count
    throttled_periods: Count
    throttled_usec: Count
    local_throttled_usec: Count
    pressure_full_usec: Count
    usage_usec: Count


class SimulatedNeed(TypedDict):
    """What a simulation of a recorded demand came to.

    ``cores`` is the smallest quota that keeps the target. ``limit`` is the one in force, and
    ``throttled_ratio`` what it would do; ``burst_usec`` is the smallest burst with which it would
    keep the target too.
    """

    target: str
    cores: float | Missing
    limit: Limit
    throttled_ratio: float | Missing
    burst_usec: Count
    burst_throttled_ratio: float | Missing


class Demand(TypedDict):
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
    simulated: SimulatedNeed | Missing


class Quota(TypedDict):
    """A quota to set; 100 % is one CPU, as systemd has it."""

    cpu_quota_percent: int
    cores: float


class Need(TypedDict):
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


class Step(TypedDict):
    """A command that does what is advised, and the one that takes it back; quoted for a shell."""

    command: str
    undo: str


class Advice(TypedDict):
    """The one decision about a quota; ``quota`` is null unless it is to be raised or lowered."""

    decision: Literal["set", "raise", "keep", "lower", "remove", "unknown"]
    quota: Quota | None
    need: Need | Missing
    summary: str
    reasons: tuple[str, ...]
    steps: tuple[Step, ...]


class Recommendation(TypedDict):
    """What to do; ``advice`` is the workload's, null where it rests on something else."""

    summary: str
    advice: Advice | None
    steps: tuple[Step, ...]


class Subject(TypedDict):
    """What a finding is about; ``cgroup`` is null where it is not live."""

    kind: str
    name: str
    cgroup: str | None


class Location(TypedDict):
    """A place in a file, counted from 1, columns in characters.

    The end is that of the first character behind it, equal to the start where nothing is written;
    null where the text was not at hand.
    """

    file: str
    line: int
    column: int
    end_line: int | None
    end_column: int | None


class Related(TypedDict):
    """Another place that a finding is about, and what stands there."""

    location: Location
    message: str


class Edit(TypedDict):
    """Characters of a file, from a start up to an end, and the text that takes their place."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(TypedDict):
    """A change that settles a finding for certain: all of its edits, or none.

    ``safe`` says that what is in force stays in force. Else something takes effect, as it was
    written, that was ignored or refused until now.
    """

    description: str
    safe: bool
    edits: tuple[Edit, ...]


class Source(TypedDict):
    """Where a value was read, and the text as read."""

    kind: str
    locator: str
    raw: str


class Evidence(TypedDict):
    """One number or text that a finding rests on."""

    label: str
    value: float | str
    unit: str
    threshold: float | None
    source: Source | None


class FindingName(TypedDict):
    """Rule and subject of a finding: no two findings that are no parts have both in common."""

    rule: str
    subject: Subject


class Finding(TypedDict):
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


class Suppressed(TypedDict):
    """A finding that was left out on request."""

    reason: str
    finding: Finding


class Skipped(TypedDict):
    """A rule that could not judge a subject."""

    rule: str
    subject: Subject
    reason: str


class RuleError(TypedDict):
    """A rule that failed: a defect of this program."""

    rule: str
    subject: Subject
    error: str


class Problem(TypedDict):
    """Something that was asked for and could not be read."""

    subject: str
    reason: str
    hint: str


class Workload(TypedDict):
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


class Summary(TypedDict):
    """Number of findings by severity, parts of others not among them, and of what was left out."""

    error: int
    warning: int
    info: int
    suppressed: int
    skipped: int


class Owner(TypedDict):
    """What pods belong to in the end."""

    namespace: str
    kind: str
    name: str


class RequestAdvice(TypedDict):
    """What a CPU request should be, and how that was computed."""

    decision: Literal["set", "raise", "keep", "lower", "remove", "unknown"]
    millicores: int
    formula: str


class Container(TypedDict):
    """One container of a workload, all replicas together.

    A request or limit of null is none. ``worst_pod`` is the replica that counters and demand are
    of, null where nothing was measured; ``source`` says who measured it. ``now_cores`` is the use
    of the last moments, from a source that has nothing else.
    """

    owner: Owner
    name: str
    pods: int
    request_millicores: int | None
    limit_millicores: int | None
    worst_pod: str | None
    source: str | Missing
    now_cores: float | Missing
    counters: Counters | Missing
    demand: Demand | Missing
    request_advice: RequestAdvice | Missing
    limit_advice: Advice | Missing


class Cluster(TypedDict):
    """One cluster that was looked at."""

    context: str
    kubernetes_version: str | Missing
    taken_at: str
    nodes: int | Missing
    pods: int
    containers: tuple[Container, ...]


class ReportV2(TypedDict):
    """A whole report; ``machine`` and ``observation`` are null where no host was audited."""

    format: Literal["quota-advisor/report/v2"]
    tool: Tool
    command: str
    machine: Machine | None
    observation: Observation | None
    summary: Summary
    findings: tuple[Finding, ...]
    workloads: tuple[Workload, ...]
    clusters: tuple[Cluster, ...]
    suppressed: tuple[Suppressed, ...]
    skipped: tuple[Skipped, ...]
    rule_errors: tuple[RuleError, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
