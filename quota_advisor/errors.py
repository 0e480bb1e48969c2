"""The errors a user may see. Each says what happened, where, and what to do next.

They become text, and an exit code, in one place: :mod:`quota_advisor.cli`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class QuotaAdvisorError(Exception):
    """What the user is told, in one line.

    Attributes:
        what: What happened, and to which file, unit or object.
        hint: What to do next; empty when there is nothing sensible to say.
        exit_code: How the program ends when nothing else could be done.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}: {self.hint}" if self.hint else self.what


class UsageError(QuotaAdvisorError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = 2


class ConfigError(QuotaAdvisorError):
    """A configuration file is malformed."""

    exit_code = 2


class CatalogError(QuotaAdvisorError):
    """A shipped rule or profile is malformed: a defect of this program."""

    exit_code = 2


class CollectError(QuotaAdvisorError):
    """Something that was asked for could not be looked at."""


class SnapshotError(QuotaAdvisorError):
    """A snapshot file cannot be read or is of another version."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the hint ``did you mean 'x'?``, or an empty string where nothing is close."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed for a typo only

    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""
