"""Latency and throughput by quota as one chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from quota_advisor.model.limit import Missing
from quota_advisor.probe.plan import Limit
from quota_advisor.probe.profile import Saturate
from quota_advisor.probe.report.plot import NAMES
from quota_advisor.probe.report.table import headline
from quota_advisor.probe.result import Result
from quota_advisor.probe.summary import QUANTITIES, Figure, TierSummary
from quota_advisor.records import NamedTuple
from quota_advisor.render.chart import svg
from quota_advisor.render.chart.scale import Linear, Logarithmic
from quota_advisor.units import format_cores, format_usec

_COLOURS = {
    "p50": ("#9ec5f4", "#2b5488"),
    "p95": ("#5a9bea", "#3d7cc9"),
    "p99": ("#1f6fd6", "#6aa9f4"),
    "p999": ("#0b4aa2", "#b6d6fb"),
    "max": ("#c2410c", "#f0883e"),
    "rate": ("#0f766e", "#39c5b0"),
}
"""The higher the percentile, the stronger."""

_STYLES = {
    "lat_p50_ns": "p50",
    "lat_p95_ns": "p95",
    "lat_p99_ns": "p99",
    "lat_p999_ns": "p999",
    "lat_max_ns": "max",
}

RATE = "throughput_req_per_sec"
NSEC_PER_MSEC = 1e6


def render(result: Result) -> str:
    """Return the SVG document."""
    return svg.document(chart(result))


class Axis(NamedTuple):
    """The horizontal axis: what is on it, and the place and name of each tier."""

    title: str
    values: list[float]
    names: list[str]


def axis(result: Result) -> Axis:
    """Return the axis on which the tiers stand."""
    title, name = _x_title(result)
    return Axis(title, _x_values(result), [name(tier.limit) for tier in result.tiers])


def chart(result: Result) -> svg.Chart:
    """Return the chart: latency on the left, throughput on the right."""
    title, values, labels = axis(result)
    return svg.Chart(
        name="probe",
        title="Latency and throughput by CPU quota",
        subtitle=headline(result),
        x=svg.XAxis(title=title, ticks=tuple(zip(values, labels, strict=True))),
        panels=(_latencies(result, values), _rates(result, values)),
        colours=_COLOURS,
        footnotes=tuple(_footnotes(result)),
    )


def _footnotes(result: Result) -> Iterator[str]:
    keys = []
    if result.timing.rounds > 1:
        keys.append("vertical bars: lowest to highest round")
    if _follows_quota(result):
        keys.append("dashed: in proportion to the quota")
    yield "; ".join(keys)
    if result.load.fitted:
        yield result.load.fitted


def _latencies(result: Result, values: list[float]) -> svg.Panel:
    series = [_series(result, values, name, style) for name, style in _STYLES.items()]
    runs = [QUANTITIES[name](run) for run in result.runs for name in _STYLES]
    msec = [value / NSEC_PER_MSEC for value in runs if not isinstance(value, Missing)]
    return svg.Panel(
        left=60,
        right=480,
        title="latency, ms (logarithmic)",
        y=Logarithmic.around(msec),
        series=tuple(series),
        empty="no request was finished",
    )


def _rates(result: Result, values: list[float]) -> svg.Panel:
    series = _series(result, values, RATE, "rate", scale=1.0)
    highest = max((rate for _, rate in series.points), default=0.0)
    straight = series.points and _follows_quota(result)
    return svg.Panel(
        left=610,
        right=900,
        title="requests a second",
        y=Linear.up_to(highest),
        series=(series,),
        proportional=series.points[-1] if straight else None,
    )


def _series(
    result: Result, values: list[float], name: str, style: str, *, scale: float = NSEC_PER_MSEC
) -> svg.Series:
    """Return the medians of a quantity, divided by a scale, with the range of the rounds."""
    tiers = list(zip(values, result.tiers, strict=True))
    return svg.Series(
        style=style,
        label=NAMES.get(name, ""),
        points=tuple(
            (x, figure.median / scale)
            for x, tier in tiers
            if isinstance(figure := tier.figures[name], Figure)
        ),
        ranges=tuple(
            (x, min(found), max(found))
            for x, tier in tiers
            if len(found := list(_positive(tier, name, scale))) > 1
        ),
    )


def _positive(tier: TierSummary, name: str, scale: float) -> Iterator[float]:
    for run in tier.runs:
        value = QUANTITIES[name](run)
        if not isinstance(value, Missing) and value > 0:
            yield value / scale


def _only_quota(result: Result) -> bool:
    """Whether the tiers differ in nothing but their quota."""
    return len({tier.limit.tier_cores for tier in result.tiers}) == len(result.tiers)


def _follows_quota(result: Result) -> bool:
    """Whether throughput could follow the quota: an open loop asks for so much and no more."""
    return _only_quota(result) and isinstance(result.load.profile, Saturate)


def _x_values(result: Result) -> list[float]:
    """Return the place of each tier: its quota where only that differs, else evenly apart."""
    if _only_quota(result):
        return [tier.limit.tier_cores for tier in result.tiers]
    return [float(number + 1) for number in range(len(result.tiers))]


def _x_title(result: Result) -> tuple[str, Callable[[Limit], str]]:
    """Return the title of the horizontal axis, and how a limit is called on it."""
    limits = [tier.limit for tier in result.tiers]
    if _only_quota(result):
        return "quota, cores", lambda limit: f"{limit.tier_cores:g}"
    if len({limit.tier_cores for limit in limits}) == 1:
        at = f"at {format_cores(limits[0].tier_cores)}"
        if len({limit.burst_usec for limit in limits}) == 1:
            return f"period, {at}", lambda limit: format_usec(limit.bandwidth.period_usec)
        if len({limit.bandwidth.period_usec for limit in limits}) == 1:
            return f"burst, {at}", lambda limit: format_usec(limit.burst_usec)
    return "limit", result.label
