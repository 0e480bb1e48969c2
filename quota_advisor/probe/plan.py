"""What will be run, and how long it takes: a profile fitted to this node."""

from __future__ import annotations

from collections.abc import Sequence

from quota_advisor.errors import UsageError
from quota_advisor.model.limit import (
    DEFAULT_PERIOD_USEC,
    MAX_PERIOD_USEC,
    MIN_QUOTA_USEC,
    Bandwidth,
)
from quota_advisor.probe.profile import Profile
from quota_advisor.records import dataclass
from quota_advisor.units import format_cores, format_usec

WARMUP_MSEC = 100
"""Load before the measured time: caches, and the frequency of the CPUs."""

START_SEC = 0.1
"""What a run takes besides its load: the start of a process, a calibration, a cgroup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a run is held to.

    Attributes:
        tier_cores: The quota as it was asked for.
        bandwidth: Quota and period as the kernel gets them.
        burst_usec: What an idle group may save up.
    """

    tier_cores: float
    bandwidth: Bandwidth
    burst_usec: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A profile fitted to a node.

    Attributes:
        profile: The load.
        threads: Threads that make it.
        tiers: Quotas to measure, in cores.
        cpus: CPUs that it may use here.
        fitted: What was changed to fit, in words; empty when nothing was.
    """

    profile: Profile
    threads: int
    tiers: tuple[float, ...]
    cpus: int
    fitted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How often and how long each tier is measured.

    Attributes:
        rounds: Runs of each tier.
        duration_sec: Measured time of a run.
    """

    rounds: int
    duration_sec: float


def fit(
    profile: Profile, cpus: int, *, threads: int | None = None, tiers: Sequence[float] = ()
) -> Load:
    """Return a profile fitted to a node.

    A profile wants as many CPUs as it has threads. On a smaller node both its threads and its
    tiers shrink by the same factor, so that a quota still lasts as long as in the field report.
    What the user asked for is taken as it is.

    Args:
        profile: The load.
        cpus: CPUs of the node.
        threads: As asked for.
        tiers: As asked for, in cores.
    """
    chosen = threads or min(profile.threads, cpus)
    factor = min(chosen / profile.threads, 1.0)
    shown = tuple(tiers) or tuple(round(tier * factor, 3) for tier in profile.tiers)
    fitted = ""
    if not threads and chosen < profile.threads:
        fitted = (
            f"{profile.name} fitted to {cpus} CPUs: {chosen} instead of {profile.threads} threads"
        )
        if not tiers:
            fitted += f", quotas of {_list(shown)} instead of {_list(profile.tiers)} cores"
    return Load(profile=profile, threads=chosen, tiers=shown, cpus=cpus, fitted=fitted)


def limit_of(
    tier_cores: float, period_usec: int = DEFAULT_PERIOD_USEC, burst_usec: int = 0
) -> Limit:
    """Return what the kernel gets for a tier.

    Raises:
        UsageError: The kernel takes no such period, quota or burst.
    """
    if not MIN_QUOTA_USEC <= period_usec <= MAX_PERIOD_USEC:
        raise UsageError(
            f"a period of {format_usec(period_usec)} is out of range",
            hint="the kernel takes 1 ms to 1 s",
        )
    quota_usec = round(tier_cores * period_usec)
    if quota_usec < MIN_QUOTA_USEC:
        raise UsageError(
            f"{format_cores(tier_cores)} in a period of {format_usec(period_usec)} is a quota of"
            f" {format_usec(quota_usec)}",
            hint="the kernel takes no less than 1 ms; use a longer --period or a higher tier",
        )
    if burst_usec > quota_usec:
        raise UsageError(
            f"a burst of {format_usec(burst_usec)} is more than the quota of"
            f" {format_usec(quota_usec)} ({format_cores(tier_cores)})",
            hint="the kernel takes at most the quota; use a smaller --burst or higher tiers",
        )
    bandwidth = Bandwidth(quota_usec=quota_usec, period_usec=period_usec)
    return Limit(tier_cores=tier_cores, bandwidth=bandwidth, burst_usec=burst_usec)


def run_sec(duration_sec: float, period_usec: int) -> float:
    """Return how long one run takes, as far as that can be told before it."""
    return duration_sec + WARMUP_MSEC / 1000 + period_usec / 1e6 + START_SEC


def _list(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
