"""From what the user typed to what is to be done."""

from __future__ import annotations

import os

from quota_advisor.errors import UsageError
from quota_advisor.probe.plan import Limit, Load, Timing, fit, limit_of, run_sec
from quota_advisor.probe.profile import Burst, Profile, find_profile
from quota_advisor.probe.slo import (
    Knob,
    Target,
    burst_candidates,
    most_runs,
    parse_target,
    period_candidates,
    quota_candidates,
)
from quota_advisor.records import dataclass
from quota_advisor.sandbox import Priority
from quota_advisor.units import format_usec, parse_time_span

MAX_TIERS = 64
MAX_CORES = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A target to search for.

    Attributes:
        target: The latency to keep.
        knob: What may be changed.
    """

    target: Target
    knob: Knob


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be probed.

    Attributes:
        load: The load.
        limits: Tiers to measure, or candidates to search through, tightest first.
        timing: Rounds, and length of a run.
        goal: What to search for; None to measure every limit.
        priority: Who goes first.
        max_load_ratio: Share of all CPUs that may be busy beforehand; None not to look.
    """

    load: Load
    limits: tuple[Limit, ...]
    timing: Timing
    goal: Goal | None = None
    priority: Priority = Priority.NORMAL
    max_load_ratio: float | None

    @property
    def most_runs(self) -> int:
        """How many runs it takes at most."""
        if self.goal is None:
            return len(self.limits) * self.timing.rounds
        return most_runs(len(self.limits), self.timing.rounds)

    @property
    def most_sec(self) -> float:
        """How long it takes at most, as far as that can be told."""
        periods = [limit.bandwidth.period_usec for limit in self.limits]
        return self.most_runs * run_sec(self.timing.duration_sec, max(periods))

    @property
    def outline(self) -> str:
        """The load, the number of runs and how long they take, in one line."""
        most, about = ("at most ", "at most ") if self.goal else ("", "about ")
        runs = f"{most}{self.most_runs} run{'' if self.most_runs == 1 else 's'}"
        threads = f"{self.load.threads} thread{'' if self.load.threads == 1 else 's'}"
        time = format_usec(max(round(self.most_sec), 1) * 1e6)
        return f"{self.load.profile.name}, {threads}: {runs}, {about}{time}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Options that shape the load and its limits, as typed.

    Attributes:
        profile: Name or file, or the load itself.
        tiers: Cores, separated by commas; None for the profile's own.
        period: Time.
        burst: Time.
        threads: None for the profile's own.
        slo: Target such as ``p99=20ms``; None to measure the tiers.
        slo_for: What may be changed to keep it; None for the quota.
    """

    profile: str | Profile = "saturate"
    tiers: str | None = None
    period: str = "100ms"
    burst: str = "0ms"
    threads: int | None = None
    slo: str | None = None
    slo_for: str | None = None


def available_cpus() -> int:
    """Return how many CPUs a process of ours can run on."""
    return len(os.sched_getaffinity(0))


def make_order(
    asked: Asked,
    *,
    rounds: int = 5,
    duration_sec: float = 10.0,
    priority: Priority = Priority.NORMAL,
    max_load_ratio: float | None = 0.5,
    cpus: int | None = None,
) -> Order:
    """Return what is to be probed.

    Args:
        asked: What was typed.
        rounds: Runs of each tier.
        duration_sec: Measured time of a run.
        priority: Who goes first.
        max_load_ratio: Share of all CPUs that may be busy beforehand; None not to look.
        cpus: CPUs of the node; by default those that this process can run on.

    Raises:
        UsageError: Something typed does not exist or does not fit together.
    """
    tiers = () if asked.tiers is None else parse_tiers(asked.tiers)
    load = fit(
        find_profile(asked.profile) if isinstance(asked.profile, str) else asked.profile,
        cpus or available_cpus(),
        threads=asked.threads,
        tiers=tiers,
    )
    period, burst = parse_time("--period", asked.period), parse_time("--burst", asked.burst)
    goal = _goal(asked)
    limits = (
        [limit_of(tier, period, burst) for tier in load.tiers]
        if goal is None
        else _candidates(goal.knob, load, tiers, period, burst)
    )
    return Order(
        load=load,
        limits=tuple(dict.fromkeys(limits)),
        timing=Timing(rounds=rounds, duration_sec=duration_sec),
        goal=goal,
        priority=priority,
        max_load_ratio=max_load_ratio,
    )


def parse_tiers(text: str) -> tuple[float, ...]:
    """Return the tiers in ``0.5,1,2``.

    Raises:
        UsageError: One is no number of cores, or there are too many.
    """
    tiers = tuple(_tier(word.strip()) for word in text.split(","))
    if len(tiers) > MAX_TIERS:
        raise UsageError(f"--tiers: {len(tiers)} tiers, {MAX_TIERS} is the most")
    return tuple(dict.fromkeys(tiers))


def parse_time(option: str, text: str) -> int:
    """Return a time in microseconds.

    Raises:
        UsageError: It is none, has no unit, or does not end.
    """
    number = text.strip()
    if number.replace(".", "", 1).isdecimal() and number.strip("0.") != "":
        # systemd would take seconds, cgroup files take microseconds: ask rather than guess.
        raise UsageError(f"{option} {text}: the unit is missing", hint=f"write {number}ms")
    try:
        usec = parse_time_span(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from error
    if not isinstance(usec, int):
        raise UsageError(f"{option} {text}: has to end some time")
    return usec


def _tier(text: str) -> float:
    try:
        cores = float(text)
    except ValueError:
        cores = -1.0
    if not 0 < cores <= MAX_CORES:
        raise UsageError(
            f"--tiers: {text!r} is no number of cores", hint="write for example 0.5,1,2"
        )
    return cores


def _goal(asked: Asked) -> Goal | None:
    knob = asked.slo_for
    if knob is not None and knob not in set(Knob):
        raise UsageError(f"--slo-for {knob}: no knob", hint=f"choose from {', '.join(Knob)}")
    if asked.slo is not None:
        return Goal(target=parse_target(asked.slo), knob=Knob(knob or Knob.QUOTA))
    if knob is not None:
        raise UsageError(f"--slo-for {knob} needs a target to keep", hint="give --slo p99=20ms")
    return None


def _candidates(
    knob: Knob, load: Load, tiers: tuple[float, ...], period: int, burst: int
) -> list[Limit]:
    """Return what to search through, the tightest first.

    Raises:
        UsageError: The options do not fit the search.
    """
    if knob is Knob.QUOTA:
        if burst:
            raise UsageError("--burst does not go with a search for the quota", hint="leave it out")
        low, high = _bounds(load, tiers)
        return quota_candidates(low, high, period)
    if len(tiers) != 1:
        raise UsageError(
            f"--slo-for {knob} needs the one quota that stays as it is", hint="give --tiers CORES"
        )
    if burst:
        raise UsageError(f"--burst does not go with --slo-for {knob}", hint="leave it out")
    return burst_candidates(tiers[0], period) if knob is Knob.BURST else period_candidates(tiers[0])


def _bounds(load: Load, tiers: tuple[float, ...]) -> tuple[float, float]:
    """Return the quotas between which the answer lies.

    With as many cores as threads, or CPUs, nothing is ever held back. Below its mean use an open
    loop falls behind for ever.
    """
    if tiers:
        return (min(tiers) if len(tiers) > 1 else 0.0), max(tiers)
    high = float(min(load.threads, load.cpus))
    profile = load.profile
    if not isinstance(profile, Burst):
        return 0.0, high
    return profile.mean_cores * load.threads / profile.threads, high
