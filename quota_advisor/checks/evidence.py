"""Evidence and words that rules about quotas share, whether the quota runs or is planned."""

from __future__ import annotations

from quota_advisor.model.cgroup import CounterWindow
from quota_advisor.model.finding import Evidence, Severity
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.source import Source
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.units import format_usec


def limit_evidence(limit: Bandwidth, source: Source | None, label: str = "limit") -> Evidence:
    """Return a limit as evidence, in cores."""
    return Evidence(label=label, value=limit.cores, unit="cores", source=source)


def ratio_of_enough(window: CounterWindow, rule: Rule) -> float | Missing:
    """Return the throttled share of periods, missing where too few of them ran."""
    minimum = rule.option("min_periods")
    if isinstance(window.periods, Missing) or 0 <= window.periods < minimum:
        return Missing(reason=f"{_periods_text(window)} {over(window)}, {minimum:g} needed")
    return window.throttled_ratio


def _periods_text(window: CounterWindow) -> str:
    if isinstance(window.periods, Missing):
        return f"periods not read ({window.periods.reason})"
    return f"{window.periods} active periods"


def over(window: CounterWindow) -> str:
    """Return the words for the time that a window spans."""
    if isinstance(window.elapsed_usec, int):
        return f"over {format_usec(window.elapsed_usec)}"
    return "since the group was created, not now"


def degree(ratio: float, warning_ratio: float, error_ratio: float) -> Severity | None:
    """Return how severe a ratio is; both bars must be exceeded, not met."""
    if ratio > error_ratio:
        return Severity.ERROR
    return Severity.WARNING if ratio > warning_ratio else None
