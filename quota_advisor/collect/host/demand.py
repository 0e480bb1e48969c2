"""From samples of usage to demand, and which windows a limit held back.

The true demand of a window in which the group was held back is unknown: such a window is called
censored. Two signs tell: time stalled by the quota rose, or the use reached the limit's budget.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import sub, truediv

from quota_advisor.model.cgroup import Demand
from quota_advisor.model.limit import Bandwidth, Missing

REACHED = 0.97
"""Share of a budget that counts as used up. The kernel accounts at ticks, and each CPU may keep up
to 1 ms unused, so a group that is held back can be seen a little below its limit."""

ASLEEP_CORES = 0.02
"""Use below which a group stood still: a window in the middle of a long stall."""

BACKWARDS = "usage went backwards while it was sampled"

_NSEC_PER_USEC = 1000


@dataclass(slots=True)
class Samples:
    """Everything read of one cgroup, one entry a sample.

    Attributes:
        times_nsec: Monotonic time of the reading.
        usage: CPU time used.
        stalled: Time stalled by limits; it only matters whether, and by how much, it rose.
        nsec_per_unit: 1 where usage and stalls are in nanoseconds (v1), 1000 for microseconds.
    """

    nsec_per_unit: int
    times_nsec: array[int] = field(default_factory=lambda: array("q"))
    usage: array[int] = field(default_factory=lambda: array("q"))
    stalled: array[int] = field(default_factory=lambda: array("q"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One limit on the way up, and what it allows."""

    limit: Bandwidth
    burst_usec: int

    def nsec(self, elapsed_nsec: int) -> float:
        """Return the CPU time that a window may hold before the limit is felt.

        A whole quota may be spent in a window shorter than the period without any wait, hence
        never less than that.
        """
        at_least = max(elapsed_nsec, self.limit.period_usec * _NSEC_PER_USEC)
        return self.limit.cores * at_least + self.burst_usec * _NSEC_PER_USEC


@dataclass(frozen=True, slots=True)
class Trace:
    """The windows between the samples of one cgroup.

    Attributes:
        elapsed_nsec: Real length of each window.
        used_nsec: CPU time used in it.
        stalled_nsec: By how much the stalled time rose in it.
    """

    elapsed_nsec: Sequence[int]
    used_nsec: Sequence[int]
    stalled_nsec: Sequence[int]

    @property
    def cores(self) -> list[float]:
        """Use of each window."""
        return list(map(truediv, self.used_nsec, self.elapsed_nsec))


def trace(samples: Samples) -> Trace:
    """Return the windows between the samples; two at the same moment make none."""
    scale = samples.nsec_per_unit
    return Trace(
        elapsed_nsec=[max(step, 1) for step in _steps(samples.times_nsec)],
        used_nsec=[step * scale for step in _steps(samples.usage)],
        stalled_nsec=[step * scale for step in _steps(samples.stalled)],
    )


def measure(
    seen: Trace, interval_usec: int, budgets: Sequence[Budget], above: Iterable[Trace] = ()
) -> Demand | Missing:
    """Return the demand of one cgroup.

    Args:
        seen: Its windows.
        interval_usec: Their nominal length.
        budgets: Limits of the group and its ancestors.
        above: Windows of limited ancestors, where the kernel does not tell how long the group
            itself was stalled by them (no ``cpu.stat.local``).

    The percentile is by nearest rank: a use that was really seen, never one between two.
    """
    if not seen.elapsed_nsec:
        return Missing(reason="no sampling window was completed")
    if min(seen.used_nsec) < 0:
        return Missing(reason=BACKWARDS)
    cores = seen.cores
    ranked = sorted(cores)
    return Demand(
        interval_usec=interval_usec,
        windows=len(cores),
        mean_cores=sum(seen.used_nsec) / sum(seen.elapsed_nsec),
        p95_cores=ranked[math.ceil(0.95 * len(ranked)) - 1],
        max_cores=ranked[-1],
        censored_windows=sum(censored(seen, budgets, above)) if budgets else 0,
    )


def censored(seen: Trace, budgets: Sequence[Budget], above: Iterable[Trace] = ()) -> list[bool]:
    """Tell of each window whether a limit held the demand back."""
    period_nsec = max(budget.limit.period_usec for budget in budgets) * _NSEC_PER_USEC
    marks = stalled(seen, period_nsec)
    # Most groups stay far below their limit: for those one comparison is enough.
    if max(seen.used_nsec, default=0) >= REACHED * min(b.nsec(0) for b in budgets):
        for index, elapsed in enumerate(seen.elapsed_nsec):
            budget = min(b.nsec(elapsed) for b in budgets)
            marks[index] |= seen.used_nsec[index] >= REACHED * budget
    for ancestor in above:
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
