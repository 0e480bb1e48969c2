"""A recording under other quotas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from quota_advisor.advise.formula import size_for_peak
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.model.advice import Need
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.recording.demand import (
    CENSORED_RATIO,
    Wanted,
    demand_of,
    machine_setting,
    wanted,
)
from quota_advisor.recording.reader import Recording, Track
from quota_advisor.recording.schema import About
from quota_advisor.records import dataclass
from quota_advisor.sim.bandwidth import (
    Outcome,
    Setting,
    parallelism,
)
from quota_advisor.sim.sweep import Trial, frontier, run_all, with_cores
from quota_advisor.sim.use import Use, measure_use
from quota_advisor.simulate.order import Order
from quota_advisor.units import format_cores, format_ratio, format_usec

SWEEP_PERIODS_USEC = (100_000, 50_000, 20_000)
"""Shorter ones gain nothing: the tick bounds how short a stall can get."""

SWEEP_BURST_SHARES = (0.0, 0.5, 1.0)
"""Bursts as shares of the quota; 1 is the most that the kernel takes."""

CURVE_POINTS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One quota.

    Attributes:
        setting: The quota, and the machine.
        outcome: What it would do to what was at least wanted.
        at_most: What it would do to what was at most wanted; None where nothing held it back
            while it was recorded, so that what it used is what it wanted.
    """

    setting: Setting
    outcome: Outcome
    at_most: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What other quotas would have done.

    Attributes:
        order: What was asked for.
        about: The recording.
        name: What was recorded.
        use: Its use.
        span_usec: Length of the recording.
        held_ratio: Share of its windows in which a quota held it back.
        candidates: In the order asked for.
        frontier: The smallest quota that keeps the target for each period and burst, smallest
            first; empty without ``sweep``.
        need: The quota to set, headroom included; missing without ``sweep``.
        curve: Quotas from small to large without burst, for the picture; empty without ``sweep``.
        notes: What a reader of the numbers should know.
    """

    order: Order
    about: About
    name: str
    use: Use
    span_usec: int
    held_ratio: float
    candidates: tuple[Candidate, ...]
    frontier: tuple[Candidate, ...]
    need: Need | Missing
    curve: tuple[Candidate, ...]
    notes: tuple[str, ...]

    @property
    def answer(self) -> Candidate | None:
        """The smallest quota that keeps the target; None where none was found or asked for.

        Of a candidate without burst and with the default period, where that is as small: it takes
        no file that a reload or restart forgets.
        """
        return self.frontier[0] if self.frontier else None


def simulate_recording(recording: Recording, order: Order) -> Result:
    """Return what the quotas of an order would have done to a recording.

    Raises:
        UsageError: The recording holds several cgroups and none is chosen, or a quota is one
            that no kernel takes.
        CollectError: It never ran, or the simulator is not installed.
    """
    track = _choose(recording, order.cgroup)
    if not any(track.used_usec):
        raise CollectError(f"{track.cgroup} never ran while it was recorded: nothing to simulate")
    limits = list(dict.fromkeys(order.limits()))
    held_ratio = track.held / len(track.marks)
    demand = wanted(track)
    base = _base(demand, recording.about, order)
    settings = [replace(base, limit=limit, burst_usec=burst) for limit, burst in limits]
    found, curve = _sweep(demand, base, order) if order.sweep else ((), ())
    return Result(
        order=order,
        about=recording.about,
        name=recording.about.subject or track.cgroup,
        use=measure_use(track.trace),
        span_usec=track.trace.span_usec,
        held_ratio=held_ratio,
        candidates=tuple(_run(demand, settings)),
        frontier=found,
        need=_need(track, recording.about, order, is_censored=demand.most is not None),
        curve=curve,
        notes=tuple(_notes(recording, track, base, held_ratio)),
    )


def _need(track: Track, about: About, order: Order, *, is_censored: bool) -> Need | Missing:
    if not order.sweep:
        return Missing(reason="not asked for: give --sweep")
    demand = demand_of(track, about, None, order.target)
    if isinstance(demand, Missing):
        return demand
    return size_for_peak(demand, about.cpus, is_lower_bound=is_censored)


def _choose(recording: Recording, cgroup: str) -> Track:
    tracks = {track.cgroup: track for track in recording.tracks}
    if cgroup in tracks:
        return tracks[cgroup]
    listed = ", ".join(sorted(tracks)[:5])
    if cgroup:
        raise UsageError(f"the recording holds no cgroup {cgroup}", hint=f"it holds {listed}")
    if len(tracks) > 1:
        raise UsageError(
            f"the recording holds {len(tracks)} cgroups", hint=f"choose with --cgroup: {listed}"
        )
    return recording.tracks[0]


def _base(demand: Wanted, about: About, order: Order) -> Setting:
    machine = machine_setting(demand, about)
    threads = order.threads or parallelism(demand.decisive)
    return replace(
        machine,
        cpus=max(1, min(order.cpus or about.cpus, threads)),
        tick_usec=order.tick_usec or machine.tick_usec,
        kernel=machine.kernel if order.kernel is None else order.kernel,
        seed=order.seed,
    )


def _run(demand: Wanted, settings: list[Setting]) -> Iterator[Candidate]:
    least = run_all(demand.least, settings)
    most = run_all(demand.most, settings) if demand.most else [None] * len(least)
    for trial, at_most in zip(least, most, strict=True):
        yield Candidate(
            setting=trial.setting,
            outcome=trial.outcome,
            at_most=at_most.outcome if at_most else None,
        )


def _sweep(
    demand: Wanted, base: Setting, order: Order
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the frontier and, for the picture, the whole range of quotas without burst."""
    periods = order.periods_usec if len(order.periods_usec) > 1 else SWEEP_PERIODS_USEC
    starts = [
        with_cores(replace(base, limit=Bandwidth(quota_usec=period, period_usec=period)), 1, share)
        for period in periods
        for share in SWEEP_BURST_SHARES
    ]
    found: list[Trial] = frontier(demand.decisive, starts, order.target, base.cpus)
    curve = [
        with_cores(starts[0], base.cpus * point / CURVE_POINTS, 0)
        for point in range(1, CURVE_POINTS + 1)
    ]
    return (
        tuple(_run(demand, [trial.setting for trial in found])),
        tuple(_run(demand, curve)),
    )


def _notes(recording: Recording, track: Track, base: Setting, held_ratio: float) -> Iterator[str]:
    about = recording.about
    if recording.is_cut:
        yield "the recording has no end; its last seconds may be missing"
    if held_ratio > CENSORED_RATIO:
        yield (
            f"a quota held it back in {format_ratio(held_ratio)} of the windows: the figures are"
            " for what it wanted at least and at most. To know, lift the quota and record again:"
            f" systemctl set-property --runtime {about.subject or track.cgroup} CPUQuota="
        )
    highest = min(parallelism(track.trace), about.cpus)
    if base.cpus < highest:
        yield (
            f"it ran on up to {highest} CPUs at once, and {base.cpus} "
            f"{'is' if base.cpus == 1 else 'are'} simulated: some delay"
            " is for want of CPUs, not of quota"
        )
    if track.gaps:
        yield "what nobody saw counts as idle"
    span_usec = track.trace.span_usec
    if span_usec < SHORT_USEC:
        yield f"{format_usec(span_usec)} are a short recording: rarer peaks are not in it"
    mean = format_cores(track.trace.mean_cores)
    if track.trace.mean_cores >= base.cpus * BUSY_RATIO:
        yield f"it used {mean} of {base.cpus}: a group that is always busy is served by no quota"


SHORT_USEC = 600_000_000
BUSY_RATIO = 0.98
