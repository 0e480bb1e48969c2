"""Rules about period and burst."""

from __future__ import annotations

from quota_advisor.advise.words import set_burst
from quota_advisor.checks.evidence import limit_evidence
from quota_advisor.checks.host.evidence import bound_evidence, limit_source
from quota_advisor.derive.host.running_quota import (
    Scaling,
    kernel_scaling,
    period_location,
    quota_location,
)
from quota_advisor.derive.host.threads import running_threads
from quota_advisor.derive.host.throttling import binding_limit, throttling
from quota_advisor.model.finding import Evidence, Recommendation
from quota_advisor.model.limit import (
    DEFAULT_PERIOD_USEC,
    Bandwidth,
    Missing,
)
from quota_advisor.model.workload import Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_ratio, format_usec

MAX_CARRIED_RATIO = 0.5
"""Largest share of throttled periods that a burst can end.

A burst of at most the quota gives a peak one more quota, spent at once. That saves a peak which
its second period would have ended; where more than half of the periods are throttled, some
follow upon each other, and the peaks need more than twice the quota.
"""


@check(Workload)
def period_below_tick(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a shortened period whose quota is too small for the timer tick to enforce.

    Each running thread can overrun by one tick before the kernel looks again.
    """
    limit, group = workload.limit, workload.cgroup
    if not isinstance(limit, Bandwidth) or isinstance(group, Missing):
        return
    if limit.period_usec >= DEFAULT_PERIOD_USEC:
        return
    tick_hz, running = workload.node.tick_hz, running_threads(workload)
    if isinstance(tick_hz, Missing):
        yield Skip("the timer tick is not known")
        return
    if running == 0:
        return
    overrun_usec = running * 1_000_000 / tick_hz
    if limit.quota_usec >= overrun_usec:
        return
    yield Hit(
        message=(
            f"quota of {format_usec(limit.quota_usec)} per period is less than the tick of"
            f" {format_usec(1_000_000 / tick_hz)} × {running} running"
            f" thread{'' if running == 1 else 's'}: the short period buys no shorter freezes"
        ),
        location=period_location(workload),
        evidence=(
            Evidence(
                label="quota per period",
                value=limit.quota_usec,
                unit="usec",
                threshold=overrun_usec,
                source=limit_source(group),
            ),
            Evidence(label="timer tick", value=tick_hz, unit="hz"),
            Evidence(label="running threads", value=running, unit="threads"),
        ),
    )


@check(Workload)
def burst_eligible(workload: Workload, rule: Rule) -> Verdicts:
    """Find a throttled workload whose mean leaves quota unused: burst would carry it over."""
    limit, group, bar = binding_limit(workload), workload.cgroup, rule.option("min_throttled_ratio")
    if limit is None or isinstance(group, Missing):
        return
    found = throttling(group, bar)
    if isinstance(found, Missing) or found.bound_ratio <= bar:
        return
    if isinstance(group.burst_usec, Missing) or isinstance(group.demand, Missing):
        unread = next(f for f in (group.burst_usec, group.demand) if isinstance(f, Missing))
        yield Skip(unread.reason)
        return
    mean_ratio = group.demand.mean_cores / limit.cores
    if group.burst_usec > 0 or mean_ratio > rule.option("max_mean_ratio"):
        return
    if found.ratio > MAX_CARRIED_RATIO or _throttled_above(workload):
        return
    yield Hit(
        message=(
            f"throttled in {format_ratio(found.ratio)} of its periods although its mean use is only"
            f" {format_ratio(mean_ratio)} of the quota: unused quota could be saved for bursts"
        ),
        brief=f"mean use only {format_ratio(mean_ratio)} of the quota: a burst may help",
        evidence=(
            bound_evidence(workload, found, bar),
            Evidence(
                label="mean use as a share of the quota",
                value=mean_ratio,
                unit="ratio",
                threshold=rule.option("max_mean_ratio"),
            ),
            Evidence(label="burst", value=group.burst_usec, unit="usec"),
        ),
        recommendation=Recommendation(
            summary=f"set {_burst_file(workload)} to at most the quota of {limit.quota_usec}"
            " microseconds and measure; nobody manages it, so it is lost at a restart",
            steps=set_burst(workload, limit.quota_usec),
        ),
    )


@check(Workload)
def burst_blocks_lowering(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a burst above the quota that the manager wants to write: the kernel refuses that."""
    group, wanted = workload.cgroup, workload.configured
    if isinstance(group, Missing) or isinstance(group.burst_usec, Missing):
        return
    if not isinstance(wanted, Bandwidth) or group.burst_usec <= wanted.quota_usec:
        return
    yield Hit(
        message=(
            f"burst of {format_usec(group.burst_usec)} is above the configured quota of"
            f" {format_usec(wanted.quota_usec)} per period: the kernel refuses that quota,"
            " and the manager only logs it"
        ),
        location=quota_location(workload),
        evidence=(
            Evidence(
                label="burst", value=group.burst_usec, unit="usec", threshold=wanted.quota_usec
            ),
            limit_evidence(wanted, None, label="configured limit"),
        ),
        recommendation=Recommendation(
            summary=f"write 0 to {_burst_file(workload)} first, then set the quota again"
        ),
    )


@check(Workload)
def kernel_scaled_period(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a period that the kernel lengthened because its timer could not keep up."""
    live = workload.limit
    if not isinstance(live, Bandwidth):
        return
    scaling = kernel_scaling(workload.configured, live)
    if scaling is None or not isinstance(workload.configured, Bandwidth):
        return
    yield Hit(
        message=(
            f"the kernel runs a period of {format_usec(live.period_usec)}"
            f" instead of the configured {format_usec(workload.configured.period_usec)}:"
            f" {_lengthened(scaling)} because its timer could not keep up, which it logs; without"
            " that log entry somebody wrote it"
        ),
        location=period_location(workload),
        evidence=(
            limit_evidence(live, limit_source(workload.cgroup)),
            Evidence(label="live period", value=live.period_usec, unit="usec"),
            Evidence(label="configured period", value=workload.configured.period_usec, unit="usec"),
        ),
    )


def _throttled_above(workload: Workload) -> bool:
    """Whether a limit further up was spent: a burst of one's own does not pass that."""
    windows = [group.window for group in workload.ancestors if isinstance(group.limit, Bandwidth)]
    return any(
        not isinstance(window, Missing)
        and isinstance(window.throttled_periods, int)
        and window.throttled_periods > 0
        for window in windows
    )


def _lengthened(scaling: Scaling) -> str:
    times = "once" if scaling.steps == 1 else f"{scaling.steps} times"
    return (
        f"doubled {times}" if scaling.factor == "2" else f"lengthened by {scaling.factor} {times}"
    )


def _burst_file(workload: Workload) -> str:
    v1 = not isinstance(workload.cgroup, Missing) and workload.cgroup.version == 1
    return "cpu.cfs_burst_us" if v1 else "cpu.max.burst"
