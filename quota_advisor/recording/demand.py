"""The demand behind a recording, with what the simulator makes of it."""

from __future__ import annotations

from dataclasses import replace

from quota_advisor.model.cgroup import Demand, SimulatedNeed
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, Bandwidth, Missing, Unlimited
from quota_advisor.recording.reader import HELD, Track
from quota_advisor.recording.schema import About
from quota_advisor.records import NamedTuple
from quota_advisor.sim.bandwidth import (
    DEFAULT_TICK_USEC,
    Setting,
    kernel_of,
    parallelism,
    simulate,
)
from quota_advisor.sim.censored import uncensor
from quota_advisor.sim.sweep import Target, Trial, smallest
from quota_advisor.sim.trace import Trace
from quota_advisor.sim.use import WINDOW_USEC, measure_use

LONG_USEC = 3_600_000_000
"""From an hour on the busiest five minutes count, as they do in dashboards."""

CENSORED_RATIO = 0.01
"""Held back in more of its windows than this, a recording does not show what was wanted."""

BURST_STEPS = 20
"""Bursts are tried in twentieths of the quota."""


class Wanted(NamedTuple):
    """What was wanted behind a recording.

    Attributes:
        least: At least.
        most: At most; None where use tells it.
    """

    least: Trace
    most: Trace | None

    @property
    def decisive(self) -> Trace:
        """What a quota has to serve."""
        return self.most or self.least


def wanted(track: Track) -> Wanted:
    """Return what was wanted behind a track.

    Raises:
        CollectError: The simulator is not installed.
    """
    held = track.held
    if not held:
        return Wanted(track.trace, None)
    estimates = uncensor(track.trace, bytes(mark & HELD for mark in track.marks))
    is_censored = held > CENSORED_RATIO * len(track.marks)
    return Wanted(estimates.least, estimates.most if is_censored else None)


def machine_setting(demand: Wanted, about: About) -> Setting:
    """Return the machine of a recording as the simulator has it, without a limit."""
    return Setting(
        limit=Unlimited(),
        cpus=max(1, min(about.cpus, parallelism(demand.decisive))),
        tick_usec=about.tick_usec or DEFAULT_TICK_USEC,
        kernel=kernel_of(about.kernel),
    )


def demand_of(
    track: Track, about: About, present: Bandwidth | None, target: Target | None = None
) -> Demand | Missing:
    """Return the demand of a track in windows of 100 ms, and what the simulator makes of it.

    Args:
        track: What was recorded.
        about: Where and how.
        present: The quota in force now, to be simulated too.
        target: What a quota has to keep; the default where None.

    Raises:
        CollectError: The simulator is not installed.
    """
    if not any(track.used_usec):
        return Missing(reason="it never ran while it was recorded")
    use = measure_use(track.trace)
    is_long = track.trace.span_usec >= LONG_USEC
    return Demand(
        interval_usec=max(WINDOW_USEC, about.interval_usec),
        windows=use.windows,
        mean_cores=use.mean_cores,
        p95_cores=use.busiest_p95_cores if is_long else use.p95_cores,
        max_cores=use.max_cores,
        censored_windows=min(_held_windows(track), use.windows),
        active_windows=use.active_windows,
        burst_cores=use.max_cores,
        simulated=_simulated(track, about, present, target or Target()),
    )


def _held_windows(track: Track) -> int:
    """Return in how many windows of 100 ms a quota held the group back."""
    found: set[int] = set()
    at_usec = 0
    for elapsed, mark in zip(track.elapsed_usec, track.marks, strict=True):
        at_usec += elapsed
        if mark & HELD:
            found.add(at_usec // WINDOW_USEC)
    return len(found)


def _simulated(
    track: Track, about: About, present: Bandwidth | None, target: Target
) -> SimulatedNeed:
    demand = wanted(track)
    base = machine_setting(demand, about)
    start = replace(base, limit=_one_cpu(DEFAULT_PERIOD_USEC))
    found = smallest(demand.decisive, start, target, base.cpus)
    cores: float | Missing = Missing(reason="no quota below all CPUs keeps the target")
    if found is not None and isinstance(found.setting.limit, Bandwidth):
        cores = found.setting.limit.cores
    if present is None:
        none = Missing(reason="no quota is in force")
        need = SimulatedNeed(target=target.text, cores=cores, limit=none, throttled_ratio=none)
        return _without_burst(need, none.reason)
    need = SimulatedNeed(target=target.text, cores=cores)
    return _with_present(need, demand, base, present, target)


def _with_present(
    need: SimulatedNeed, demand: Wanted, base: Setting, present: Bandwidth, target: Target
) -> SimulatedNeed:
    """Add what the quota in force does, and the smallest burst that would mend it."""
    now = simulate(demand.decisive, replace(base, limit=present))
    need = replace(need, limit=present, throttled_ratio=now.throttled_ratio)
    if target.is_met(now):
        return _without_burst(need, "none is needed")
    burst = _smallest_burst(demand.decisive, replace(base, limit=present), present, target)
    if burst is None:
        return _without_burst(need, "no burst keeps the target")
    return replace(
        need,
        burst_usec=burst.setting.burst_usec,
        burst_throttled_ratio=burst.outcome.throttled_ratio,
    )


def _without_burst(need: SimulatedNeed, why: str) -> SimulatedNeed:
    missing = Missing(reason=why)
    return replace(need, burst_usec=missing, burst_throttled_ratio=missing)


def _smallest_burst(
    trace: Trace, setting: Setting, present: Bandwidth, target: Target
) -> Trial | None:
    for step in range(1, BURST_STEPS + 1):
        tried = replace(setting, burst_usec=present.quota_usec * step // BURST_STEPS)
        outcome = simulate(trace, tried)
        if target.is_met(outcome):
            return Trial(setting=tried, outcome=outcome)
    return None


def _one_cpu(period_usec: int) -> Bandwidth:
    return Bandwidth(quota_usec=period_usec, period_usec=period_usec)
