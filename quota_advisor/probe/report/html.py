"""The result as one page that needs nothing else: plots, the table, the warnings."""

from __future__ import annotations

from quota_advisor.probe.report import svg as report_svg
from quota_advisor.probe.report import table as report_table
from quota_advisor.probe.report.plot import NAMES
from quota_advisor.probe.result import Result
from quota_advisor.probe.summary import Figure
from quota_advisor.render.html.charts import Line, plot
from quota_advisor.render.html.page import Page, Panel
from quota_advisor.render.html.page import render as render_page
from quota_advisor.units import format_number

_COLOURS = dict(zip(NAMES, ("s1", "s2", "s3", "s4", "s5"), strict=True))


def render(result: Result) -> str:
    """Return the page."""
    latency, rate = _latencies(result), _rates(result)
    page = Page(
        title=f"CPU quota probe of {result.node.hostname}",
        lead=(
            report_table.headline(result),
            " ".join(result.load.profile.description.split()),
        ),
        panels=(
            Panel(anchor="latency", title="Latency", chart=latency),
            Panel(anchor="throughput", title="Throughput", chart=rate),
        ),
        plain=(("All figures", report_table.render(result)),),
    )
    return "".join(render_page(page))


def _latencies(result: Result) -> dict[str, object]:
    """Return medians of the percentiles by limit; what no request was finished for is left out."""
    lines = [
        Line(name=shown, colour=_COLOURS[name], values=_values(result, name, 1e6))
        for name, shown in NAMES.items()
    ]
    axis = report_svg.axis(result)
    return plot(
        title="Milliseconds, logarithmic; medians of the rounds",
        text=_told(result, "lat_p99_ns", "p99", " ms", 1e6),
        x=axis.values,
        xtitle=axis.title,
        ytitle="ms",
        lines=lines,
        names=axis.names,
        log=True,
    )


def _rates(result: Result) -> dict[str, object]:
    axis = report_svg.axis(result)
    rate = report_svg.RATE
    return plot(
        title="Requests a second; medians of the rounds",
        text=_told(result, rate, "Requests a second", "", 1.0),
        x=axis.values,
        xtitle=axis.title,
        ytitle="requests/s",
        lines=[Line(name="requests/s", colour="s6", values=_values(result, rate, 1.0))],
        names=axis.names,
    )


def _values(result: Result, name: str, scale: float) -> tuple[float | None, ...]:
    """Return a quantity of each tier; a logarithmic axis has no place for nothing."""
    found = (tier.figures[name] for tier in result.tiers)
    return tuple(
        round(one.median / scale, 6) if isinstance(one, Figure) and one.median > 0 else None
        for one in found
    )


def _told(result: Result, name: str, called: str, unit: str, scale: float) -> str:
    values = _values(result, name, scale)
    parts = (
        f"{result.label(tier.limit)}: {'-' if value is None else format_number(value, 2) + unit}"
        for tier, value in zip(result.tiers, values, strict=True)
    )
    return f"{called} at {'; '.join(parts)}."
