"""Latency and throughput by quota as one SVG that needs nothing else: no script, font or net."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from quota_advisor.model.limit import Missing
from quota_advisor.probe.report_plot import NAMES, decades
from quota_advisor.probe.report_table import headline
from quota_advisor.probe.result import Result
from quota_advisor.probe.summary import QUANTITIES, Figure, TierSummary

WIDTH, HEIGHT = 960, 420
TOP, BOTTOM = 96, 330
LABEL_GAP = 14
"""Least distance between two labels on top of each other."""

TICK_GAP = 64
"""Least distance between two labels beside each other."""

_Height = Callable[[float], float]

_STYLE = """
.probe{--ink:#1f2328;--soft:#59636e;--grid:#d8dee4;--paper:#fff;font:12px system-ui,sans-serif}
.probe{--p50:#9ec5f4;--p95:#5a9bea;--p99:#1f6fd6;--p999:#0b4aa2;--max:#c2410c;--rate:#0f766e}
@media(prefers-color-scheme:dark){.probe{--ink:#e6edf3;--soft:#9198a1;--grid:#30363d;--paper:#0d1117;
--p50:#2b5488;--p95:#3d7cc9;--p99:#6aa9f4;--p999:#b6d6fb;--max:#f0883e;--rate:#39c5b0}}
.probe text{fill:var(--ink)}.probe .soft{fill:var(--soft)}
.probe .title{font-size:15px;font-weight:600}.probe .panel{font-weight:600}
.probe .grid{stroke:var(--grid)}.probe polyline{fill:none;stroke-width:2}
.probe .range{stroke-width:2;opacity:.45}.probe .ideal{stroke:var(--soft);stroke-dasharray:4 4}
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
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" style="fill:var(--paper)"/>',
        _text(24, 30, "Latency and throughput by CPU quota", "title"),
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
    bars = "vertical bars: lowest to highest round" if result.timing.rounds > 1 else ""
    return [text for text in (bars, *result.notes[:1]) if text]


def _panel(result: Result, left: float, right: float) -> _Panel:
    """Place the tiers by their quota where only that differs, else evenly."""
    limits = [tier.limit for tier in result.tiers]
    quotas = [limit.tier_cores for limit in limits]
    only_quota = len(set(quotas)) == len(limits)
    values = quotas if only_quota else [float(number + 1) for number in range(len(limits))]
    top = max(values) or 1.0
    room = right - left - 24
    return _Panel(left=left, right=right, places=tuple(left + v / top * room for v in values))


def _latency_panel(result: Result, panel: _Panel) -> Iterator[str]:
    yield _text(panel.left, TOP - 16, "latency, ms (logarithmic)", "panel")
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
    yield _text(panel.left, TOP - 16, "requests a second", "panel")
    top = _round_up(max((rate for _, rate in points), default=0.0) or 1.0)

    def height(rate: float) -> float:
        return BOTTOM - rate / top * (BOTTOM - TOP)

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield from _grid_line(panel, height(top * share), f"{top * share:g}")
    yield from _x_axis(result, panel)
    if points:
        x, rate = points[-1]
        slope = rate / (x - panel.left)
        yield (
            f'<line class="ideal" x1="{panel.left:.1f}" y1="{height(0):.1f}" x2="{x:.1f}"'
            f' y2="{height(slope * (x - panel.left)):.1f}"/>'
        )
    yield from _ranges(result.tiers, name, panel, height, "rate")
    yield _line([(x, height(y)) for x, y in points], "rate")
    yield _text(panel.left, BOTTOM + 40, "dashed: in proportion to the quota", "soft")


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
                f'<line class="range" style="stroke:var(--{style})" x1="{x:.1f}" x2="{x:.1f}"'
                f' y1="{height(min(values)):.1f}" y2="{height(max(values)):.1f}"/>'
            )


def _line(points: Sequence[tuple[float, float]], style: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" style="fill:var(--{style})"/>'
        for x, y in points
    )
    return f'<polyline points="{path}" style="stroke:var(--{style})"/>{dots}'


def _labels(ends: Sequence[tuple[float, str]], x: float) -> Iterator[str]:
    """Yield the names of the lines at their ends, pushed apart where they would overlap."""
    lowest = float("inf")
    for y, name in sorted(ends, reverse=True):
        place = min(y, lowest - LABEL_GAP)
        lowest = place
        yield _text(x, place + 4, NAMES[name], "", style=f"fill:var(--{_CLASSES[name]})")


def _grid_line(panel: _Panel, y: float, label: str) -> Iterator[str]:
    yield (
        f'<line class="grid" x1="{panel.left:.1f}" x2="{panel.right:.1f}" y1="{y:.1f}"'
        f' y2="{y:.1f}"/>'
    )
    yield _text(panel.left - 8, y + 4, label, "soft", anchor="end")


def _x_axis(result: Result, panel: _Panel) -> Iterator[str]:
    """Yield the labels of the tiers, leaving out those for which there is no room."""
    free = float("-inf")
    for x, tier in zip(panel.places, result.tiers, strict=True):
        if x < free:
            continue
        free = x + TICK_GAP
        yield _text(x, BOTTOM + 20, result.label(tier.limit), "", anchor="middle")


def _text(
    x: float, y: float, text: str, css: str, *, anchor: str = "start", style: str = ""
) -> str:
    extra = f' style="{style}"' if style else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}"{extra}>'
        f"{escape(text)}</text>"
    )


def _round_up(value: float) -> float:
    """Return a number at or above a value that divides well: 1, 2, 4 or 8 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= value)
