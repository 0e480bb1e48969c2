"""Evidence about a workload, and the advice that goes with it."""

from __future__ import annotations

from quota_advisor.advise.words import more_room
from quota_advisor.derive.host.throttling import Throttling
from quota_advisor.model.advice import Advice, Decision
from quota_advisor.model.cgroup import CgroupFacts, CounterWindow
from quota_advisor.model.finding import Evidence, Recommendation
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.node import NodeFacts, PressureShare
from quota_advisor.model.source import Source
from quota_advisor.model.workload import Workload

RULED_OUT_BELOW_RATIO = 0.05
"""Steal and pressure below this share of the time do not explain a slow service."""

BUSY_RATIO = 0.9
"""From this share of the time on there is no idle CPU to run on: then the machine is full."""


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
    """Return where the live limit was read."""
    return None if isinstance(group, Missing) else group.limit_source


def bound_evidence(workload: Workload, found: Throttling, threshold: float) -> Evidence:
    """Return what the throttled share of periods is at least, as evidence."""
    return Evidence(
        label="throttled share of periods, at least (95 % certain)",
        value=found.bound_ratio,
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
        _share("busy CPUs", node.busy_ratio, BUSY_RATIO),
        *_cpu_pressure(node),
        _share("CPU steal", node.steal_ratio),
        _pressure("I/O pressure", node.io_pressure),
        _pressure("memory pressure", node.memory_pressure),
    )


def _pressure(label: str, share: PressureShare | Missing) -> Evidence:
    return _share(label, share if isinstance(share, Missing) else share.some_ratio)


def _cpu_pressure(node: NodeFacts) -> tuple[Evidence, ...]:
    """Return CPU pressure where there are no idle CPUs, or where nobody knows.

    A throttled task counts as one that waits for a CPU: while CPUs idle, the pressure is the
    quota's own doing.
    """
    if isinstance(node.busy_ratio, float) and node.busy_ratio < BUSY_RATIO:
        return ()
    return (_pressure("CPU pressure", node.cpu_pressure),)


def _share(
    label: str, ratio: float | Missing, threshold: float = RULED_OUT_BELOW_RATIO
) -> Evidence:
    if isinstance(ratio, Missing):
        return Evidence(label=label, value=f"not measured ({ratio.reason})")
    return Evidence(label=label, value=ratio, unit="ratio", threshold=threshold)


def quota_advice(workload: Workload, advice: Advice) -> Recommendation:
    """Return what was decided; where nothing could be, how to find out."""
    limit = workload.limit
    if advice.decision is not Decision.UNKNOWN or not isinstance(limit, Bandwidth):
        return Recommendation(summary=advice.summary, advice=advice, steps=advice.steps)
    room = more_room(workload, limit)
    summary = f"{advice.summary}; {room.summary}"
    return Recommendation(summary=summary, advice=advice, steps=room.steps)
