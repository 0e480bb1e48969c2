"""How many threads of a workload run at a time: most threads sleep."""

from __future__ import annotations

import math

from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import Workload

NOISE_CORES = 0.05
"""What one busy thread may seem to use above one CPU: usage rises in steps (up to 3 % a window)."""


def running_threads(workload: Workload) -> int:
    """Return how many threads were seen to want a CPU at the same time, at least.

    Use above one core takes more than one. While a limit holds, the kernel sums throttled time
    over CPUs: divided by the time in which the group may have been throttled, that is the number
    of CPUs on which it waited. Without counters one is assumed; none run in a group that used
    nothing.
    """
    group, window = workload.cgroup, workload.counters
    if isinstance(group, Missing):
        return 0
    if not isinstance(window, Missing) and window.usage_usec == 0:
        return 0
    seen = max(1, _by_use(workload), _by_throttled_time(workload))
    threads = group.threads if isinstance(group.threads, int) and group.threads else seen
    return max(min(seen, threads, workload.cpus_available), 1)


def _by_use(workload: Workload) -> int:
    group = workload.cgroup
    if isinstance(group, Missing) or isinstance(group.demand, Missing):
        return 1
    return math.ceil(group.demand.max_cores - NOISE_CORES)


def _by_throttled_time(workload: Workload) -> int:
    limit, window = workload.limit, workload.counters
    if not isinstance(limit, Bandwidth) or isinstance(window, Missing):
        return 1
    periods, throttled = window.throttled_periods, window.throttled_usec
    if not isinstance(periods, int) or not isinstance(throttled, int) or periods <= 0:
        return 1
    return math.ceil(throttled / (periods * limit.period_usec) - NOISE_CORES)
