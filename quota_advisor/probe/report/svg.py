"""Latency and throughput by quota as one SVG that needs nothing else: no script, font or net."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from quota_advisor.model.limit import Missing
from quota_advisor.probe.plan import Limit
from quota_advisor.probe.profile import Saturate
from quota_advisor.probe.report.plot import NAMES, decades
from quota_advisor.probe.report.table import headline
from quota_advisor.probe.result import Result
from quota_advisor.probe.summary import QUANTITIES, Figure, TierSummary
from quota_advisor.units import format_cores, format_usec

WIDTH, HEIGHT = 960, 420
TOP, BOTTOM = 96, 330
LABEL_GAP = 14
"""Least distance between two labels on top of each other."""

CHARACTER = 7
"""Width of a character, roughly."""

_Height = Callable[[float], float]

_COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9198a1"),
    "grid": ("#d8dee4", "#30363d"),
    "paper": ("#ffffff", "#0d1117"),
    "p50": ("#9ec5f4", "#2b5488"),
    "p95": ("#5a9bea", "#3d7cc9"),
    "p99": ("#1f6fd6", "#6aa9f4"),
    "p999": ("#0b4aa2", "#b6d6fb"),
    "max": ("#c2410c", "#f0883e"),
    "rate": ("#0f766e", "#39c5b0"),
}
"""Each on light and on dark ground. The higher the percentile, the stronger."""

_SHAPES = """
.probe text{font:12px system-ui,sans-serif}
.probe .title{font-size:15px;font-weight:600}.probe .panel{font-weight:600}
.probe polyline{fill:none;stroke-width:2}
.probe .range{stroke-width:2;opacity:.45}.probe .ideal{stroke-dasharray:4 4}
"""

_CLASSES = {
    "lat_p50_ns": "p50",
    "lat_p95_ns": "p95",
    "lat_p99_ns": "p99",
    "lat_p999_ns": "p999",
    "lat_max_ns": "max",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """One of the two plots.

    Attributes:
        left, right: Where its horizontal axis begins and ends.
        places: Horizontal place of each tier.
    """

    left: float
    right: float
    places: tuple[float, ...]


def render(result: Result) -> str:
    """Return the SVG document."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{chart(result)}\n'


def chart(result: Result) -> str:
    """Return the ``svg`` element, also fit to be part of a page."""
    latency, rate = _panel(result, 60, 480), _panel(result, 610, 900)
    parts = [
        _opening(headline(result)),
        f"<style>{_style()}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="paper"/>',
        _text(24, 30, "Latency and throughput by CPU quota", "title ink"),
        _text(24, 52, headline(result), "soft"),
        *_latency_panel(result, latency),
        *_rate_panel(result, rate),
        *(_text(24, HEIGHT - 14 - 16 * i, n, "soft") for i, n in enumerate(_footnotes(result))),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _opening(label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="probe" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(label)}">'
    )


def _footnotes(result: Result) -> list[str]:
    keys = []
    if result.timing.rounds > 1:
        keys.append("vertical bars: lowest to highest round")
    if _proportional(result):
        keys.append("dashed: in proportion to the quota")
    return ["; ".join(keys), *([result.load.fitted] if result.load.fitted else [])]


def _only_quota(result: Result) -> bool:
    """Whether the tiers differ in nothing but their quota."""
    return len({tier.limit.tier_cores for tier in result.tiers}) == len(result.tiers)


def _proportional(result: Result) -> bool:
    """Whether throughput could follow the quota: an open loop asks for so much and no more."""
    return _only_quota(result) and isinstance(result.load.profile, Saturate)


def _panel(result: Result, left: float, right: float) -> _Panel:
    """Place the tiers by their quota where only that differs, else evenly."""
    values = [float(number + 1) for number in range(len(result.tiers))]
    if _only_quota(result):
        values = [tier.limit.tier_cores for tier in result.tiers]
    room = right - left - 24
    return _Panel(
        left=left, right=right, places=tuple(left + v / max(values) * room for v in values)
    )


def _latency_panel(result: Result, panel: _Panel) -> Iterator[str]:
    yield _text(panel.left, TOP - 16, "latency, ms (logarithmic)", "panel ink")
    tiers = result.tiers
    values = [value for tier in tiers for name in _CLASSES for value in _values(tier, name)]
    if not any(value > 0 for value in values):
        yield _text(panel.left, TOP + 20, "no request was finished", "soft")
        return
    low, high = decades([value / 1e6 for value in values if value > 0])

    def height(nsec: float) -> float:
        share = (math.log10(nsec / 1e6) - low) / (high - low)
        return BOTTOM - share * (BOTTOM - TOP)

    for power in range(low, high + 1):
        yield from _grid_line(panel, height(10.0**power * 1e6), f"{10.0**power:g}")
    yield from _x_axis(result, panel)
    ends: list[tuple[float, str]] = []
    for name, style in _CLASSES.items():
        points = _points(tiers, name, panel)
        yield from _ranges(tiers, name, panel, height, style)
        yield _line([(x, height(y)) for x, y in points if y > 0], style)
        if points and points[-1][1] > 0:
            ends.append((height(points[-1][1]), name))
    yield from _labels(ends, panel.places[-1] + 10)


