"""Rules about how often and how long a workload is held back."""

from __future__ import annotations

import posixpath

from quota_advisor.checks.evidence import degree, limit_evidence, over, ratio_of_enough
from quota_advisor.checks.host.evidence import (
    counter_source,
    limit_source,
    pressure_source,
    quota_advice,
    ratio_evidence,
    ruled_out,
    throttle_evidence,
)
from quota_advisor.derive.host.running_quota import quota_location
from quota_advisor.derive.host.throttling import (
    active_usec,
    binding_limit,
    is_leaf,
    most_throttled,
    share_held_above,
    stalled_usec,
)
from quota_advisor.model.cgroup import CounterWindow
from quota_advisor.model.finding import Evidence, Recommendation
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import AdvisedWorkload, Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_ratio, format_usec


@check(AdvisedWorkload)
def throttled_often(advised: AdvisedWorkload, rule: Rule) -> Verdicts:
    """Judge the share of active periods that ended with the group throttled."""
    workload, advice = advised
    limit, window = binding_limit(workload), workload.counters
    if limit is None:
        return
    if isinstance(window, Missing):
        yield Skip(window.reason)
        return
    ratio = ratio_of_enough(window, rule)
    if isinstance(ratio, Missing):
        yield Skip(ratio.reason)
        return
    error_ratio, warning_ratio = rule.option("error_ratio"), rule.option("warning_ratio")
    severity = degree(ratio, warning_ratio, error_ratio)
    if severity is None:
        return
    bar = error_ratio if ratio > error_ratio else warning_ratio
    yield Hit(
        message=(
            f"throttled in {window.throttled_periods} of {window.periods} periods"
            f" {over(window)}: {format_ratio(ratio)},"
            f" more than {format_ratio(bar)}"
        ),
        severity=severity,
        location=quota_location(workload),
        evidence=(
            ratio_evidence(workload, ratio, bar),
            limit_evidence(limit, limit_source(workload.cgroup)),
            *throttle_evidence(workload, window),
        ),
        ruled_out=ruled_out(workload.node),
        recommendation=quota_advice(advice, rule.fix),
    )


@check(AdvisedWorkload)
def throttled_time(advised: AdvisedWorkload, rule: Rule) -> Verdicts:
    """Judge the share of wall time in which the quota stalled the workload.

    Pressure ``full`` is wall time with every task stalled, for whatever reason; throttled time
    is summed over CPUs. The smaller of the two is what the quota can be blamed for.
    """
    workload, advice = advised
    limit, window = workload.limit, workload.counters
    if not isinstance(limit, Bandwidth):
        return
    if isinstance(window, Missing):
        yield Skip(window.reason)
        return
    span = active_usec(window, limit)
    if isinstance(window.throttled_usec, Missing) or isinstance(span, Missing) or span == 0:
        yield Skip("no throttled time was read")
        return
    stalled, by_pressure = stalled_usec(window, window.throttled_usec)
    ratio = stalled / span
    error_ratio, warning_ratio = rule.option("error_ratio"), rule.option("warning_ratio")
    severity = degree(ratio, warning_ratio, error_ratio)
    if severity is None:
        return
    source = pressure_source if by_pressure else counter_source
    yield Hit(
        message=_stall_message(stalled, ratio, window, by_pressure=by_pressure),
        severity=severity,
        location=quota_location(workload),
        evidence=(
            Evidence(
                label="stalled share of wall time" if by_pressure else "held-back share",
                value=ratio,
                unit="ratio",
                threshold=error_ratio if ratio > error_ratio else warning_ratio,
                source=source(workload.cgroup),
            ),
            limit_evidence(limit, limit_source(workload.cgroup)),
            *throttle_evidence(workload, window),
        ),
        ruled_out=ruled_out(workload.node),
        recommendation=quota_advice(advice, rule.fix),
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
    culprit, ancestor_ratio = most_throttled(above)
    if culprit is None or not isinstance(culprit.limit, Bandwidth):
        return
    share = share_held_above(window, culprit)
    if isinstance(share, Missing):
        if not window.usage_usec or ancestor_ratio <= rule.option("warning_ratio"):
            return
        share = ancestor_ratio
    error_ratio, warning_ratio = rule.option("error_ratio"), rule.option("warning_ratio")
    severity = degree(share, warning_ratio, error_ratio)
    if severity is None:
        return
    yield Hit(
        message=(
            f"held back by {culprit.path}, whose limit of {culprit.limit.text} was"
            f" spent in {format_ratio(ancestor_ratio)} of its periods {over(window)};"
            " the workload's own counters do not show it"
        ),
        severity=severity,
        evidence=(
            Evidence(
                label="time held back by an ancestor, summed over CPUs, as a share of wall time",
                value=share,
                unit="ratio",
                threshold=error_ratio if share > error_ratio else warning_ratio,
                source=workload.cgroup.source("cpu.stat.local") or counter_source(culprit),
            ),
            limit_evidence(culprit.limit, limit_source(culprit), label="limit of the ancestor"),
        ),
        ruled_out=ruled_out(workload.node),
        recommendation=Recommendation(
            summary=f"raise or remove the limit of {posixpath.basename(culprit.path)},"
            " or move this workload to another slice"
        ),
    )


@check(Workload)
def health_hides_throttling(workload: Workload, rule: Rule) -> Verdicts:
    """Point at a throttled service whose automatic restarts keep every dashboard green."""
    window = workload.counters
    if binding_limit(workload) is None or isinstance(window, Missing):
        return
    if workload.restart in ("", "no"):
        return
    ratio = ratio_of_enough(window, rule)
    if isinstance(ratio, Missing) or ratio <= rule.option("min_throttled_ratio"):
        return
    yield Hit(
        message=(
            f"Restart={workload.restart} and an active unit look healthy while"
            f" {format_ratio(ratio)} of its periods were throttled {over(window)}"
        ),
        evidence=(
            ratio_evidence(workload, ratio, rule.option("min_throttled_ratio")),
            Evidence(label="Restart", value=workload.restart),
        ),
    )


def _stall_message(
    stalled_usec: int, ratio: float, window: CounterWindow, *, by_pressure: bool
) -> str:
    """Say how long it stood still; a sum over CPUs is no share, it may exceed the time itself."""
    if by_pressure:
        return (
            f"every task stalled for {format_usec(stalled_usec)} {over(window)}:"
            f" {format_ratio(ratio)} of {_span_text(window)}"
        )
    return (
        f"{format_usec(stalled_usec)} of CPU time held back {over(window)}, summed over CPUs:"
        f" {format_usec(ratio * 1e6)} in each second of {_span_text(window)}"
    )


def _span_text(window: CounterWindow) -> str:
    return "wall time" if isinstance(window.elapsed_usec, int) else "the time in which periods ran"
