"""What a quota would do to a demand: the kernel's bandwidth control, simulated.

The simulator is a library in C (``native/sim``); ``sim.h`` says what of the kernel it keeps.
"""

from __future__ import annotations

import ctypes
import random
from enum import IntEnum

from quota_advisor.model.limit import Bandwidth, Missing, Unlimited
from quota_advisor.records import dataclass
from quota_advisor.sim.native import NO_MEMORY, NativeResult, NativeSetting, library, pointers
from quota_advisor.sim.trace import Trace

DEFAULT_TICK_USEC = 4_000
"""CONFIG_HZ=250, as most distributions build their kernels."""

DEFAULT_SLICE_USEC = 5_000
"""``sched_cfs_bandwidth_slice_us``, which next to nobody changes."""

_NSEC = 1_000


class Kernel(IntEnum):
    """Kernels that differ in what they do to a demand, or in what they count.

    Attributes:
        EXPIRING: 4.18 to 5.3 without fixes: what a CPU did not use expires with the period.
        PER_CPU: 5.4 to 6.17.
        PER_TASK: From 6.18 on; throttled time begins when a task has to wait.
    """

    EXPIRING = 1
    PER_CPU = 2
    PER_TASK = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One quota to try, on one machine.

    Attributes:
        limit: Quota and period.
        burst_usec: What may be saved up.
        cpus: The most CPUs that the group runs on at once.
        tick_usec: The scheduler's tick: how often a running CPU is charged for what it used.
        slice_usec: What a CPU takes of the quota at a time.
        kernel: Which kernel's rules.
        seed: Chooses where in its period the timer stands when the trace begins.
    """

    limit: Bandwidth | Unlimited
    burst_usec: int = 0
    cpus: int = 1
    tick_usec: int = DEFAULT_TICK_USEC
    slice_usec: int = DEFAULT_SLICE_USEC
    kernel: Kernel = Kernel.PER_TASK
    seed: int = 0

    @property
    def phase_usec(self) -> int:
        """Where in its period the timer stands when the trace begins."""
        period_usec = _period_usec(self.limit)
        return random.Random(self.seed).randrange(period_usec)  # noqa: S311 - not for secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How much later than without a limit the work was done: percentiles of the work.

    Attributes:
        p50_usec, p95_usec, p99_usec, p999_usec, max_usec: Microseconds.
    """

    p50_usec: float
    p95_usec: float
    p99_usec: float
    p999_usec: float
    max_usec: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a quota would do.

    Attributes:
        periods: Expiries of the period's timer while it was active (``nr_periods``).
        throttled_periods: Those of them that found a CPU throttled (``nr_throttled``).
        throttled_usec: Summed over CPUs (``throttled_usec``).
        burst_periods: Periods that used more than the quota (``nr_bursts``).
        burst_usec: What they used beyond it (``burst_usec``).
        elapsed_usec: Length of the trace.
        demand_usec: CPU time that was asked for.
        used_usec: CPU time that was used.
        backlog_usec: CPU time that was still owed when the trace ended.
        stalled_usec: Time in which work waited and no CPU was allowed to run any of it.
        delay: By how much the work was late.
    """

    periods: int
    throttled_periods: int
    throttled_usec: float
    burst_periods: int
    burst_usec: float
    elapsed_usec: float
    demand_usec: float
    used_usec: float
    backlog_usec: float
    stalled_usec: float
    delay: Delay

    @property
    def throttled_ratio(self) -> float | Missing:
        """Share of the active periods that were throttled."""
        if not self.periods:
            return Missing(reason="no period of a quota was active")
        return self.throttled_periods / self.periods

    @property
    def used_cores(self) -> float:
        """Use on average."""
        return self.used_usec / max(self.elapsed_usec, 1)


def simulate(trace: Trace, setting: Setting) -> Outcome:
    """Run a trace under a limit. Other threads go on meanwhile.

    Raises:
        CollectError: The library is not installed.
        ValueError: The kernel would refuse the limit.
        MemoryError: Memory is short.
    """
    result = NativeResult()
    code = library().quota_sim_run(
        ctypes.byref(pointers(trace)), ctypes.byref(_native(setting)), ctypes.byref(result)
    )
    if code == NO_MEMORY:
        raise MemoryError
    if code:
        raise ValueError(f"the kernel takes no limit like {setting.limit} with this burst")
    return _outcome(result)


def parallelism(trace: Trace) -> int:
    """Return the most CPUs that a window of the trace shows at work, at least 1.

    Raises:
        CollectError: The library is not installed.
    """
    number: int = library().quota_sim_parallelism(ctypes.byref(pointers(trace)))
    return number


def kernel_of(release: str) -> Kernel:
    """Return the rules of a kernel by its release; the newest where it tells nothing.

    Kernels of distributions carry fixes under older numbers: the expiry of slices is left to who
    asks for it by name.
    """
    numbers = release.split("-", maxsplit=1)[0].split(".")
    if len(numbers) < 2 or not (numbers[0].isdigit() and numbers[1].isdigit()):  # noqa: PLR2004
        return Kernel.PER_TASK
    return Kernel.PER_CPU if (int(numbers[0]), int(numbers[1])) < (6, 18) else Kernel.PER_TASK


def _period_usec(limit: Bandwidth | Unlimited) -> int:
    # Without a quota the period does nothing; the kernel has its default there.
    return limit.period_usec if isinstance(limit, Bandwidth) else 100_000


def _native(setting: Setting) -> NativeSetting:
    limit = setting.limit
    return NativeSetting(
        quota_ns=limit.quota_usec * _NSEC if isinstance(limit, Bandwidth) else 0,
        period_ns=_period_usec(limit) * _NSEC,
        burst_ns=setting.burst_usec * _NSEC,
        phase_ns=setting.phase_usec * _NSEC,
        tick_ns=setting.tick_usec * _NSEC,
        slice_ns=setting.slice_usec * _NSEC,
        cpus=setting.cpus,
        kernel=int(setting.kernel),
    )


def _outcome(result: NativeResult) -> Outcome:
    return Outcome(
        periods=result.nr_periods,
        throttled_periods=result.nr_throttled,
        throttled_usec=result.throttled_ns / _NSEC,
        burst_periods=result.nr_bursts,
        burst_usec=result.burst_ns / _NSEC,
        elapsed_usec=result.elapsed_ns / _NSEC,
        demand_usec=result.demand_ns / _NSEC,
        used_usec=result.used_ns / _NSEC,
        backlog_usec=result.backlog_ns / _NSEC,
        stalled_usec=result.stalled_ns / _NSEC,
        delay=Delay(
            p50_usec=result.delay_p50_ns / _NSEC,
            p95_usec=result.delay_p95_ns / _NSEC,
            p99_usec=result.delay_p99_ns / _NSEC,
            p999_usec=result.delay_p999_ns / _NSEC,
            max_usec=result.delay_max_ns / _NSEC,
        ),
    )