def _rate_panel(result: Result, panel: _Panel) -> Iterator[str]:
    name = "throughput_req_per_sec"
    points = _points(result.tiers, name, panel)
    yield _text(panel.left, TOP - 16, "requests a second", "panel ink")
    top = _round_up(max((rate for _, rate in points), default=0.0) or 1.0)

    def height(rate: float) -> float:
        return BOTTOM - rate / top * (BOTTOM - TOP)

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield from _grid_line(panel, height(top * share), f"{top * share:g}")
    yield from _x_axis(result, panel)
    if points and _proportional(result):
        x, rate = points[-1]
        slope = rate / (x - panel.left)
        yield (
            f'<line class="ideal soft" x1="{panel.left:.1f}" y1="{height(0):.1f}" x2="{x:.1f}"'
            f' y2="{height(slope * (x - panel.left)):.1f}"/>'
        )
    yield from _ranges(result.tiers, name, panel, height, "rate")
    yield _line([(x, height(y)) for x, y in points], "rate")


def _values(tier: TierSummary, name: str) -> list[float]:
    found = [QUANTITIES[name](run) for run in tier.runs]
    return [value for value in found if not isinstance(value, Missing)]


def _points(tiers: Sequence[TierSummary], name: str, panel: _Panel) -> list[tuple[float, float]]:
    return [
        (x, figure.median)
        for x, tier in zip(panel.places, tiers, strict=True)
        if isinstance(figure := tier.figures[name], Figure)
    ]


def _ranges(
    tiers: Sequence[TierSummary], name: str, panel: _Panel, height: _Height, style: str
) -> Iterator[str]:
    """Yield a vertical bar from the lowest to the highest round of each tier."""
    for x, tier in zip(panel.places, tiers, strict=True):
        values = [value for value in _values(tier, name) if value > 0]
        if len(values) > 1:
            yield (
                f'<line class="range {style}" x1="{x:.1f}" x2="{x:.1f}"'
                f' y1="{height(min(values)):.1f}" y2="{height(max(values)):.1f}"/>'
            )


def _line(points: Sequence[tuple[float, float]], style: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{style}"/>' for x, y in points
    )
    return f'<polyline points="{path}" class="{style}"/>{dots}'


def _labels(ends: Sequence[tuple[float, str]], x: float) -> Iterator[str]:
    """Yield the names of the lines at their ends, pushed apart where they would overlap."""
    lowest = float("inf")
    # Where two meet, the higher percentile is named above.
    for y, name in sorted(ends, key=lambda end: -end[0]):
        place = min(y, lowest - LABEL_GAP)
        lowest = place
        yield _text(x, place + 4, NAMES[name], _CLASSES[name])


def _grid_line(panel: _Panel, y: float, label: str) -> Iterator[str]:
    yield (
        f'<line class="grid" x1="{panel.left:.1f}" x2="{panel.right:.1f}" y1="{y:.1f}"'
        f' y2="{y:.1f}"/>'
    )
    yield _text(panel.left - 8, y + 4, label, "soft", anchor="end")


def _x_axis(result: Result, panel: _Panel) -> Iterator[str]:
    """Yield the labels of the tiers, leaving out those for which there is no room."""
    title, name = _axis(result)
    yield _text(panel.left, BOTTOM + 40, title, "soft")
    free = float("inf")
    for x, tier in reversed(list(zip(panel.places, result.tiers, strict=True))):
        label = name(tier.limit)
        half = len(label) * CHARACTER / 2
        if x + half < free:
            free = x - half - CHARACTER
            yield _text(x, BOTTOM + 20, label, "ink", anchor="middle")


def _axis(result: Result) -> tuple[str, Callable[[Limit], str]]:
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


def _text(x: float, y: float, text: str, css: str, *, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(text)}</text>"


def _style() -> str:
    """Return the style sheet. Plain colours, because not every viewer knows CSS variables."""
    return f"{_SHAPES}{_palette(0)}@media(prefers-color-scheme:dark){{{_palette(1)}}}"


def _palette(ground: int) -> str:
    rules = []
    for name, colours in _COLOURS.items():
        areas = f".probe text.{name},.probe circle.{name},.probe rect.{name}"
        lines = f".probe line.{name},.probe polyline.{name}"
        rules += [f"{areas}{{fill:{colours[ground]}}}", f"{lines}{{stroke:{colours[ground]}}}"]
    return "".join(rules)


def _round_up(value: float) -> float:
    """Return a number at or above a value that divides well: 1, 2, 4 or 8 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= value)
