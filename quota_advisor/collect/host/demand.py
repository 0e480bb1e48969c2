"""From samples of usage to demand, and which windows a limit held back.

The true demand of a window in which the group was held back is unknown: such a window is called
censored. The kernel tells: it counted throttled periods, and the time stalled by them rose. Use
close to a limit is no sign; a workload may need just that.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Sequence
from dataclasses import field
from operator import sub, truediv

from quota_advisor.model.cgroup import Demand, UseTrace
from quota_advisor.model.limit import Missing
from quota_advisor.records import dataclass

ASLEEP_CORES = 0.02
"""Use below which a group stood still: a window in the middle of a long stall, or without work."""

LATE_FACTOR = 2
"""A window longer than this many intervals shows no peak any more: it is left out and counted."""

BACKWARDS = "usage went backwards while it was sampled"
TOO_LATE = "this machine was too busy to sample it: every window was far too long"

MAX_POINTS = 600
"""Points of a trace that is kept: more than a picture of it has room for."""

_NSEC_PER_USEC = 1000


@dataclass(slots=True)
class Samples:
    """Everything read of one cgroup, one entry a sample.

    Attributes:
        times_nsec: Monotonic time of the reading.
        usage: CPU time used.
        stalled: Time stalled by limits; it only matters whether, and by how much, it rose.
        periods: Periods of the group's own limit; empty where it has none.
        throttled: Those of them that ended throttled.
        nsec_per_unit: 1 where usage and stalls are in nanoseconds (v1), 1000 for microseconds.
    """

    nsec_per_unit: int
    times_nsec: array[int] = field(default_factory=lambda: array("q"))
    usage: array[int] = field(default_factory=lambda: array("q"))
    stalled: array[int] = field(default_factory=lambda: array("q"))
    periods: array[int] = field(default_factory=lambda: array("q"))
    throttled: array[int] = field(default_factory=lambda: array("q"))


@dataclass(frozen=True, slots=True)
class Trace:
    """The windows between the samples of one cgroup.

    Attributes:
        elapsed_nsec: Real length of each window.
        used_nsec: CPU time used in it.
        stalled_nsec: By how much the stalled time rose in it.
        periods: Periods of the group's own limit that ended in it.
        throttled: Those of them that ended throttled.
    """

    elapsed_nsec: Sequence[int]
    used_nsec: Sequence[int]
    stalled_nsec: Sequence[int]
    periods: Sequence[int] = ()
    throttled: Sequence[int] = ()

    @property
    def cores(self) -> list[float]:
        """Use of each window."""
        return list(map(truediv, self.used_nsec, self.elapsed_nsec))

    @property
    def was_throttled(self) -> bool:
        """Whether the kernel counted a throttled period of the group's own limit."""
        return any(self.throttled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Above:
    """The limits that may hold a group back, seen from the group.

    Attributes:
        period_usec: The longest period among them and its own; 0 where nothing limits it.
        traces: Windows of its limited ancestors.
        is_told: The kernel tells how long the group itself was stalled by them
            (``cpu.stat.local``).
    """

    period_usec: int = 0
    traces: Sequence[Trace] = ()
    is_told: bool = False


def trace(samples: Samples) -> Trace:
    """Return the windows between the samples; two at the same moment make none."""
    scale = samples.nsec_per_unit
    return Trace(
        elapsed_nsec=[max(step, 1) for step in _steps(samples.times_nsec)],
        used_nsec=[step * scale for step in _steps(samples.usage)],
        stalled_nsec=[step * scale for step in _steps(samples.stalled)],
        periods=_steps(samples.periods),
        throttled=_steps(samples.throttled),
    )


def measure(seen: Trace, interval_usec: int, above: Above) -> Demand | Missing:
    """Return the demand of one cgroup.

    Args:
        seen: Its windows.
        interval_usec: Their intended length.
        above: The limits that may hold it back.

    The percentile is taken over the active windows: of a service that works for 60 ms every 3 s,
    95 % of all windows show nothing. It is by nearest rank, each window weighing what it lasted: a
    use that was really seen, never one between two.
    """
    if not seen.elapsed_nsec:
        return Missing(reason="no sampling window was completed")
    if min(seen.used_nsec) < 0:
        return Missing(reason=BACKWARDS)
    cores, longest = seen.cores, LATE_FACTOR * interval_usec * _NSEC_PER_USEC
    kept = [index for index, elapsed in enumerate(seen.elapsed_nsec) if elapsed <= longest]
    if not kept:
        return Missing(reason=TOO_LATE)
    active = [index for index in kept if cores[index] >= ASLEEP_CORES]
    marks = censored(seen, above)
    return Demand(
        interval_usec=round(
            sum(seen.elapsed_nsec[index] for index in kept) / len(kept) / _NSEC_PER_USEC
        ),
        windows=len(kept),
        mean_cores=sum(seen.used_nsec) / sum(seen.elapsed_nsec),
        p95_cores=_percentile(seen, cores, active or kept, 0.95),
        max_cores=max(cores[index] for index in kept),
        censored_windows=sum(marks[index] for index in kept),
        active_windows=len(active),
        burst_cores=_highest_burst(seen, cores, interval_usec * _NSEC_PER_USEC),
    )


def outline(seen: Trace, above: Above) -> UseTrace | Missing:
    """Return how use went, in no more points than a picture has room for."""
    if not seen.elapsed_nsec or min(seen.used_nsec) < 0:
        return Missing(reason=BACKWARDS if seen.elapsed_nsec else "nothing was sampled")
    cores, marks = seen.cores, censored(seen, above)
    step = -(-len(cores) // MAX_POINTS)
    parts = [slice(start, start + step) for start in range(0, len(cores), step)]
    return UseTrace(
        interval_usec=round(sum(seen.elapsed_nsec) / len(parts) / _NSEC_PER_USEC),
        cores=tuple(round(max(cores[part]), 4) for part in parts),
        held=tuple(any(marks[part]) for part in parts),
    )


def _percentile(seen: Trace, cores: list[float], chosen: list[int], share: float) -> float:
    """Return the use that the chosen windows stay within for a share of their time."""
    ranked = sorted(chosen, key=lambda index: cores[index])
    left = share * sum(seen.elapsed_nsec[index] for index in chosen)
    for index in ranked:
        left -= seen.elapsed_nsec[index]
        # Nanoseconds: what is less than one is the noise of floating point.
        if left < 1:
            return cores[index]
    return cores[ranked[-1]]


def _highest_burst(seen: Trace, cores: list[float], interval_nsec: int) -> float:
    """Return the highest window, or the highest burst of two windows between quiet ones.

    Bursts do not keep to the sampler's grid: one of 60 ms falls into two windows more often than
    into one. With silence around it, all of it may have come within one period.
    """
    longest = LATE_FACTOR * interval_nsec
    late = [elapsed > longest for elapsed in seen.elapsed_nsec]
    highest = max((c for c, is_late in zip(cores, late, strict=True) if not is_late), default=0.0)
    # Most groups never come near their highest window: a glance at each pair is enough.
    for index in range(1, len(cores) - 2):
        pair = (seen.used_nsec[index] + seen.used_nsec[index + 1]) / interval_nsec
        if pair <= highest or late[index] or late[index + 1]:
            continue
        if cores[index - 1] < ASLEEP_CORES and cores[index + 2] < ASLEEP_CORES:
            highest = pair
    return highest


def censored(seen: Trace, above: Above) -> list[bool]:
    """Tell of each window whether a limit held the demand back."""
    marks = [False] * len(seen.elapsed_nsec)
    if not above.period_usec:
        return marks
    period_nsec = above.period_usec * _NSEC_PER_USEC
    culprits = [ancestor for ancestor in above.traces if ancestor.was_throttled]
    # A stall that the kernel heals within its period leaves time, but no throttled period.
    if seen.was_throttled or (above.is_told and culprits):
        marks = stalled(seen, period_nsec)
    for ancestor in () if above.is_told else culprits:
        for index, held in enumerate(stalled(ancestor, period_nsec)[: len(marks)]):
            # An idle child of a throttled parent waits for nothing.
            marks[index] |= held and any(seen.used_nsec[max(index - 1, 0) : index + 1])
    return marks


def stalled(seen: Trace, period_nsec: int) -> list[bool]:
    """Tell of each window whether the group was stalled in it.

    The kernel adds a stall to its counter when the stall ends. One that lasted for several windows
    (a period of 1 s) therefore shows only in the last of them; those before it in which the group
    stood still belong to it, as far back as the counted time and the period reach. A stall that
    ends just after a window is seen in the next only: the number of marks is a lower bound.
    """
    if not any(seen.stalled_nsec):
        return [False] * len(seen.stalled_nsec)
    marks = [rise > 0 for rise in seen.stalled_nsec]
    cores = seen.cores
    for index, rise in enumerate(seen.stalled_nsec):
        reach = min(rise, period_nsec) - seen.elapsed_nsec[index]
        before = index - 1
        while before >= 0 and reach >= seen.elapsed_nsec[before] and cores[before] < ASLEEP_CORES:
            marks[before] = True
            reach -= seen.elapsed_nsec[before]
            before -= 1
    return marks


def _steps(values: array[int]) -> list[int]:
    return list(map(sub, values[1:], values[:-1]))


def correlation_of_runs(seen: Trace) -> float:
    """Return the correlation of each period's being throttled with that of the one before it.

    0 where all are alike. Periods that ended in one window are taken as one run of throttled ones
    and one of others: the cautious reading where the order is not known.
    """
    counts = [
        (hits, ended - hits)
        for ended, hits in zip(seen.periods, seen.throttled, strict=True)
        if ended > 0 and 0 <= hits <= ended
    ]
    hits, number = sum(h for h, _ in counts), sum(h + m for h, m in counts)
    if not 0 < hits < number:
        return 0.0
    both = sum(max(h - 1, 0) for h, _ in counts) + sum(
        not missed and following > 0 for (_, missed), (following, _) in itertools.pairwise(counts)
    )
    first, last = counts[0][0] > 0, counts[-1][1] == 0
    mean = hits / number
    before_and_after = (hits - last) + (hits - first)
    together = both - mean * before_and_after + mean * mean * (number - 1)
    return min(max(together / (hits * (1 - mean)), 0.0), 1.0)
