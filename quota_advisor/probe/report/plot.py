"""Latency and throughput by quota, drawn with characters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from quota_advisor.model.limit import Missing
from quota_advisor.probe.result import Result
from quota_advisor.probe.summary import TierSummary

MARKS = {
    "lat_p50_ns": "○",
    "lat_p95_ns": "◇",
    "lat_p99_ns": "●",
    "lat_p999_ns": "◆",
    "lat_max_ns": "×",
}
NAMES = {
    "lat_p50_ns": "p50",
    "lat_p95_ns": "p95",
    "lat_p99_ns": "p99",
    "lat_p999_ns": "p99.9",
    "lat_max_ns": "max",
}
MIN_WIDTH, MAX_WIDTH = 20, 80


def plot(result: Result, width: int) -> str:
    """Return two plots: percentiles on a logarithmic axis, and throughput as bars.

    Args:
        result: The result.
        width: Columns that there are.
    """
    labels = [result.label(tier.limit) for tier in result.tiers]
    margin = max(map(len, labels))
    room = min(max(width - margin - 14, MIN_WIDTH), MAX_WIDTH)
    return "\n".join(
        [*_latencies(result.tiers, labels, room), "", *_throughputs(result.tiers, labels, room)]
    )


def decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around some positive values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _latencies(tiers: Sequence[TierSummary], labels: Sequence[str], room: int) -> Iterator[str]:
    rows = [_percentiles(tier) for tier in tiers]
    values = [msec for row in rows for msec in row.values() if msec > 0]
    if not values:
        return
    low, high = decades(values)
    margin = max(map(len, labels))
    legend = "  ".join(f"{mark} {NAMES[name]}" for name, mark in MARKS.items())
    yield f"{'latency, ms':>{margin}}  {legend}"
    for label, row in zip(labels, rows, strict=True):
        yield f"{label:>{margin}} │{_marks(row, low, high, room)}"
    yield f"{'':>{margin}} └{'─' * room}"
    yield f"{'':>{margin}}  {_axis(low, high, room)}"


def _percentiles(tier: TierSummary) -> dict[str, float]:
    return {
        name: figure.median / 1e6
        for name in MARKS
        if not isinstance(figure := tier.figures[name], Missing)
    }


def _marks(row: dict[str, float], low: int, high: int, room: int) -> str:
    """Return one line with a mark for each percentile; the higher one wins where two meet."""
    cells = [" "] * room
    places = {name: _place(msec, low, high, room) for name, msec in row.items() if msec > 0}
    if places:
        first, last = min(places.values()), max(places.values())
        cells[first : last + 1] = "─" * (last + 1 - first)
    for name, place in places.items():
        cells[place] = MARKS[name]
    return "".join(cells).rstrip()


def _place(msec: float, low: int, high: int, room: int) -> int:
    return round((math.log10(msec) - low) / (high - low) * (room - 1))


def _axis(low: int, high: int, room: int) -> str:
    text = ""
    for power in range(low, high + 1):
        tick = f"{10.0**power:g}"
        place = min(_place(10.0**power, low, high, room), room - len(tick))
        if place >= len(text) + bool(text):
            text = f"{text:<{place}}{tick}"
    return text


def _throughputs(tiers: Sequence[TierSummary], labels: Sequence[str], room: int) -> Iterator[str]:
    figures = [tier.figures["throughput_req_per_sec"] for tier in tiers]
    rates = [0.0 if isinstance(figure, Missing) else figure.median for figure in figures]
    margin = max(map(len, labels))
    yield f"{'requests/s':>{margin}}"
    for label, rate in zip(labels, rates, strict=True):
        bar = "█" * round(rate / (max(rates) or 1.0) * room)
        yield f"{label:>{margin}} │{bar} {rate:.1f}"
