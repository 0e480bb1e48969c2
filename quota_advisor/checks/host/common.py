"""What several checks need: ratios of counters, shared evidence, wording."""

from __future__ import annotations

from quota_advisor.model.advice import Advice, Decision
from quota_advisor.model.cgroup import CgroupFacts, CounterWindow
from quota_advisor.model.finding import Evidence, Recommendation, Severity
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, Bandwidth, Missing
from quota_advisor.model.node import NodeFacts, PressureShare
from quota_advisor.model.source import Location, Source
from quota_advisor.model.unit import UnitConfig
from quota_advisor.model.workload import Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.units import format_usec

RULED_OUT_BELOW_RATIO = 0.05
"""Steal and pressure below this share of the time do not explain a slow service."""


def ratio_of_enough(window: CounterWindow, rule: Rule) -> float | Missing:
    """Return the throttled share of periods, missing where too few of them ran."""
    minimum = rule.option("min_periods")
    if isinstance(window.periods, Missing) or 0 <= window.periods < minimum:
        return Missing(reason=f"{_periods_text(window)} {over(window)}, {minimum:g} needed")
    return window.throttled_ratio


def _periods_text(window: CounterWindow) -> str:
    if isinstance(window.periods, Missing):
        return f"periods not read ({window.periods.reason})"
    return f"{window.periods} active periods"


def active_usec(window: CounterWindow, limit: Bandwidth) -> int | Missing:
    """Return the time that a window spans; for totals, the time in which periods ran."""
    if isinstance(window.elapsed_usec, int):
        return window.elapsed_usec
    if isinstance(window.periods, Missing):
        return window.periods
    return window.periods * limit.period_usec


def over(window: CounterWindow) -> str:
    """Return the words for the time that a window spans."""
    if isinstance(window.elapsed_usec, int):
        return f"over {format_usec(window.elapsed_usec)}"
    return "since the group was created, not now"


def degree(ratio: float, warning_ratio: float, error_ratio: float) -> Severity | None:
    """Return how severe a ratio is; both bars must be exceeded, not met."""
    if ratio > error_ratio:
        return Severity.ERROR
    return Severity.WARNING if ratio > warning_ratio else None


def binding_limit(workload: Workload) -> Bandwidth | None:
    """Return the workload's own live limit, if it can ever hold the workload back.

    A quota of all CPUs at hand still shows throttled periods, each of microseconds: the kernel
    accounts at ticks. Their number says nothing.
    """
    limit, cpus = workload.limit, workload.cpus_available
    if not isinstance(limit, Bandwidth) or 0 < cpus <= limit.cores:
        return None
    return limit


def counter_source(group: CgroupFacts | Missing) -> Source | None:
    """Return where the throttle counters were read."""
    return None if isinstance(group, Missing) else group.source("cpu.stat")


def pressure_source(group: CgroupFacts | Missing) -> Source | None:
    """Return where the pressure was read."""
    return None if isinstance(group, Missing) else group.source("cpu.pressure")


def usage_source(group: CgroupFacts | Missing) -> Source | None:
    """Return where the CPU time was read, on either hierarchy."""
    if isinstance(group, Missing):
        return None
    return group.source("cpuacct.usage") or group.source("cpu.stat")


def limit_source(group: CgroupFacts | Missing) -> Source | None:
    """Return where the live limit was read, on either hierarchy."""
    if isinstance(group, Missing):
        return None
    return group.source("cpu.max") or group.source("cpu.cfs_quota_us")


def limit_evidence(limit: Bandwidth, source: Source | None, label: str = "limit") -> Evidence:
    """Return a limit as evidence, in cores."""
    return Evidence(label=label, value=limit.cores, unit="cores", source=source)


def ratio_evidence(workload: Workload, ratio: float, threshold: float) -> Evidence:
    """Return the throttled share of periods as evidence."""
    return Evidence(
        label="throttled periods as a share of periods",
        value=ratio,
        unit="ratio",
        threshold=threshold,
        source=counter_source(workload.cgroup),
    )


def throttle_evidence(workload: Workload, window: CounterWindow) -> tuple[Evidence, ...]:
    """Return the kernel's counters of a window, those that were read."""
    stat, pressure = counter_source(workload.cgroup), pressure_source(workload.cgroup)
    values = (
        ("periods", window.periods, "periods", stat),
        ("throttled periods", window.throttled_periods, "periods", stat),
        ("throttled time, summed over CPUs", window.throttled_usec, "usec", stat),
        ("time with every task stalled (PSI)", window.pressure_full_usec, "usec", pressure),
        ("CPU time used", window.usage_usec, "usec", usage_source(workload.cgroup)),
    )
    return tuple(
        Evidence(label=label, value=value, unit=unit, source=source)
        for label, value, unit, source in values
        if isinstance(value, int)
    )


def ruled_out(node: NodeFacts) -> tuple[Evidence, ...]:
    """Return the other causes of a slow service that were looked at, with what was seen."""
    return (
        _share("CPU steal", node.steal_ratio),
        _pressure("I/O pressure", node.io_pressure),
        _pressure("memory pressure", node.memory_pressure),
    )


def _pressure(label: str, share: PressureShare | Missing) -> Evidence:
    return _share(label, share if isinstance(share, Missing) else share.some_ratio)


def _share(label: str, ratio: float | Missing) -> Evidence:
    if isinstance(ratio, Missing):
        return Evidence(label=label, value=f"not measured ({ratio.reason})")
    return Evidence(label=label, value=ratio, unit="ratio", threshold=RULED_OUT_BELOW_RATIO)


def quota_advice(advice: Advice, otherwise: str) -> Recommendation:
    """Return what was decided, or the rule's words with the reason why nothing could be."""
    unknown = advice.decision is Decision.UNKNOWN
    summary = f"{otherwise.strip()} ({advice.summary})" if unknown else advice.summary
    return Recommendation(summary=summary, advice=advice)


def quota_location(workload: Workload) -> Location | None:
    """Return the place of the assignment that decides the unit's quota."""
    config = workload.config
    if not isinstance(config, UnitConfig) or config.quota_from is None:
        return None
    return config.quota_from.value_location


def bandwidth_text(limit: Bandwidth) -> str:
    """Return a limit as systemd writes it, with its period where it is not the default."""
    text = f"{limit.percent:.4g} %"
    return (
        text
        if limit.period_usec == DEFAULT_PERIOD_USEC
        else f"{text} per {format_usec(limit.period_usec)}"
    )
