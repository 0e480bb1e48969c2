"""Plots with characters, for a terminal: one line of text a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from quota_advisor.records import dataclass
from quota_advisor.render.chart.scale import Logarithmic

MIN_WIDTH, MAX_WIDTH = 20, 80
"""Columns of the plot itself, without labels."""

BESIDE = 14
"""Columns that the frame, and a number behind a bar, take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a plot.

    Attributes:
        label: Written before it.
        values: What is marked on it, by the name of the mark.
    """

    label: str
    values: Mapping[str, float]


def columns(labels: Sequence[str], width: int) -> int:
    """Return how many columns a plot with these labels has in a terminal of this width."""
    return min(max(width - max(map(len, labels)) - BESIDE, MIN_WIDTH), MAX_WIDTH)


def marks(title: str, rows: Sequence[Row], shapes: Mapping[str, str], room: int) -> Iterator[str]:
    """Yield a plot of marks on a logarithmic axis; nothing where no value is above zero.

    Args:
        title: What the values are, with their unit.
        rows: The lines.
        shapes: The character of each mark; where two meet, the later one is seen.
        room: Columns of the plot.
    """
    scale = Logarithmic.around(value for row in rows for value in row.values.values())
    if scale is None:
        return
    margin = max(len(row.label) for row in rows)
    legend = "  ".join(f"{shape} {name}" for name, shape in shapes.items())
    yield f"{title:>{margin}}  {legend}"
    for row in rows:
        yield f"{row.label:>{margin}} │{_marked(row, shapes, scale, room)}"
    yield f"{'':>{margin}} └{'─' * room}"
    yield f"{'':>{margin}}  {_axis(scale, room)}"


def bars(title: str, values: Sequence[tuple[str, float]], room: int) -> Iterator[str]:
    """Yield a plot of bars, each with its number; the longest takes all the room.

    Args:
        title: What the values are, with their unit.
        values: Each with its label.
        room: Columns of the longest bar.
    """
    margin = max(len(label) for label, _ in values)
    highest = max(value for _, value in values) or 1.0
    yield f"{title:>{margin}}"
    for label, value in values:
        bar = "█" * round(value / highest * room)
        yield f"{label:>{margin}} │{bar} {value:.1f}"


def _marked(row: Row, shapes: Mapping[str, str], scale: Logarithmic, room: int) -> str:
    cells = [" "] * room
    places = {n: _column(value, scale, room) for n, value in row.values.items() if value > 0}
    if places:
        first, last = min(places.values()), max(places.values())
        cells[first : last + 1] = "─" * (last + 1 - first)
    for name, place in places.items():
        cells[place] = shapes[name]
    return "".join(cells).rstrip()


def _column(value: float, scale: Logarithmic, room: int) -> int:
    return round(scale.place(value) * (room - 1))


def _axis(scale: Logarithmic, room: int) -> str:
    text = ""
    for value in scale.ticks():
        tick = f"{value:g}"
        place = min(_column(value, scale, room), room - len(tick))
        if place >= len(text) + bool(text):
            text = f"{text:<{place}}{tick}"
    return text
