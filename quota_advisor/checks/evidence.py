"""Evidence and words that rules about quotas share, whether the quota runs or is planned."""

from __future__ import annotations

from quota_advisor.model.cgroup import CounterWindow
from quota_advisor.model.finding import Evidence, Severity
from quota_advisor.model.limit import Bandwidth
from quota_advisor.model.source import Source
from quota_advisor.units import format_usec


def limit_evidence(limit: Bandwidth, source: Source | None, label: str = "limit") -> Evidence:
    """Return a limit as evidence, in cores."""
    return Evidence(label=label, value=limit.cores, unit="cores", source=source)


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
