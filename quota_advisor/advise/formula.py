"""The quota that a measured demand needs."""

from __future__ import annotations

import math

from quota_advisor.model.cgroup import CounterWindow, Demand
from quota_advisor.model.finding import QuotaAdvice, Recommendation
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import Workload

HEADROOM_FACTOR = 1.5
"""Room above the peak: sizing at the peak itself leaves every busy period at the edge."""

ROUND_UP_PERCENT = 5
"""Quotas are rounded up to this, so that advice does not change with every sample."""

TARGET_THROTTLED_RATIO = 0.01
"""A quota that fits is throttled in fewer of its periods than this."""

MIN_WINDOWS = 50
"""Fewer sampling windows than this make no 95th percentile worth acting on."""


def size_quota(demand: Demand, node_cpus: int) -> QuotaAdvice | Missing:
    """Return the quota for a demand: its 95th percentile × 1.5, rounded up to 5 %.

    Args:
        demand: Use over the sampling windows.
        node_cpus: CPUs of the node, for the share shown beside the number.

    100 % is one core, as systemd has it. Dividing by the node's CPUs, as one field report did,
    turns a need of 330 % into 14 %: the share is shown and never written.
    """
    return _size(demand, node_cpus, demand.p95_cores, "p95")


def suffices(limit: Bandwidth, demand: Demand) -> bool:
    """Whether a limit leaves the peak its headroom, as far as the peak was seen."""
    return limit.cores >= demand.p95_cores * HEADROOM_FACTOR


def recommend(workload: Workload) -> Recommendation | Missing:
    """Return what to do about a workload's quota, with the number where one can be computed."""
    if isinstance(workload.cgroup, Missing):
        return workload.cgroup
    demand = workload.cgroup.demand
    if isinstance(demand, Missing):
        return demand
    if not workload.node.cpus_online:
        return Missing(reason="the CPUs of the machine are not known")
    advice = _advice(workload, demand)
    if isinstance(advice, Missing):
        return advice
    return Recommendation(summary=_summary(workload, advice), quota=advice)


def needs_no_quota(advice: QuotaAdvice, cpus_available: int) -> bool:
    """Whether the need reaches all CPUs, where a quota can only hurt."""
    return advice.cores >= cpus_available


def _advice(workload: Workload, demand: Demand) -> QuotaAdvice | Missing:
    """Size by the p95; by the highest window where the limit cut only peaks that the p95 omits."""
    cpus, limit = len(workload.node.cpus_online), workload.limit
    advice = size_quota(demand, cpus)
    if isinstance(advice, Missing) or not isinstance(limit, Bandwidth):
        return advice
    # What held a workload back is too small for it, whatever the 95th percentile says.
    if not demand.censored_windows or not _misses_target(workload) or advice.cores > limit.cores:
        return advice
    advice = _size(demand, cpus, demand.max_cores, "highest")
    if isinstance(advice, Missing) or advice.cores > limit.cores:
        return advice
    return Missing(
        reason=f"the limit of {limit.percent:.4g} % cut peaks shorter than a window of"
        f" {demand.interval_usec / 1000:g} ms, which hides their height"
    )


def _misses_target(workload: Workload) -> bool:
    """Whether the workload's own limit, not one further up, held it back in the window."""
    window = workload.counters
    if not isinstance(window, CounterWindow) or not isinstance(window.throttled_periods, int):
        return False
    periods = window.periods if isinstance(window.periods, int) else 0
    return window.throttled_periods > TARGET_THROTTLED_RATIO * periods


def _size(
    demand: Demand, node_cpus: int, peak_cores: float, peak_name: str
) -> QuotaAdvice | Missing:
    if demand.windows < MIN_WINDOWS:
        return Missing(
            reason=f"{demand.windows} windows sampled, {MIN_WINDOWS} needed: watch longer"
        )
    # Rounding first keeps 2.2 × 1.5 at 330 % where floating point says 330.0000000001.
    exact_percent = round(peak_cores * HEADROOM_FACTOR * 100, 6)
    percent = max(math.ceil(exact_percent / ROUND_UP_PERCENT) * ROUND_UP_PERCENT, ROUND_UP_PERCENT)
    span = f"{demand.windows} windows of {demand.interval_usec / 1000:g} ms"
    return QuotaAdvice(
        cores=percent / 100,
        cpu_quota_percent=percent,
        share_of_node_ratio=percent / 100 / node_cpus,
        lower_bound=demand.censored_windows > 0,
        formula=(
            f"{peak_name} of {span} = {peak_cores:.3g} cores × {HEADROOM_FACTOR:g}"
            f" = {exact_percent:.4g} %, rounded up to {percent} %"
        ),
        windows=demand.windows,
        interval_usec=demand.interval_usec,
    )


def _summary(workload: Workload, advice: QuotaAdvice) -> str:
    if needs_no_quota(advice, workload.cpus_available):
        return (
            f"no quota: the need of {advice.cpu_quota_percent} % reaches all"
            f" {workload.cpus_available} CPUs; use CPUWeight= to rank this workload"
        )
    share = f"{advice.share_of_node_ratio * 100:.3g} % of this node"
    quota = f"CPUQuota={advice.cpu_quota_percent}%"
    if workload.kind == "container":
        share = f"--cpus={advice.cores:g}, in Kubernetes {round(advice.cores * 1000)}m; {share}"
    if advice.lower_bound:
        return (
            f"{quota} or more ({share}); a lower bound: the limit held the demand back while it"
            " was measured"
        )
    return f"{quota} ({share})"
