"""Rules that there were once: their names still stand in configurations, comments and baselines."""

from __future__ import annotations

from collections.abc import Collection, Iterator

REMOVED_RULES = {
    "limit-not-multiple-of-10m": "what it found needs no change",
}
"""Each with the reason why it is gone."""


def removed_text(rule_id: str) -> str:
    """Return what is said of a rule that is gone, as the end of a sentence."""
    return f"rule {rule_id} is gone: {REMOVED_RULES[rule_id]}"


def removed_among(rule_ids: Collection[str]) -> Iterator[str]:
    """Yield the rules that are gone, each once and in order."""
    yield from sorted(REMOVED_RULES.keys() & rule_ids)
