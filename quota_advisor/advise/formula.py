"""The quota that a measured demand needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from quota_advisor.model.advice import Need
from quota_advisor.model.cgroup import Demand, SimulatedNeed
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.records import NamedTuple
from quota_advisor.units import USEC_PER_SEC, format_usec

HEADROOM_FACTOR = 1.5
"""Room above the peak: sizing at the peak itself leaves every busy period at the edge."""

BURST_FACTOR = 1.1
"""Room above the highest burst, which is no percentile: nothing higher was seen at all."""

ROUND_UP_PERCENT = 5
"""Quotas are rounded up to this, so that advice does not change with every sample."""

MIN_WATCHED_USEC = 5_000_000
"""Who watches for a shorter time sees what happens to happen."""

MIN_ACTIVE_USEC = 200_000
"""Two periods of activity: less is no more than a start."""


class _Peak(NamedTuple):
    """A peak with the room that it needs.

    Attributes:
        cores: The peak.
        factor: The room.
        name: What it is, for people.
    """

    cores: float
    factor: float
    name: str

    @property
    def needed_cores(self) -> float:
        """The peak with its room.

        Rounded, for 2.2 × 1.5 is 3.3 and not the 3.3000000000000003 that floating point makes of
        it: a quota of exactly what was advised is enough.
        """
        return round(self.cores * self.factor, 8)


def too_little(demand: Demand) -> Missing | None:
    """Return why a demand was seen for too short a time to size from, or None if it was not."""
    watched, active = demand.watched_usec, demand.active_usec
    if watched < MIN_WATCHED_USEC:
        wanted = format_usec(MIN_WATCHED_USEC)
        return Missing(reason=f"watched for {format_usec(watched)}, {wanted} needed: watch longer")
    if active < MIN_ACTIVE_USEC:
        spans = f"{format_usec(active)} of {format_usec(watched)}"
        return Missing(reason=f"it ran for {spans}, {format_usec(MIN_ACTIVE_USEC)} needed")
    return None


def size_for_peak(
    demand: Demand,
    node_cpus: int,
    *,
    held_by: Bandwidth | None = None,
    is_lower_bound: bool = False,
) -> Need | Missing:
    """Return the quota for a demand, rounded up to 5 %.

    Args:
        demand: Use over the sampling windows.
        node_cpus: CPUs of the node, for the share shown beside the number.
        held_by: The limit that held the demand back while it was measured: the peak is at least
            what that limit lets through, whatever the windows show.
        is_lower_bound: The demand was held back, by whatever limit.

    The largest of two: the 95th percentile of the active windows × 1.5, for work that goes on, and
    the highest burst × 1.1, for work that comes so rarely that no percentile sees it whole.

    100 % is one core, as systemd has it. Dividing by the node's CPUs, as one field report did,
    turns a need of 330 % into 14 %: the share is shown and never written.
    """
    why = too_little(demand)
    if why is not None:
        return why
    peaks = [
        _Peak(demand.p95_cores, HEADROOM_FACTOR, f"p95 of {_active_text(demand)}"),
        _Peak(demand.highest_cores, BURST_FACTOR, f"highest burst in {windows_text(demand)}"),
    ]
    if held_by is not None:
        peaks.append(_Peak(held_by.cores, HEADROOM_FACTOR, "the quota that held it back"))
    return _size(demand, node_cpus, peaks, is_lower_bound=is_lower_bound)


def size_for_highest(demand: Demand, node_cpus: int) -> Need:
    """Return the quota that leaves the highest burst the room of a percentile: for a cut."""
    peak = _Peak(demand.highest_cores, HEADROOM_FACTOR, f"highest burst in {windows_text(demand)}")
    return _size(demand, node_cpus, [peak], is_lower_bound=False)


def windows_text(demand: Demand) -> str:
    """Return how many sampling windows there were, and how long."""
    return f"{demand.windows} windows of {_length(demand)}"


def _length(demand: Demand) -> str:
    # Those of a host are near 100 ms, and said to the microsecond; those of a history are minutes.
    if demand.interval_usec < USEC_PER_SEC:
        return f"{demand.interval_usec / 1000:.4g} ms"
    return format_usec(demand.interval_usec)


def _active_text(demand: Demand) -> str:
    active = demand.active_windows
    if isinstance(active, Missing) or active in (0, demand.windows):
        return windows_text(demand)
    return f"{active} active windows of {_length(demand)}"


def _size(demand: Demand, node_cpus: int, peaks: Sequence[_Peak], *, is_lower_bound: bool) -> Need:
    """Return the largest of the peaks with their room, and never less than the simulator needs."""
    peak = max(peaks, key=lambda peak: peak.needed_cores)
    simulated = _simulated_cores(demand, node_cpus)
    exact_percent = round(max(peak.needed_cores, simulated) * 100, 6)
    percent = max(math.ceil(exact_percent / ROUND_UP_PERCENT) * ROUND_UP_PERCENT, ROUND_UP_PERCENT)
    return Need(
        cores=percent / 100,
        percent=percent,
        share_of_node_ratio=percent / 100 / node_cpus,
        lower_bound=is_lower_bound,
        formula=_formula(demand, peak, percent),
        windows=demand.windows,
        interval_usec=demand.interval_usec,
    )


def _simulated_cores(demand: Demand, node_cpus: int) -> float:
    """Return what the simulator needs: all CPUs where less is not enough, 0 where nobody asked."""
    simulated = demand.simulated
    if not isinstance(simulated, SimulatedNeed):
        return 0.0
    return simulated.cores if isinstance(simulated.cores, float) else float(node_cpus)


def _formula(demand: Demand, peak: _Peak, percent: int) -> str:
    """Return the arithmetic, with both numbers where the simulator had a say."""
    needed_percent = round(peak.needed_cores * 100, 6)
    text = f"{peak.name} = {peak.cores:.3g} cores × {peak.factor:g} = {needed_percent:.4g} %"
    simulated = demand.simulated
    if isinstance(simulated, SimulatedNeed):
        told = simulated.cores
        what = f"{told * 100:.4g} %" if isinstance(told, float) else "all CPUs"
        text += f"; simulated, it needs {what} ({simulated.target})"
    return f"{text}, rounded up to {percent} %"
