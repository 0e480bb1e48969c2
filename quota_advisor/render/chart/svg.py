"""Panels of lines side by side, as one SVG that needs nothing else: no script, font or net."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from quota_advisor.records import dataclass
from quota_advisor.render.chart.scale import Linear, Scale

WIDTH, HEIGHT = 960, 420
TOP, BOTTOM = 96, 330
"""Where the vertical axes end and begin."""

MARGIN = 24
"""Room between the last value and the right end of an axis."""

LABEL_GAP = 14
"""Least distance between two labels on top of each other."""

CHARACTER = 7
"""Width of a character, roughly."""

Point = tuple[float, float]
"""Two values, x and y."""

Colour = tuple[str, str]
"""On light and on dark ground."""

_COLOURS: dict[str, Colour] = {
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9198a1"),
    "grid": ("#d8dee4", "#30363d"),
    "paper": ("#ffffff", "#0d1117"),
}

_SHAPES = """
{0} text{{font:12px system-ui,sans-serif}}
{0} .title{{font-size:15px;font-weight:600}}{0} .panel{{font-weight:600}}
{0} polyline{{fill:none;stroke-width:2}}
{0} .range{{stroke-width:2;opacity:.45}}{0} .ideal{{stroke-dasharray:4 4}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line.

    Attributes:
        style: Which of the chart's colours it has.
        points: What it goes through, from left to right.
        ranges: Vertical bars behind it: x, and the lowest and the highest y.
        label: Written at its end; empty for nothing.
    """

    style: str
    points: tuple[Point, ...]
    ranges: tuple[tuple[float, float, float], ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class XAxis:
    """What the panels have in common at the bottom; it begins at zero.

    Attributes:
        title: What the values are, with their unit.
        ticks: The values in ascending order, each with how it is written.
    """

    title: str
    ticks: tuple[tuple[float, str], ...]

    @property
    def scale(self) -> Linear:
        """Ends at the highest value."""
        return Linear(highest=self.ticks[-1][0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One coordinate system.

    Attributes:
        left, right: Where its horizontal axis begins and ends, in pixels.
        title: What the vertical values are, with their unit.
        y: The vertical scale; None where there is nothing to be shown.
        series: The lines.
        proportional: A point; what is in proportion to it is shown as a dashed line from zero.
        empty: What is written where there is no scale.
    """

    left: float
    right: float
    title: str
    y: Scale | None
    series: tuple[Series, ...]
    proportional: Point | None = None
    empty: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A whole picture.

    Attributes:
        name: Keeps its style apart from others' on the same page.
        title: The first line.
        subtitle: The second line, which also describes the picture to those who cannot see it.
        x: The horizontal axis of all panels.
        panels: From left to right.
        colours: Of the lines, by the name of their style.
        footnotes: From the bottom up.
    """

    name: str
    title: str
    subtitle: str
    x: XAxis
    panels: tuple[Panel, ...]
    colours: Mapping[str, Colour]
    footnotes: tuple[str, ...] = ()


def document(chart: Chart) -> str:
    """Return the chart as a file of its own."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{element(chart)}\n'


def element(chart: Chart) -> str:
    """Return the chart as an ``svg`` element, fit to be part of a page."""
    parts = [
        _opening(chart),
        f"<style>{_style(chart)}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="paper"/>',
        _text(24, 30, chart.title, "title ink"),
        _text(24, 52, chart.subtitle, "soft"),
        *(part for panel in chart.panels for part in _Drawing(panel, chart.x).parts()),
        *(_text(24, HEIGHT - 14 - 16 * i, note, "soft") for i, note in enumerate(chart.footnotes)),
        "</svg>",
    ]
    return "\n".join(parts)


def _opening(chart: Chart) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{chart.name}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img"'
        f' aria-label="{escape(chart.subtitle)}">'
    )


