"""Delay and throttling by quota as one chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.render.chart import svg
from quota_advisor.render.chart.scale import Linear, Logarithmic
from quota_advisor.sim.bandwidth import Outcome
from quota_advisor.simulate.report.table import headline, setting_text
from quota_advisor.simulate.run import Candidate, Result

_COLOURS = {
    "p50": ("#9ec5f4", "#2b5488"),
    "p95": ("#5a9bea", "#3d7cc9"),
    "p99": ("#1f6fd6", "#6aa9f4"),
    "p999": ("#0b4aa2", "#b6d6fb"),
    "throttled": ("#c2410c", "#f0883e"),
}
_DELAYS: dict[str, Callable[[Outcome], float]] = {
    "p50": lambda outcome: outcome.delay.p50_usec,
    "p95": lambda outcome: outcome.delay.p95_usec,
    "p99": lambda outcome: outcome.delay.p99_usec,
    "p999": lambda outcome: outcome.delay.p999_usec,
}
_LABELS = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
MSEC, LEAST_MSEC = 1e3, 0.1
"""Delays below a tenth of a millisecond have no place on the axis."""


def render(result: Result) -> str:
    """Return the SVG document."""
    return svg.document(chart(result))


def chart(result: Result) -> svg.Chart:
    """Return the chart: how late work gets on the left, how often it is throttled on the right."""
    candidates = by_quota(result.curve or result.candidates)
    highest = max((cores_of(c) for c in candidates), default=1.0)
    return svg.Chart(
        name="simulation",
        title=f"{result.name} under other quotas",
        subtitle=headline(result),
        x=svg.XAxis(title="quota, cores", ticks=tuple(_ticks(highest))),
        panels=(_delays(candidates), _throttling(candidates)),
        colours=_COLOURS,
        footnotes=tuple(_footnotes(result)),
    )


def by_quota(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those with a quota, the smallest first."""
    limited = [c for c in candidates if isinstance(c.setting.limit, Bandwidth)]
    return sorted(limited, key=cores_of)


def cores_of(candidate: Candidate) -> float:
    """Return a candidate's quota in CPUs; 0 for none."""
    limit = candidate.setting.limit
    return limit.cores if isinstance(limit, Bandwidth) else 0.0


def _delays(candidates: list[Candidate]) -> svg.Panel:
    series = tuple(
        svg.Series(
            style=name,
            label=_LABELS[name],
            points=tuple(
                (cores_of(candidate), msec)
                for candidate in candidates
                if (msec := delay(candidate.outcome) / MSEC) >= LEAST_MSEC
            ),
        )
        for name, delay in _DELAYS.items()
    )
    return svg.Panel(
        left=60,
        right=480,
        title="how late the work is, ms (logarithmic)",
        y=Logarithmic.around(y for line in series for _, y in line.points),
        series=series,
        empty="nothing is late",
    )


def _throttling(candidates: list[Candidate]) -> svg.Panel:
    points = tuple(
        (cores_of(candidate), ratio * 100)
        for candidate in candidates
        if not isinstance(ratio := candidate.outcome.throttled_ratio, Missing)
    )
    return svg.Panel(
        left=610,
        right=900,
        title="throttled periods, %",
        y=Linear(highest=100.0),
        series=(svg.Series(style="throttled", points=points),),
    )


def _ticks(highest: float) -> list[tuple[float, str]]:
    return [(highest * quarter / 4, f"{highest * quarter / 4:g}") for quarter in range(1, 5)]


def _footnotes(result: Result) -> list[str]:
    if not result.order.sweep:
        return []
    if result.answer is None:
        return [f"no quota keeps the target: {result.order.target.text}"]
    return [f"smallest that keeps the target: {setting_text(result.answer.setting)}"]
