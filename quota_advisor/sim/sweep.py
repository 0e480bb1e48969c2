"""Trying many quotas: which one is the smallest that is good enough."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from quota_advisor.model.limit import MIN_QUOTA_USEC, Bandwidth, Missing
from quota_advisor.records import dataclass
from quota_advisor.sim.bandwidth import Outcome, Setting, simulate
from quota_advisor.sim.trace import Trace
from quota_advisor.units import format_ratio, format_usec

STEP_RATIO = 0.05
"""Quotas are tried in steps of 5 % of a CPU, as systemd's are rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a quota has to keep.

    Attributes:
        throttled_ratio: Throttled in fewer of its active periods than this.
        p99_usec: 99 % of the work later than without a quota by less than this.
    """

    throttled_ratio: float = 0.01
    p99_usec: float = 10_000

    @property
    def text(self) -> str:
        """The target for people."""
        return (
            f"throttled in less than {format_ratio(self.throttled_ratio)} of its periods,"
            f" 99 % of the work less than {format_usec(self.p99_usec)} late"
        )

    def is_met(self, outcome: Outcome) -> bool:
        """Whether an outcome keeps it; work that is still owed at the end is later than any."""
        ratio = outcome.throttled_ratio
        throttled = 0.0 if isinstance(ratio, Missing) else ratio
        return throttled < self.throttled_ratio and outcome.delay.p99_usec < self.p99_usec


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A setting and what it would do."""

    setting: Setting
    outcome: Outcome


def run_all(trace: Trace, settings: Sequence[Setting]) -> list[Trial]:
    """Return what each setting would do to a trace, on all CPUs at once.

    Raises:
        CollectError: The library is not installed.
        ValueError: The kernel would refuse a limit.
        MemoryError: Memory is short.
    """

    def run(setting: Setting) -> Trial:
        return Trial(setting=setting, outcome=simulate(trace, setting))

    if len(settings) < 2:  # noqa: PLR2004 - nothing to do side by side
        return [run(setting) for setting in settings]
    with ThreadPoolExecutor(max_workers=min(len(os.sched_getaffinity(0)), len(settings))) as pool:
        return list(pool.map(run, settings))


def smallest(trace: Trace, start: Setting, target: Target, most_cores: float) -> Trial | None:
    """Return the smallest quota that keeps a target, in steps of 5 %; None where none does.

    Args:
        trace: The demand.
        start: Its period, burst share and machine are kept; its quota is not. A burst counts as a
            share of the quota, as it may not be more than that.
        target: What to keep.
        most_cores: The largest quota to try.

    More quota never throttles more, so that halving the range finds it.
    """
    steps = range(1, math.ceil(most_cores / STEP_RATIO) + 1)
    share = _burst_share(start)
    found: Trial | None = None
    low, high = 0, len(steps) - 1
    while low <= high:
        middle = (low + high) // 2
        setting = with_cores(start, steps[middle] * STEP_RATIO, share)
        trial = Trial(setting=setting, outcome=simulate(trace, setting))
        if target.is_met(trial.outcome):
            found, high = trial, middle - 1
        else:
            low = middle + 1
    return found


def frontier(
    trace: Trace, starts: Iterable[Setting], target: Target, most_cores: float
) -> list[Trial]:
    """Return the smallest quota that keeps the target for each period and burst, smallest first."""

    def search(start: Setting) -> Trial | None:
        return smallest(trace, start, target, most_cores)

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        found = [trial for trial in pool.map(search, starts) if trial is not None]
    return sorted(found, key=_by_cores)


def with_cores(setting: Setting, cores: float, burst_share: float) -> Setting:
    """Return a setting with another quota, and a burst that is this share of it."""
    limit = setting.limit
    period_usec = limit.period_usec if isinstance(limit, Bandwidth) else 100_000
    quota_usec = max(round(cores * period_usec), MIN_QUOTA_USEC)
    return replace(
        setting,
        limit=Bandwidth(quota_usec=quota_usec, period_usec=period_usec),
        burst_usec=round(quota_usec * burst_share),
    )


def _burst_share(setting: Setting) -> float:
    limit = setting.limit
    return setting.burst_usec / limit.quota_usec if isinstance(limit, Bandwidth) else 0.0


def _by_cores(trial: Trial) -> tuple[float, int, float]:
    limit = trial.setting.limit
    cores = limit.cores if isinstance(limit, Bandwidth) else math.inf
    # Of equals the one with less burst and the more usual period.
    period_usec = limit.period_usec if isinstance(limit, Bandwidth) else 0
    return (round(cores, 6), trial.setting.burst_usec, -period_usec)