class _Drawing:
    """Draws one panel."""

    def __init__(self, panel: Panel, x: XAxis) -> None:
        self._panel = panel
        self._x = x

    def parts(self) -> Iterator[str]:
        """Yield the elements, those in the background first."""
        panel, y = self._panel, self._panel.y
        yield _text(panel.left, TOP - 16, panel.title, "panel ink")
        if y is None:
            yield _text(panel.left, TOP + 20, panel.empty, "soft")
            return
        for tick in y.ticks():
            yield from self._grid_line(_height(y, tick), f"{tick:g}")
        yield from self._x_axis()
        if panel.proportional is not None:
            yield self._proportional(y, panel.proportional)
        for series in panel.series:
            yield from self._ranges(y, series)
            yield self._line(y, series)
        yield from self._labels(y)

    def _place(self, value: float) -> float:
        room = self._panel.right - self._panel.left - MARGIN
        return self._panel.left + self._x.scale.place(value) * room

    def _grid_line(self, y: float, label: str) -> Iterator[str]:
        left, right = self._panel.left, self._panel.right
        yield f'<line class="grid" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _text(left - 8, y + 4, label, "soft", anchor="end")

    def _x_axis(self) -> Iterator[str]:
        """Yield the labels, leaving out those for which there is no room."""
        yield _text(self._panel.left, BOTTOM + 40, self._x.title, "soft")
        free = float("inf")
        for value, label in reversed(self._x.ticks):
            x, half = self._place(value), len(label) * CHARACTER / 2
            if x + half < free:
                free = x - half - CHARACTER
                yield _text(x, BOTTOM + 20, label, "ink", anchor="middle")

    def _proportional(self, y: Scale, point: Point) -> str:
        return (
            f'<line class="ideal soft" x1="{self._panel.left:.1f}" y1="{_height(y, 0.0):.1f}"'
            f' x2="{self._place(point[0]):.1f}" y2="{_height(y, point[1]):.1f}"/>'
        )

    def _ranges(self, y: Scale, series: Series) -> Iterator[str]:
        for value, low, high in series.ranges:
            x = self._place(value)
            yield (
                f'<line class="range {series.style}" x1="{x:.1f}" x2="{x:.1f}"'
                f' y1="{_height(y, low):.1f}" y2="{_height(y, high):.1f}"/>'
            )

    def _line(self, y: Scale, series: Series) -> str:
        points = [(self._place(p[0]), _height(y, p[1])) for p in series.points if y.has(p[1])]
        path = " ".join(f"{x:.1f},{height:.1f}" for x, height in points)
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{height:.1f}" r="3.5" class="{series.style}"/>'
            for x, height in points
        )
        return f'<polyline points="{path}" class="{series.style}"/>{dots}'

    def _labels(self, y: Scale) -> Iterator[str]:
        """Yield the names of the lines at their ends, pushed apart where they would overlap."""
        named = [series for series in self._panel.series if series.label and series.points]
        ends = [(s.points[-1][1], s) for s in named if y.has(s.points[-1][1])]
        x = self._place(self._x.ticks[-1][0]) + 10
        lowest = float("inf")
        # Where two meet, the one that comes later is named above.
        for value, series in sorted(ends, key=lambda end: end[0]):
            lowest = min(_height(y, value), lowest - LABEL_GAP)
            yield _text(x, lowest + 4, series.label, series.style)


def _height(y: Scale, value: float) -> float:
    return BOTTOM - y.place(value) * (BOTTOM - TOP)


def _text(x: float, y: float, text: str, css: str, *, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(text)}</text>"


def _style(chart: Chart) -> str:
    """Return the style sheet. Plain colours, because not every viewer knows CSS variables."""
    scope = f".{chart.name}"
    colours = {**_COLOURS, **chart.colours}
    light, dark = ("".join(_rules(scope, colours, ground)) for ground in (0, 1))
    return f"{_SHAPES.format(scope)}{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _rules(scope: str, colours: Mapping[str, Colour], ground: int) -> Iterator[str]:
    for name, colour in colours.items():
        yield (
            f"{scope} text.{name},{scope} circle.{name},{scope} rect.{name}"
            f"{{fill:{colour[ground]}}}"
        )
        yield f"{scope} line.{name},{scope} polyline.{name}{{stroke:{colour[ground]}}}"
