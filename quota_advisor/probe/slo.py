"""Search for the smallest quota, burst or the longest period that keeps a latency target.

Every candidate is tried with real runs. The search takes it that more room never makes latency
worse; what it finds is then confirmed, and the answer says how sure it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import StrEnum

from quota_advisor.errors import UsageError, did_you_mean
from quota_advisor.model.limit import MAX_PERIOD_USEC, MIN_QUOTA_USEC, Missing
from quota_advisor.probe.measure import Measure, Run
from quota_advisor.probe.plan import Limit, limit_of
from quota_advisor.probe.summary import QUANTITIES
from quota_advisor.records import dataclass
from quota_advisor.units import format_usec, parse_time_span

STEP_CORES = 0.05
"""Finest step of a quota: 5 % of a CPU, as advice is rounded elsewhere."""

MAX_STEPS = 64
"""More candidates take more runs, and the last of them tell tiers apart that noise does not."""

BURST_STEPS = 16

PERIODS_MSEC = (5, 10, 20, 25, 40, 50, 80, 100, 150, 200, 300, 400, 500, 700, 1000)
"""Periods to try, in milliseconds; shorter ones gain nothing on kernels with a tick of 4 ms."""

CONFIDENCE = 0.95

MIN_TAIL_SAMPLES = 5
"""Fewer requests beyond a percentile than this make the percentile a matter of luck."""

_PERCENTILES = {
    "p50": ("lat_p50_ns", 0.5),
    "p95": ("lat_p95_ns", 0.95),
    "p99": ("lat_p99_ns", 0.99),
    "p999": ("lat_p999_ns", 0.999),
    "max": ("lat_max_ns", 1.0),
}


class Knob(StrEnum):
    """What may be changed to keep the target."""

    QUOTA = "quota"
    BURST = "burst"
    PERIOD = "period"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A latency to keep.

    Attributes:
        percentile: ``p50`` … ``p999``, ``max``.
        latency_usec: What it must not exceed.
    """

    percentile: str
    latency_usec: float

    def latency_of(self, run: Run) -> float | Missing:
        """Return the latency that is judged, in microseconds."""
        value = QUANTITIES[_PERCENTILES[self.percentile][0]](run)
        return value if isinstance(value, Missing) else value / 1_000

    def is_met(self, run: Run) -> bool:
        """Whether a run kept the target. One that left requests unfinished did not."""
        latency = self.latency_of(run)
        if isinstance(latency, Missing) or run.report.requests_unfinished:
            return False
        return latency <= self.latency_usec

    def enough_samples(self, run: Run) -> bool:
        """Whether a run timed enough requests to know this percentile."""
        beyond = 1 - _PERCENTILES[self.percentile][1]
        return beyond == 0 or run.report.lat_samples * beyond >= MIN_TAIL_SAMPLES

    def __str__(self) -> str:
        return f"{self.percentile} ≤ {format_usec(self.latency_usec)}"


