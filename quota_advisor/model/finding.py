"""What was concluded. Every conclusion points back at the facts behind it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from quota_advisor.model.source import Location, Source

if TYPE_CHECKING:
    from quota_advisor.model.advice import Advice


class Severity(StrEnum):
    """How much a finding matters; ordered by :attr:`rank`."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Position from least to most severe."""
        return _RANKS[self]


_RANKS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


class Confidence(StrEnum):
    """How sure a rule is of what it says."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a finding is about.

    Attributes:
        kind: ``service``, ``slice``, ``container``, ``cgroup``, ``node`` …
        name: Name that a person would use.
        cgroup: cgroup path where the subject is live.
    """

    kind: str
    name: str
    cgroup: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One number (or text) that a conclusion rests on.

    Attributes:
        label: What the value is.
        value: The value.
        unit: ``ratio``, ``cores``, ``usec``, ``periods`` …; empty for texts.
        threshold: What it was held against, in the same unit.
        source: Where it was read.
    """

    label: str
    value: float | str
    unit: str = ""
    threshold: float | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What to do.

    Attributes:
        summary: One line.
        advice: The decision about the workload's quota, where that is what it rests on.
    """

    summary: str
    advice: Advice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One conclusion of one rule about one subject.

    Attributes:
        ruled_out: Other causes that were looked at, with their numbers.
        location: The file to blame, where there is one.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    message: str
    subject: Subject
    location: Location | None = None
    evidence: tuple[Evidence, ...] = ()
    ruled_out: tuple[Evidence, ...] = ()
    recommendation: Recommendation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A rule that could not judge a subject, and why: counted, never hidden."""

    rule: str
    subject: Subject
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedFinding:
    """A finding that somebody asked to leave out, with the reason given.

    Attributes:
        external: The wish stands in the configuration or a baseline, not in the file itself.
    """

    finding: Finding
    reason: str
    external: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalError:
    """A rule that failed: a defect of this program. The other rules went on."""

    rule: str
    subject: Subject
    error: str
