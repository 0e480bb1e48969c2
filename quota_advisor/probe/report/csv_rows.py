"""One row a run, for spreadsheets and data frames. The first columns never change."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from quota_advisor.model.limit import Missing
from quota_advisor.probe.measure import Run
from quota_advisor.probe.result import Result

_COLUMNS: dict[str, Callable[[Run, Result], object]] = {
    "tier_cores": lambda run, _: f"{run.limit.tier_cores:g}",
    "round": lambda run, _: run.round,
    "throughput_req_per_sec": lambda run, _: f"{run.report.throughput_req_per_sec:.2f}",
    "lat_p50_ns": lambda run, _: run.report.lat_p50_ns,
    "lat_p95_ns": lambda run, _: run.report.lat_p95_ns,
    "lat_p99_ns": lambda run, _: run.report.lat_p99_ns,
    "lat_p999_ns": lambda run, _: run.report.lat_p999_ns,
    "lat_max_ns": lambda run, _: run.report.lat_max_ns,
    "nr_periods": lambda run, _: run.window.periods,
    "nr_throttled": lambda run, _: run.window.throttled_periods,
    "throttled_usec": lambda run, _: run.window.throttled_usec,
    "usage_usec": lambda run, _: run.window.usage_usec,
    "profile": lambda _, result: result.load.profile.name,
    "threads": lambda _, result: result.load.threads,
    "quota_usec": lambda run, _: run.limit.bandwidth.quota_usec,
    "period_usec": lambda run, _: run.limit.bandwidth.period_usec,
    "burst_usec": lambda run, _: run.limit.burst_usec,
    "nr_bursts": lambda run, _: run.window.burst_periods,
    "burst_used_usec": lambda run, _: run.window.burst_usec,
    "requests": lambda run, _: run.report.requests,
    "requests_unfinished": lambda run, _: run.report.requests_unfinished,
    "wall_usec": lambda run, _: run.report.wall_ns // 1_000,
    "own_cpu_usec": lambda run, _: run.report.cpu_usec,
    "others_cores": lambda run, _: _rounded(run.others_cores),
    "stolen_cores": lambda run, _: (
        run.machine if isinstance(run.machine, Missing) else f"{run.machine.stolen_cores:.3f}"
    ),
    "accounts_agree": lambda run, result: str(result.verdict(run).agree).lower(),
}

COLUMNS = tuple(_COLUMNS)
"""Names of the columns. Those up to ``usage_usec`` are a promise; more may follow."""


def render(result: Result) -> str:
    """Return the runs as CSV, in the order in which they were made; unknown values are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in result.runs:
        writer.writerow([_cell(read(run, result)) for read in _COLUMNS.values()])
    return text.getvalue()


def _cell(value: object) -> object:
    return "" if value is None or isinstance(value, Missing) else value


def _rounded(value: float | Missing) -> str | Missing:
    return value if isinstance(value, Missing) else f"{value:.3f}"
