"""The result as one page that needs nothing else: the frontier drawn, and every figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quota_advisor.model.limit import Missing
from quota_advisor.render.html.charts import Line, plot
from quota_advisor.render.html.page import Page, Panel
from quota_advisor.render.html.page import render as render_page
from quota_advisor.sim.bandwidth import Outcome
from quota_advisor.simulate.report import table
from quota_advisor.simulate.report.picture import by_quota, cores_of
from quota_advisor.simulate.run import Candidate, Result
from quota_advisor.units import format_cores, format_ratio, format_usec

_LATE: dict[str, tuple[str, Callable[[Outcome], float]]] = {
    "p50": ("s1", lambda outcome: outcome.delay.p50_usec),
    "p95": ("s2", lambda outcome: outcome.delay.p95_usec),
    "p99": ("s3", lambda outcome: outcome.delay.p99_usec),
    "p99.9": ("s4", lambda outcome: outcome.delay.p999_usec),
}
_MSEC = 1e3


def render(result: Result) -> str:
    """Return the page."""
    candidates = by_quota(result.curve or result.candidates)
    page = Page(
        title=f"{result.name} under other CPU quotas",
        lead=(table.headline(result), f"Target: {result.order.target.text}."),
        panels=(
            Panel(anchor="late", title="How late the work is", chart=_late(candidates)),
            Panel(anchor="throttled", title="Throttled periods", chart=_throttled(candidates)),
        )
        if candidates
        else (),
        plain=(("All figures", table.render(result)),),
    )
    return "".join(render_page(page))


def _late(candidates: Sequence[Candidate]) -> dict[str, object]:
    lines = [
        Line(
            name=name,
            colour=colour,
            # A logarithmic axis has no place for nothing.
            values=tuple(round(late(c.outcome) / _MSEC, 3) or None for c in candidates),
        )
        for name, (colour, late) in _LATE.items()
    ]
    return plot(
        title="Milliseconds later than without a quota, logarithmic",
        text=_told(candidates, lambda c: format_usec(c.outcome.delay.p99_usec), "p99"),
        x=[cores_of(candidate) for candidate in candidates],
        xtitle="quota, cores",
        ytitle="ms",
        lines=lines,
        log=True,
    )


def _throttled(candidates: Sequence[Candidate]) -> dict[str, object]:
    ratios = [candidate.outcome.throttled_ratio for candidate in candidates]
    values = tuple(None if isinstance(r, Missing) else round(r * 100, 3) for r in ratios)
    return plot(
        title="Share of the active periods, percent",
        text=_told(candidates, lambda c: _ratio(c.outcome), "of the periods throttled"),
        x=[cores_of(candidate) for candidate in candidates],
        xtitle="quota, cores",
        ytitle="%",
        lines=[Line(name="throttled", colour="s6", values=values)],
    )


def _told(candidates: Sequence[Candidate], figure: Callable[[Candidate], str], what: str) -> str:
    """Return both ends and the middle in words, for those who cannot see the plot."""
    chosen = {0: None, len(candidates) // 2: None, len(candidates) - 1: None}
    parts = (f"{figure(candidates[i])} at {format_cores(cores_of(candidates[i]))}" for i in chosen)
    return f"{what[:1].upper()}{what[1:]}: {', '.join(parts)}."


def _ratio(outcome: Outcome) -> str:
    ratio = outcome.throttled_ratio
    return "-" if isinstance(ratio, Missing) else format_ratio(ratio)
