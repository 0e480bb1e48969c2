"""What the plots of a page show, as plain numbers for ``report.js``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quota_advisor.model.advice import Advice
from quota_advisor.model.cgroup import CgroupFacts, Demand, UseTrace
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import Workload
from quota_advisor.records import dataclass
from quota_advisor.units import format_cores, format_usec

_USEC = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot; None where there is nothing to show.

    Attributes:
        name: Its name.
        colour: A variable of the style sheet.
        values: One for each place on the horizontal axis.
        is_dashed: For what is no measurement.
        steps: Holds its value from place to place.
    """

    name: str
    colour: str
    values: tuple[float | None, ...]
    is_dashed: bool = False
    steps: bool = False


def plot(  # noqa: PLR0913 - each is a choice of its own, all by name
    *,
    title: str,
    text: str,
    x: Iterable[float],
    xtitle: str,
    ytitle: str,
    lines: Iterable[Line],
    names: Iterable[str] = (),
    log: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Return a plot.

    Args:
        title: Above it.
        text: What it shows, for those who cannot see it.
        x: Places on the horizontal axis.
        xtitle: What these are, with their unit.
        ytitle: The same of the vertical axis.
        lines: What is drawn.
        names: What is written at each place in place of its number.
        log: Whether the vertical axis is logarithmic.
        more: Marks behind the lines.
    """
    places, written = list(x), list(names)
    return {
        "title": title,
        "text": text,
        "x": places,
        "xtitle": xtitle,
        "xname": xtitle,
        "ytitle": ytitle,
        "log": log,
        **({"ticks": places, "names": written} if written else {}),
        "series": [
            {
                "name": line.name,
                "colour": f"--{line.colour}",
                "values": list(line.values),
                "dash": line.is_dashed,
                "steps": line.steps,
            }
            for line in lines
        ],
        **more,
    }


def use_of(workload: Workload, advice: Advice | Missing | None) -> dict[str, Any] | None:
    """Return how a workload's use went, beside its quota and what is advised; None if unknown."""
    group = workload.cgroup
    if isinstance(group, Missing) or not isinstance(group.trace, UseTrace):
        return None
    trace = group.trace
    step = max(trace.interval_usec, 1) / _USEC
    points = min(len(trace.cores), len(trace.held))
    lines = [Line(name="use", colour="use", values=trace.cores[:points], steps=True)]
    tightest = workload.tightest
    if isinstance(tightest, tuple):
        whose = "quota" if tightest[1] is group else f"quota of {tightest[1].path}"
        lines.append(_level(whose, "quota", tightest[0].cores, points))
    if isinstance(advice, Advice) and advice.quota is not None:
        name = "advised, at least" if advice.quota.lower_bound else "advised"
        lines.append(_level(name, "advised", advice.quota.cores, points))
    return plot(
        title=f"Use, cores; one point is {format_usec(trace.interval_usec)}",
        text=_described(group, trace, tightest[0] if isinstance(tightest, tuple) else None),
        x=(round((index + 0.5) * step, 4) for index in range(points)),
        xtitle="seconds",
        ytitle="cores",
        lines=lines,
        held=[int(held) for held in trace.held[:points]],
        step=step,
    )


def _level(name: str, colour: str, cores: float, points: int) -> Line:
    values = (round(cores, 4),) * points
    return Line(name=name, colour=colour, values=values, is_dashed=True)


def _described(group: CgroupFacts, trace: UseTrace, limit: Bandwidth | None) -> str:
    parts = []
    if isinstance(group.demand, Demand):
        parts.append(
            f"Mean {format_cores(group.demand.mean_cores)}, highest"
            f" {format_cores(group.demand.max_cores)}"
        )
    if limit is not None:
        parts.append(f"quota {format_cores(limit.cores)}")
    held = sum(trace.held)
    parts.append(f"held back in {held} of {len(trace.held)} points" + (" (shaded)" if held else ""))
    return "; ".join(parts) + "."
