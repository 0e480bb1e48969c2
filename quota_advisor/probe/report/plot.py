"""Latency and throughput by quota, drawn with characters."""

from __future__ import annotations

from quota_advisor.model.limit import Missing
from quota_advisor.probe.result import Result
from quota_advisor.probe.summary import TierSummary
from quota_advisor.render.chart.characters import Row, bars, columns, marks

NAMES = {
    "lat_p50_ns": "p50",
    "lat_p95_ns": "p95",
    "lat_p99_ns": "p99",
    "lat_p999_ns": "p99.9",
    "lat_max_ns": "max",
}
SHAPES = dict(zip(NAMES.values(), "○◇●◆×", strict=True))


def plot(result: Result, width: int) -> str:
    """Return two plots: percentiles on a logarithmic axis, and throughput as bars.

    Args:
        result: The result.
        width: Columns that there are.
    """
    labels = [result.label(tier.limit) for tier in result.tiers]
    room = columns(labels, width)
    tiers = list(zip(labels, result.tiers, strict=True))
    latencies = [Row(label=label, values=_percentiles(tier)) for label, tier in tiers]
    rates = [(label, _rate(tier)) for label, tier in tiers]
    return "\n".join(
        [
            *marks("latency, ms", latencies, SHAPES, room),
            "",
            *bars("requests/s", rates, room),
        ]
    )


def _percentiles(tier: TierSummary) -> dict[str, float]:
    return {
        shown: figure.median / 1e6
        for name, shown in NAMES.items()
        if not isinstance(figure := tier.figures[name], Missing)
    }


def _rate(tier: TierSummary) -> float:
    figure = tier.figures["throughput_req_per_sec"]
    return 0.0 if isinstance(figure, Missing) else figure.median