@dataclass(slots=True, kw_only=True)
class Trial:
    """One candidate and its runs.

    Attributes:
        limit: The candidate.
        runs: So far.
        met: How many of them kept the target.
    """

    limit: Limit
    runs: list[Run] = field(default_factory=list)
    met: int = 0

    @property
    def missed(self) -> int:
        """How many runs did not keep the target."""
        return len(self.runs) - self.met


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the search came to.

    Attributes:
        target: The latency to keep.
        knob: What was changed.
        found: The candidate that keeps it, confirmed in every round; None when none does.
        trials: Every candidate that was tried, in the order of the candidates.
    """

    target: Target
    knob: Knob
    found: Trial | None
    trials: tuple[Trial, ...]

    @property
    def missed_below(self) -> Trial | None:
        """The most generous candidate below the found one, which missed the target."""
        if self.found is None:
            return None
        at = self.trials.index(self.found)
        return self.trials[at - 1] if at > 0 else None


def parse_target(text: str) -> Target:
    """Return the target in ``p99=20ms``.

    Raises:
        UsageError: No such percentile, or no time.
    """
    percentile, equals, span = text.partition("=")
    name = percentile.strip().lower().replace("p99.9", "p999")
    if name not in _PERCENTILES:
        hint = did_you_mean(name, _PERCENTILES) or f"choose from {', '.join(_PERCENTILES)}"
        raise UsageError(f"--slo {text}: no percentile {name!r}", hint=hint)
    if not equals:
        raise UsageError(f"--slo {text}: the time is missing", hint=f"write {name}=20ms")
    if re.fullmatch(r"\s*[0-9.]+\s*", span):
        raise UsageError(
            f"--slo {text}: the unit is missing", hint=f"write {name}={span.strip()}ms"
        )
    try:
        latency = parse_time_span(span)
    except ValueError as error:
        raise UsageError(f"--slo {text}: {error}") from error
    if not isinstance(latency, int) or latency <= 0:
        raise UsageError(f"--slo {text}: a target is a time above zero")
    return Target(percentile=name, latency_usec=latency)


def quota_candidates(low_cores: float, high_cores: float, period_usec: int) -> list[Limit]:
    """Return quotas from low to high, in whole steps of 5 % of a CPU.

    Raises:
        UsageError: The kernel takes none of them.
    """
    span = max(high_cores - low_cores, 0.0)
    step = STEP_CORES * max(1, math.ceil(round(span / STEP_CORES / MAX_STEPS, 6)))
    least = max(low_cores, step, MIN_QUOTA_USEC / period_usec)
    first, last = math.ceil(round(least / step, 6)), math.ceil(round(high_cores / step, 6))
    steps = range(min(first, last), last + 1)
    return [limit_of(round(number * step, 6), period_usec) for number in steps]


def burst_candidates(tier_cores: float, period_usec: int) -> list[Limit]:
    """Return bursts from none to all of the quota.

    Raises:
        UsageError: The kernel does not take the quota.
    """
    quota = limit_of(tier_cores, period_usec).bandwidth.quota_usec
    bursts = (quota * number // BURST_STEPS for number in range(BURST_STEPS + 1))
    return [limit_of(tier_cores, period_usec, burst) for burst in dict.fromkeys(bursts)]


def period_candidates(tier_cores: float) -> list[Limit]:
    """Return periods from the longest, whose stalls are longest, to the shortest.

    Raises:
        UsageError: The kernel takes none of them.
    """
    shortest = max(MIN_QUOTA_USEC / tier_cores, MIN_QUOTA_USEC)
    periods = [msec * 1_000 for msec in reversed(PERIODS_MSEC) if msec * 1_000 >= shortest]
    return [limit_of(tier_cores, period) for period in periods or [MAX_PERIOD_USEC]]


def first_that(meets: Callable[[int], bool], count: int) -> int | None:
    """Return the lowest number below ``count`` that meets; None when not even the last does.

    Whatever is above one that meets must meet too.
    """
    if not meets(count - 1):
        return None
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if meets(middle):
            high = middle
        else:
            low = middle + 1
    return high


def most_runs(candidates: int, rounds: int) -> int:
    """Return how many runs a search takes at most, if nothing has to be confirmed twice."""
    return rounds * (math.ceil(math.log2(max(candidates, 1))) + 1)


class Search:
    """A search over real runs.

    Args:
        measure: Runs once.
        target: The latency to keep.
        knob: What is changed from candidate to candidate.
        candidates: From the tightest to the most generous.
        rounds: Runs of each candidate, at most while searching, and all when confirming.
    """

    def __init__(
        self,
        measure: Measure,
        target: Target,
        knob: Knob,
        candidates: Sequence[Limit],
        rounds: int,
    ) -> None:
        self._measure = measure
        self._target = target
        self._knob = knob
        self._candidates = candidates
        self._rounds = rounds
        self._trials: dict[int, Trial] = {}

    def run(self) -> Answer:
        """Search, confirm, and return what was found."""
        first = first_that(self._by_majority, len(self._candidates))
        found = None if first is None else self._confirmed(first)
        return Answer(
            target=self._target,
            knob=self._knob,
            found=found,
            trials=tuple(self._trials[number] for number in sorted(self._trials)),
        )

    def _by_majority(self, number: int) -> bool:
        """Tell whether most runs keep the target; stops as soon as that is settled."""
        trial = self._trial(number)
        while 2 * max(trial.met, trial.missed) <= self._rounds and len(trial.runs) < self._rounds:
            self._once_more(trial)
        return trial.met > trial.missed

    def _confirmed(self, number: int) -> Trial | None:
        """Return the first candidate from here on that keeps the target in every round."""
        for candidate in range(number, len(self._candidates)):
            trial = self._trial(candidate)
            while not trial.missed and len(trial.runs) < self._rounds:
                self._once_more(trial)
            if not trial.missed:
                return trial
        return None

    def _trial(self, number: int) -> Trial:
        return self._trials.setdefault(number, Trial(limit=self._candidates[number]))

    def _once_more(self, trial: Trial) -> None:
        run = self._measure(trial.limit, len(trial.runs) + 1)
        trial.runs.append(run)
        trial.met += self._target.is_met(run)


def least_share(met: int) -> float:
    """Return which share of runs keeps the target at least, when all of ``met`` runs did.

    The exact lower bound of Clopper and Pearson for a proportion, which for no failure at all is
    the root of the error probability.
    """
    return (1 - CONFIDENCE) ** (1 / met) if met else 0.0
