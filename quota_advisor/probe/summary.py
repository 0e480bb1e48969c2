"""Medians over the rounds of each tier, and how far the rounds are apart."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from quota_advisor.model.limit import Missing
from quota_advisor.probe.measure import Run
from quota_advisor.probe.plan import Limit
from quota_advisor.records import dataclass

Value = float | Missing

NO_REQUEST = Missing(reason="no request was finished")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One quantity over the rounds of a tier.

    Attributes:
        median: Median over the rounds.
        spread_ratio: Distance of the extremes as a share of the median.
    """

    median: float
    spread_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSummary:
    """The rounds of one tier.

    Attributes:
        limit: What they were held to.
        runs: The rounds.
        figures: Each quantity of :data:`QUANTITIES` by its name.
    """

    limit: Limit
    runs: tuple[Run, ...]
    figures: dict[str, Figure | Missing]


def _latency(name: str) -> Callable[[Run], Value]:
    def read(run: Run) -> Value:
        value = getattr(run.report, name)
        return NO_REQUEST if value is None else float(value)

    return read


QUANTITIES: dict[str, Callable[[Run], Value]] = {
    "throughput_req_per_sec": lambda run: run.report.throughput_req_per_sec,
    "lat_p50_ns": _latency("lat_p50_ns"),
    "lat_p95_ns": _latency("lat_p95_ns"),
    "lat_p99_ns": _latency("lat_p99_ns"),
    "lat_p999_ns": _latency("lat_p999_ns"),
    "lat_max_ns": _latency("lat_max_ns"),
    "nr_periods": lambda run: run.window.periods,
    "nr_throttled": lambda run: run.window.throttled_periods,
    "throttled_usec": lambda run: run.window.throttled_usec,
    "usage_usec": lambda run: run.window.usage_usec,
    "wall_usec": lambda run: run.report.wall_ns / 1_000,
    "requests_unfinished": lambda run: run.report.requests_unfinished,
}


def summarise(runs: Iterable[Run]) -> list[TierSummary]:
    """Return one summary a limit, in the order in which the limits first appear."""
    by_limit: dict[Limit, list[Run]] = {}
    for run in runs:
        by_limit.setdefault(run.limit, []).append(run)
    return [_summarise(limit, tuple(group)) for limit, group in by_limit.items()]


def figure(values: Sequence[Value]) -> Figure | Missing:
    """Return the median and the spread, or why there is none.

    A round in which the quantity is missing makes it missing: leaving the round out would make
    the worst rounds invisible.
    """
    numbers: list[float] = []
    for value in values:
        if isinstance(value, Missing):
            return value
        numbers.append(value)
    if not numbers:
        return Missing(reason="nothing was measured")
    median = statistics.median(numbers)
    distance = max(numbers) - min(numbers)
    return Figure(median=median, spread_ratio=distance / median if median else 0.0)


def _summarise(limit: Limit, runs: tuple[Run, ...]) -> TierSummary:
    figures = {name: figure([read(run) for run in runs]) for name, read in QUANTITIES.items()}
    return TierSummary(limit=limit, runs=runs, figures=figures)
