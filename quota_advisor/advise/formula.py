"""The quota that a measured demand needs."""

from __future__ import annotations

import math

from quota_advisor.model.advice import Need
from quota_advisor.model.cgroup import Demand
from quota_advisor.model.limit import Bandwidth, Missing

HEADROOM_FACTOR = 1.5
"""Room above the peak: sizing at the peak itself leaves every busy period at the edge."""

ROUND_UP_PERCENT = 5
"""Quotas are rounded up to this, so that advice does not change with every sample."""

MIN_WINDOWS = 50
"""Fewer sampling windows than this make no 95th percentile worth acting on."""


def with_headroom(peak_cores: float) -> float:
    """Return the cores that a peak needs.

    Rounded, for 2.2 × 1.5 is 3.3 and not the 3.3000000000000003 that floating point makes of it:
    a quota of exactly what was advised is enough.
    """
    return round(peak_cores * HEADROOM_FACTOR, 8)


def suffices(limit: Bandwidth, demand: Demand) -> bool:
    """Whether a limit leaves the peak its headroom, as far as the peak was seen."""
    return limit.cores >= with_headroom(demand.p95_cores)


def size_for_p95(demand: Demand, node_cpus: int) -> Need | Missing:
    """Return the quota for a demand: its 95th percentile × 1.5, rounded up to 5 %.

    Args:
        demand: Use over the sampling windows.
        node_cpus: CPUs of the node, for the share shown beside the number.

    100 % is one core, as systemd has it. Dividing by the node's CPUs, as one field report did,
    turns a need of 330 % into 14 %: the share is shown and never written.
    """
    if demand.windows < MIN_WINDOWS:
        return Missing(
            reason=f"{demand.windows} windows sampled, {MIN_WINDOWS} needed: watch longer"
        )
    return _size(demand, node_cpus, demand.p95_cores, "p95")


def size_for_highest(demand: Demand, node_cpus: int) -> Need:
    """Return the quota for the highest window, by the same formula.

    For what the 95th percentile omits: peaks in fewer than 5 % of the windows.
    """
    return _size(demand, node_cpus, demand.max_cores, "highest")


def _size(demand: Demand, node_cpus: int, peak_cores: float, peak_name: str) -> Need:
    exact_percent = round(with_headroom(peak_cores) * 100, 6)
    percent = max(math.ceil(exact_percent / ROUND_UP_PERCENT) * ROUND_UP_PERCENT, ROUND_UP_PERCENT)
    span = f"{demand.windows} windows of {demand.interval_usec / 1000:g} ms"
    return Need(
        cores=percent / 100,
        percent=percent,
        share_of_node_ratio=percent / 100 / node_cpus,
        lower_bound=demand.censored_windows > 0,
        formula=(
            f"{peak_name} of {span} = {peak_cores:.3g} cores × {HEADROOM_FACTOR:g}"
            f" = {exact_percent:.4g} %, rounded up to {percent} %"
        ),
        windows=demand.windows,
        interval_usec=demand.interval_usec,
    )
