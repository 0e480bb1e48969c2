"""The demand of one cgroup over time as a picture: use, quota, and where it was held back."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from quota_advisor.record.info import Info, TrackInfo, limit_text
from quota_advisor.recording.reader import GAP, HELD, Track
from quota_advisor.records import NamedTuple
from quota_advisor.render.chart import svg
from quota_advisor.render.chart.scale import Linear
from quota_advisor.units import format_cores, format_usec

COLUMNS = 400
"""Moments in time that the picture tells apart."""

_COLOURS = {
    "highest": ("#5a9bea", "#3d7cc9"),
    "mean": ("#0b4aa2", "#b6d6fb"),
    "quota": ("#c2410c", "#f0883e"),
    "held": ("#c2410c", "#f0883e"),
}
_USEC = 1e6


class _Moment(NamedTuple):
    """Some windows in a row.

    Attributes:
        end_sec: When the last of them ended.
        mean: Use on average, in CPUs.
        highest: The highest of them.
        is_held: A quota held one of them back.
        is_gap: Nobody saw any of them.
    """

    end_sec: float
    mean: float
    highest: float
    is_held: bool
    is_gap: bool


def demand_chart(first: TrackInfo, info: Info) -> svg.Chart:
    """Return the picture of one cgroup."""
    moments = list(_moments(first.track))
    quotas = _quotas(first.track)
    top = max([*(m.highest for m in moments), *(cores for _, cores in quotas)], default=1.0)
    span_sec = max(first.span_usec / _USEC, 1e-6)
    return svg.Chart(
        name="recording",
        title=f"CPU use of {first.name}",
        subtitle=(
            f"{format_usec(first.span_usec)} every {format_usec(info.about.interval_usec)};"
            f" mean {format_cores(first.use.mean_cores)}, p95 {format_cores(first.use.p95_cores)},"
            f" highest {format_cores(first.use.max_cores)}; quota {limit_text(first.track)}"
        ),
        x=svg.XAxis(title="time", ticks=tuple(_ticks(span_sec))),
        panels=(_panel(moments, quotas, Linear.up_to(top), span_sec),),
        colours=_COLOURS,
        footnotes=("red bars: a quota held it back; light: highest window, dark: mean",),
    )


def _panel(
    moments: list[_Moment], quotas: list[svg.Point], y: Linear, span_sec: float
) -> svg.Panel:
    seen = [moment for moment in moments if not moment.is_gap]
    held = tuple((m.end_sec, 0.0, m.highest) for m in seen if m.is_held)
    series = [
        svg.Series(style="highest", points=tuple((m.end_sec, m.highest) for m in seen)),
        svg.Series(style="mean", points=tuple((m.end_sec, m.mean) for m in seen)),
        svg.Series(style="held", points=(), ranges=held),
    ]
    if quotas:
        points = (*quotas, (span_sec, quotas[-1][1]))
        series.append(svg.Series(style="quota", points=points, label="quota"))
    return svg.Panel(left=60, right=880, title="CPUs", y=y, series=tuple(series))


def _moments(track: Track) -> Iterator[_Moment]:
    size = max(1, -(-len(track.marks) // COLUMNS))
    end_sec = 0.0
    for begin in range(0, len(track.marks), size):
        chosen = slice(begin, begin + size)
        elapsed, used = track.elapsed_usec[chosen], track.used_usec[chosen]
        marks = track.marks[chosen]
        total = max(sum(elapsed), 1)
        end_sec += total / _USEC
        yield _Moment(
            end_sec=end_sec,
            mean=sum(used) / total,
            highest=max(u / max(e, 1) for u, e in zip(used, elapsed, strict=True)),
            is_held=any(mark & HELD for mark in marks),
            is_gap=all(mark & GAP for mark in marks),
        )


def _quotas(track: Track) -> list[svg.Point]:
    """Return the corners of the line of the quota, where there was one all the time."""
    if not track.limits or any(c.quota_usec is None or not c.period_usec for c in track.limits):
        return []
    ends = list(itertools.accumulate(track.elapsed_usec, initial=0))
    corners: list[svg.Point] = []
    for change in track.limits:
        at = ends[change.window] / _USEC
        cores = (change.quota_usec or 0) / (change.period_usec or 1)
        if corners:
            corners.append((at, corners[-1][1]))
        corners.append((at, cores))
    return corners


def _ticks(span_sec: float) -> Iterator[tuple[float, str]]:
    for quarter in range(5):
        at = span_sec * quarter / 4
        yield at, format_usec(at * _USEC) if at else "0"
