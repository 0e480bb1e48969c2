"""One cause, one finding: what several rules say of one cause becomes one of them with parts."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from quota_advisor.model.finding import Finding, Subject
from quota_advisor.rulebook.engine import worst_first

HELD_BACK_FROM_ABOVE = "throttled-by-ancestor"

QUOTA_TOO_SMALL = (
    "throttled-often",
    "throttled-time",
    "throttled-across-restarts",
    HELD_BACK_FROM_ABOVE,
    "health-hides-throttling",
    "quota-below-peak",
    "quota-at-mean-use",
    "peak-censored",
    "threads-exceed-quota",
    "burst-eligible",
)
"""Rules that see one cause, a quota below the demand, from several sides; the first one leads."""

HARM = QUOTA_TOO_SMALL[:4]
"""Those that say what it cost; the others say why."""


def one_a_cause(findings: Iterable[Finding], subjects: Mapping[str, Subject]) -> list[Finding]:
    """Return findings with those of one cause made into one, the worst first.

    Call it after suppressions were applied: where the leading rule is left out, the next leads.

    Args:
        findings: One of each rule and subject.
        subjects: What each cgroup is, by path.
    """
    alone: list[Finding] = []
    causes: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.rule in QUOTA_TOO_SMALL:
            subject = finding.subject
            causes[finding.cause or subject.cgroup or subject.name].append(finding)
        else:
            alone.append(finding)
    merged = (_merged(members, subjects.get(cause)) for cause, members in causes.items())
    return sorted([*alone, *merged], key=worst_first)


def _merged(members: Sequence[Finding], culprit: Subject | None) -> Finding:
    """Return the finding that leads, with the others as its parts."""
    ordered = sorted(members, key=_most_telling_first)
    lead, parts = ordered[0], tuple(ordered[1:])
    if lead.rule == HELD_BACK_FROM_ABOVE and culprit is not None:
        lead, parts = _about(culprit, ordered), tuple(ordered)
    severity = max((member.severity for member in members), key=lambda s: s.rank)
    return dataclasses.replace(lead, severity=severity, parts=parts)


def _about(culprit: Subject, ordered: Sequence[Finding]) -> Finding:
    """Return a finding about a group that holds back others: they are its victims."""
    victims = [finding for finding in ordered if finding.rule == HELD_BACK_FROM_ABOVE]
    worst, more = victims[0], len(victims) - 1
    others = f"; so {'is' if more == 1 else 'are'} {more} more" if more else ""
    return dataclasses.replace(
        worst, subject=culprit, message=f"{worst.subject.name} is {worst.message}{others}"
    )


def _most_telling_first(finding: Finding) -> tuple[object, ...]:
    value = finding.evidence[0].value if finding.evidence else 0.0
    judged = value if isinstance(value, float | int) else 0.0
    place = QUOTA_TOO_SMALL.index(finding.rule)
    return (place, -finding.severity.rank, -judged, worst_first(finding))
