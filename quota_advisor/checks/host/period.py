"""Rules about period and burst."""

from __future__ import annotations

from quota_advisor.checks.host.common import (
    bandwidth_text,
    binding_limit,
    limit_evidence,
    limit_source,
    quota_location,
    ratio_evidence,
    ratio_of_enough,
)
from quota_advisor.model.finding import Evidence, Recommendation
from quota_advisor.model.limit import (
    DEFAULT_PERIOD_USEC,
    MAX_PERIOD_USEC,
    MIN_QUOTA_USEC,
    Bandwidth,
    Missing,
    Unset,
)
from quota_advisor.model.source import Location
from quota_advisor.model.unit import UnitConfig, UnitProperties
from quota_advisor.model.workload import Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.sim.stall import worst_stall
from quota_advisor.units import format_ratio, format_usec


@check(Workload)
def period_lengthened(workload: Workload, rule: Rule) -> Verdicts:
    """Find a period longer than the default: the freeze grows with it."""
    limit = workload.limit if isinstance(workload.limit, Bandwidth) else workload.configured
    if not isinstance(limit, Bandwidth) or limit.period_usec <= rule.option("max_period_usec"):
        return
    if scaling(workload.configured, limit) is not None:
        return
    stall = worst_stall(limit, workload.cpus_available, workload.cpus_available)
    freeze = "" if stall is None else f", a freeze of up to {format_usec(stall.wait_usec)}"
    yield Hit(
        message=f"period of {format_usec(limit.period_usec)} instead of 100 ms{freeze}",
        location=_period_location(workload),
        evidence=(
            Evidence(
                label="period",
                value=limit.period_usec,
                unit="usec",
                threshold=rule.option("max_period_usec"),
                source=limit_source(workload.cgroup),
            ),
            limit_evidence(limit, limit_source(workload.cgroup)),
        ),
    )


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
    tick_hz = workload.node.tick_hz
    if isinstance(tick_hz, Missing) or isinstance(group.threads, Missing):
        yield Skip("the timer tick or the number of threads is not known")
        return
    running = max(min(group.threads, workload.cpus_available), 1)
    overrun_usec = running * 1_000_000 / tick_hz
    if limit.quota_usec >= overrun_usec:
        return
    yield Hit(
        message=(
            f"quota of {format_usec(limit.quota_usec)} per period is less than the tick of"
            f" {format_usec(1_000_000 / tick_hz)} × {running} running"
            f" thread{'' if running == 1 else 's'}: the short period buys no shorter freezes"
        ),
        location=_period_location(workload),
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
    limit, group, window = binding_limit(workload), workload.cgroup, workload.counters
    if limit is None or isinstance(group, Missing) or isinstance(window, Missing):
        return
    ratio = ratio_of_enough(window, rule)
    if isinstance(ratio, Missing) or ratio <= rule.option("min_throttled_ratio"):
        return
    if isinstance(group.burst_usec, Missing) or isinstance(group.demand, Missing):
        unread = next(f for f in (group.burst_usec, group.demand) if isinstance(f, Missing))
        yield Skip(unread.reason)
        return
    mean_ratio = group.demand.mean_cores / limit.cores
    if group.burst_usec > 0 or mean_ratio > rule.option("max_mean_ratio"):
        return
    yield Hit(
        message=(
            f"throttled in {format_ratio(ratio)} of its periods although its mean use is only"
            f" {format_ratio(mean_ratio)} of the quota: unused quota could be saved for bursts"
        ),
        evidence=(
            ratio_evidence(workload, ratio, rule.option("min_throttled_ratio")),
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
            " microseconds and measure; systemd does not manage it, so it is lost at a restart"
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
def quota_below_kernel_minimum(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a configured quota below 1 ms per period, which comes out as something else."""
    settings = _settings(workload)
    if settings is None:
        return
    found = below_minimum(*settings, quota_location(workload))
    if found is not None:
        yield found


def below_minimum(
    per_sec_usec: int, period_usec: int, effective: Bandwidth, location: Location | None
) -> Hit | None:
    """Return what becomes of a quota below 1 ms per period; None for a larger one."""
    asked_usec = per_sec_usec * period_usec / 1_000_000
    if asked_usec >= MIN_QUOTA_USEC:
        return None
    return Hit(
        message=(
            f"{per_sec_usec / 10_000:.4g} % is {asked_usec:.4g} us per"
            f" {format_usec(period_usec)}, below the kernel's 1 ms: in force is"
            f" {bandwidth_text(effective)}"
        ),
        location=location,
        evidence=(
            Evidence(
                label="quota per period as configured",
                value=asked_usec,
                unit="usec",
                threshold=MIN_QUOTA_USEC,
            ),
            limit_evidence(effective, None, label="limit in force"),
        ),
    )


@check(Workload)
def kernel_scaled_period(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a period that the kernel doubled because its timer could not keep up."""
    live = workload.limit
    if not isinstance(live, Bandwidth):
        return
    factor = scaling(workload.configured, live)
    if factor is None or not isinstance(workload.configured, Bandwidth):
        return
    yield Hit(
        message=(
            f"the kernel runs a period of {format_usec(live.period_usec)},"
            f" {factor} times the configured {format_usec(workload.configured.period_usec)}:"
            " it scales so, and logs it, when its timer cannot keep up; without that log entry"
            " somebody wrote it"
        ),
        location=_period_location(workload),
        evidence=(
            limit_evidence(live, limit_source(workload.cgroup)),
            Evidence(label="live period", value=live.period_usec, unit="usec"),
            Evidence(label="configured period", value=workload.configured.period_usec, unit="usec"),
        ),
    )


def scaling(configured: object, live: Bandwidth) -> int | None:
    """Return by which power of two the kernel scaled period and quota, or None if it did not.

    Source: kernel/sched/fair.c, ``sched_cfs_period_timer``: both are doubled together while the
    new period stays below one second.
    """
    if not isinstance(configured, Bandwidth) or live.period_usec >= MAX_PERIOD_USEC:
        return None
    factor, rest = divmod(live.period_usec, configured.period_usec)
    doubled = rest == 0 and factor > 1 and factor & (factor - 1) == 0
    return factor if doubled and live.quota_usec == configured.quota_usec * factor else None


def _settings(workload: Workload) -> tuple[int, int, Bandwidth] | None:
    """Return quota per second and period as configured, with what systemd makes of them."""
    for view in (workload.properties, workload.config):
        if isinstance(view, UnitProperties | UnitConfig) and isinstance(
            view.quota_per_sec_usec, int
        ):
            period = view.period_usec
            wanted = DEFAULT_PERIOD_USEC if isinstance(period, Unset | Missing) else period
            if isinstance(view.limit, Bandwidth):
                return view.quota_per_sec_usec, min(wanted, MAX_PERIOD_USEC), view.limit
    return None


def _period_location(workload: Workload) -> Location | None:
    config = workload.config
    if not isinstance(config, UnitConfig) or config.period_from is None:
        return None
    return config.period_from.value_location


def _burst_file(workload: Workload) -> str:
    v1 = not isinstance(workload.cgroup, Missing) and workload.cgroup.version == 1
    return "cpu.cfs_burst_us" if v1 else "cpu.max.burst"
