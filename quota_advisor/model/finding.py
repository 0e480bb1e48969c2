"""What was concluded. Every conclusion points back at the facts behind it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from quota_advisor.model.source import Location, Source, Span
from quota_advisor.records import NamedTuple, dataclass

if TYPE_CHECKING:
    from quota_advisor.model.advice import Advice, Step


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
        steps: Commands that do it, or try it.
    """

    summary: str
    advice: Advice | None = None
    steps: tuple[Step, ...] = ()


class Once(StrEnum):
    """Within what a finding is told once, however many places it is true of.

    Attributes:
        DIRECTORY: The chart that the file is part of, else its directory.
        INPUT: All files together.
    """

    DIRECTORY = "directory"
    INPUT = "input"


class Related(NamedTuple):
    """Another place that a finding is about.

    Attributes:
        location: The place; a :class:`~quota_advisor.model.source.Span` where its end is known.
        message: What stands there, in a few words: ``the drop-in that wins``.
    """

    location: Location
    message: str


class Edit(NamedTuple):
    """Characters of a file that others take the place of.

    Attributes:
        span: The characters; start and end are the same where something is put in between.
        text: What takes their place.
    """

    span: Span
    text: str


class Fix(NamedTuple):
    """A change of one file that settles a finding for certain.

    Attributes:
        description: What it does, in one line.
        safe: What is in force stays in force. Else something takes effect, as it was written, that
            was ignored or refused until now.
        edits: In the order of their places; none touches another. All of them, or none.
    """

    description: str
    safe: bool
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One conclusion of one rule about one subject.

    Attributes:
        ruled_out: Other causes that were looked at, with their numbers.
        location: The place to blame, where there is one; a
            :class:`~quota_advisor.model.source.Span` where its end is known.
        related: Other places that it is about.
        fix: What would settle it, where that is certain. Several findings may have one in common.
        brief: The message in a few words, for a line that names several findings of one cause.
        cause: cgroup of the limit at fault, where that is not the subject's own.
        parts: What other rules say of the same cause, the most telling first. Its severity is
            the worst of theirs.
        once: Within what one of its rule is enough; None where each counts.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    message: str
    subject: Subject
    location: Location | None = None
    related: tuple[Related, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    ruled_out: tuple[Evidence, ...] = ()
    recommendation: Recommendation | None = None
    fix: Fix | None = None
    brief: str = ""
    cause: str | None = None
    parts: tuple[Finding, ...] = ()
    once: Once | None = None


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
