"""What was asked for and could not be read."""

from __future__ import annotations

from quota_advisor.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that was asked for and could not be read.

    Attributes:
        subject: File, unit or bus concerned.
        reason: What happened.
        hint: What to do next; may be empty.
    """

    subject: str
    reason: str
    hint: str = ""
