"""What several rules say of one cause, in a line."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from itertools import groupby

from quota_advisor.model.finding import Finding
from quota_advisor.rulebook.causes import HARM


def headline(finding: Finding) -> str:
    """Return what it cost, which line did it and what to do; empty for a cause of one rule's own.

    ``62 of 63 periods throttled, stood still 75 % of the time, by 12-CPUQuota.conf:4 → raise to at
    least 90 %``
    """
    if not finding.brief:
        return ""
    parts = [] if _is_among_parts(finding) else [finding]
    parts += [part for part in finding.parts if part.rule in HARM]
    words = [text for text, _ in _briefs(parts)]
    if finding.location is not None:
        words.append(f"by {posixpath.basename(finding.location.file)}:{finding.location.line}")
    advised = finding.recommendation
    to_do = advised.advice.brief if advised and advised.advice else ""
    return ", ".join(words) + (f" → {to_do}" if to_do else "")


def supporting(finding: Finding, *, below_headline: bool = False) -> list[str]:
    """Return what else is said of the cause, as one line, or none.

    Args:
        finding: Stands for the cause.
        below_headline: Leave out what the headline says.
    """
    said = HARM if below_headline else ()
    parts = (part for part in finding.parts if part.rule not in said)
    listed = [f"{text} [{rule}]" for text, rule in _briefs(parts)]
    return [f"also {', '.join(listed)}"] if listed else []


def advised_once(text: str, name: str, said: dict[str, str]) -> str:
    """Return what is advised, or whom the same was advised before.

    Args:
        text: The advice.
        name: Of the subject.
        said: What was advised so far, each text with the subject that it was advised for.
    """
    before = said.setdefault(text, name)
    return text if before == name else f"as for {before}"


def _is_among_parts(finding: Finding) -> bool:
    """Whether the finding only sums up what parts of its own rule say."""
    return any(part.rule == finding.rule for part in finding.parts)


def _briefs(parts: Iterable[Finding]) -> list[tuple[str, str]]:
    """Return each rule once, with what it says in a few words; the first stands for the others."""
    found: list[tuple[str, str]] = []
    for rule, group in groupby(parts, key=lambda part: part.rule):
        first, *others = group
        more = f" and {len(others)} more" if others else ""
        found.append((f"{first.brief}{more}", rule))
    return found
