"""Guesses at what was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'x'?``, or an empty string where nothing is close."""
    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""
