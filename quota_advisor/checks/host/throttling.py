"""Rules about how often and how long a workload is held back."""

from __future__ import annotations

from quota_advisor.advise.words import raise_above
from quota_advisor.checks.evidence import degree, limit_evidence, over
from quota_advisor.checks.host.evidence import (
    bound_evidence,
    counter_source,
    limit_source,
    pressure_source,
    quota_advice,
    ruled_out,
    throttle_evidence,
)
from quota_advisor.derive.host.running_quota import quota_location
from quota_advisor.derive.host.throttling import (
    Stall,
    binding_limit,
    is_leaf,
    most_throttled,
    stalled_by_quota,
    stalled_from_above,
    throttling,
)
from quota_advisor.model.cgroup import CounterWindow
from quota_advisor.model.finding import Evidence, Severity
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import AdvisedWorkload, Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_ratio, format_usec

NEARLY_ALL = 0.9995
"""From here on :func:`format_ratio` says only that it is not all."""

_STALLED = "share of wall time stalled by the quota, at least (95 % certain)"
_HELD_BACK = "share of wall time held back by an ancestor, at least (95 % certain)"


@check(AdvisedWorkload)
def throttled_often(advised: AdvisedWorkload, rule: Rule) -> Verdicts:
    """Judge the share of active periods that ended with the group throttled."""
    workload, advice = advised
    limit = binding_limit(workload)
    if limit is None:
        return
    error_ratio, warning_ratio = rule.option("error_ratio"), rule.option("warning_ratio")
    found = throttling(workload.cgroup, warning_ratio)
    if isinstance(found, Missing):
        yield Skip(found.reason)
        return
    severity = degree(found.bound_ratio, warning_ratio, error_ratio)
    if severity is None:
        return
    window, bar = found.window, error_ratio if severity is Severity.ERROR else warning_ratio
    yield Hit(
        message=(
            f"throttled in {window.throttled_periods} of {window.periods} periods"
            f" {over(window)}: {format_ratio(found.ratio)},"
            f" more than {format_ratio(bar)}"
        ),
        brief=f"{window.throttled_periods} of {window.periods} periods throttled",
        severity=severity,
        location=quota_location(workload),
        evidence=(
            bound_evidence(workload, found, bar),
            limit_evidence(limit, limit_source(workload.cgroup)),
            *throttle_evidence(workload, window),
        ),
        ruled_out=ruled_out(workload.node),
        recommendation=quota_advice(workload, advice),
    )


@check(AdvisedWorkload)
def throttled_time(advised: AdvisedWorkload, rule: Rule) -> Verdicts:
    """Judge the share of wall time in which the quota stalled the workload."""
    workload, advice = advised
    limit = workload.limit
    if not isinstance(limit, Bandwidth):
        return
    error_ratio, warning_ratio = rule.option("error_ratio"), rule.option("warning_ratio")
    found = throttling(workload.cgroup, warning_ratio)
    if isinstance(found, Missing):
        yield Skip(found.reason)
        return
    window = found.window
    stall = stalled_by_quota(window, limit)
    if isinstance(stall, Missing):
        yield Skip(stall.reason)
        return
    # How long each stop was is known exactly; how often it comes only as well as the share is.
    bound = stall.ratio * found.certainty
    severity = degree(bound, warning_ratio, error_ratio)
    if severity is None:
        return
    source = pressure_source if stall.is_measured else counter_source
    yield Hit(
        message=_stall_message(stall, window),
        brief=f"stood still {_share(stall)} of the time",
        severity=severity,
        location=quota_location(workload),
        evidence=(
            Evidence(
                label=_STALLED,
                value=bound,
                unit="ratio",
                threshold=error_ratio if severity is Severity.ERROR else warning_ratio,
                source=source(workload.cgroup),
            ),
            limit_evidence(limit, limit_source(workload.cgroup)),
            *throttle_evidence(workload, window),
        ),
        ruled_out=ruled_out(workload.node),
        recommendation=quota_advice(workload, advice),
    )


@check(Workload)
def throttled_by_ancestor(workload: Workload, rule: Rule) -> Verdicts:
    """Judge a workload that is held back by a limit above it; its own counters stay at zero."""
    window = workload.counters
    above = [g for g in workload.ancestors if isinstance(g.limit, Bandwidth) and not is_leaf(g)]
    if not above or isinstance(workload.cgroup, Missing) or not workload.cgroup.processes:
        return
    if isinstance(window, Missing):
        yield Skip(window.reason)
        return
    culprit, found = most_throttled(above)
    if culprit is None or found is None or not isinstance(culprit.limit, Bandwidth):
        return
    stall = stalled_from_above(window, culprit)
    if isinstance(stall, Missing):
        yield Skip(stall.reason)
        return
    if not stall.is_measured and not window.usage_usec:
        return
    error_ratio, warning_ratio = rule.option("error_ratio"), rule.option("warning_ratio")
    bound = stall.ratio * found.certainty
    severity = degree(bound, warning_ratio, error_ratio)
    if severity is None:
        return
    yield Hit(
        message=(
            f"held back by {culprit.path} for {_share(stall)} of the time:"
            f" its limit of {culprit.limit.text} was spent in {format_ratio(found.ratio)} of its"
            f" periods {over(window)}; the workload's own counters do not show it"
        ),
        brief=f"{workload.name} held back {_share(stall)} of the time",
        cause=culprit.path,
        severity=severity,
        evidence=(
            Evidence(
                label=_HELD_BACK,
                value=bound,
                unit="ratio",
                threshold=error_ratio if severity is Severity.ERROR else warning_ratio,
                source=workload.cgroup.source("cpu.stat.local") or counter_source(culprit),
            ),
            limit_evidence(culprit.limit, limit_source(culprit), label="limit of the ancestor"),
        ),
        ruled_out=ruled_out(workload.node),
        recommendation=raise_above(workload, culprit.path),
    )


@check(Workload)
def health_hides_throttling(workload: Workload, rule: Rule) -> Verdicts:
    """Point at a throttled service whose automatic restarts keep every dashboard green."""
    if binding_limit(workload) is None or workload.restart in ("", "no"):
        return
    bar = rule.option("min_throttled_ratio")
    found = throttling(workload.cgroup, bar)
    if isinstance(found, Missing) or found.bound_ratio <= bar:
        return
    yield Hit(
        message=(
            f"Restart={workload.restart} and an active unit look healthy while"
            f" {format_ratio(found.ratio)} of its periods were throttled {over(found.window)}"
        ),
        brief=f"Restart={workload.restart} hides it",
        evidence=(
            bound_evidence(workload, found, bar),
            Evidence(label="Restart", value=workload.restart),
        ),
    )


def _share(stall: Stall) -> str:
    """Return the share of time that was lost, or the most that it can have been."""
    if stall.is_measured:
        return format_ratio(stall.ratio)
    # A bound that excludes nothing.
    return f"at most {format_ratio(stall.ratio)}" if stall.ratio < NEARLY_ALL else "possibly all"


def _stall_message(stall: Stall, window: CounterWindow) -> str:
    """Say how long the workload stood still, or at most did."""
    whole = "wall time" if isinstance(window.elapsed_usec, int) else "the time that periods ran"
    share = f"{over(window)}: {format_ratio(stall.ratio)} of {whole}"
    if stall.is_measured:
        return f"every task stalled for {format_usec(stall.usec)} {share}"
    return f"held back for at most {format_usec(stall.usec)} {share}"
