"""A request to leave findings out, wherever it is written."""

from __future__ import annotations

from quota_advisor.model.source import Location
from quota_advisor.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """A comment ``# quota-advisor: ignore[rule-id] reason``."""

    rules: tuple[str, ...]
    reason: str
    location: Location
