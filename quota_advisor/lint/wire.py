"""What workers of lint send each other, as plain values.

Pickling frozen dataclasses one attribute at a time costs more than some rules take to find
something; tuples of texts and numbers go through in a fifth of the time.
"""

from __future__ import annotations

import pickle
from typing import Any

from quota_advisor.lint.outcome import Outcome
from quota_advisor.model.finding import (
    Confidence,
    Evidence,
    Finding,
    Once,
    Recommendation,
    Related,
    Severity,
    Subject,
)
from quota_advisor.model.source import Location, Source, SourceKind, Span


def pack(outcome: Outcome) -> bytes:
    """Return an outcome as bytes; the outcome loses its findings."""
    findings = [_flat(finding) for finding in outcome.results.findings]
    outcome.results.findings = []
    return pickle.dumps((findings, outcome), protocol=5)


def unpack(data: bytes) -> Outcome:
    """Return what :func:`pack` was given. The bytes come from a process of this program."""
    findings, outcome = pickle.loads(data)  # noqa: S301
    advice: dict[Any, Recommendation] = {}
    made: Outcome = outcome
    made.results.findings = [_finding(flat, advice) for flat in findings]
    return made


def _flat(finding: Finding) -> tuple[Any, ...]:
    subject, place, advice = finding.subject, finding.location, finding.recommendation
    return (
        finding.rule,
        finding.severity.value,
        finding.confidence.value,
        finding.message,
        (subject.kind, subject.name, subject.cgroup),
        None if place is None else _flat_place(place),
        tuple(map(_flat_evidence, finding.evidence)),
        tuple(map(_flat_evidence, finding.ruled_out)),
        # Files hold no measurements: no quota is decided for them, but a decision may pass.
        None if advice is None else (advice.summary, advice.advice),
        # Hardly any finding has these: they may take their time.
        tuple((_flat_place(other.location), other.message) for other in finding.related),
        finding.fix,
        None if finding.once is None else finding.once.value,
    )


def _flat_place(place: Location) -> tuple[Any, ...]:
    if isinstance(place, Span):
        return (place.file, place.line, place.column, place.end_line, place.end_column)
    return (place.file, place.line, place.column)


def _flat_evidence(evidence: Evidence) -> tuple[Any, ...]:
    source = evidence.source
    seen = None if source is None else (source.kind.value, source.locator, source.raw)
    return (evidence.label, evidence.value, evidence.unit, evidence.threshold, seen)


def _finding(flat: tuple[Any, ...], advice: dict[Any, Recommendation]) -> Finding:
    rule, severity, confidence, message, subject, place, evidence, ruled_out, advised = flat[:9]
    related, fix, once = flat[9:]
    kind, name, cgroup = subject
    return Finding(
        rule=rule,
        severity=_SEVERITIES[severity],
        confidence=_CONFIDENCES[confidence],
        message=message,
        subject=Subject(kind=kind, name=name, cgroup=cgroup),
        location=None if place is None else _place(place),
        related=tuple(Related(location=_place(at), message=text) for at, text in related),
        evidence=tuple(map(_evidence, evidence)),
        ruled_out=tuple(map(_evidence, ruled_out)),
        recommendation=None if advised is None else _advice(advised, advice),
        fix=fix,
        once=None if once is None else _ONCE[once],
    )


def _place(flat: tuple[Any, ...]) -> Location:
    if len(flat) == _PLACE:
        return Location(file=flat[0], line=flat[1], column=flat[2])
    file, line, column, end_line, end_column = flat
    return Span(file=file, line=line, column=column, end_line=end_line, end_column=end_column)


def _evidence(flat: tuple[Any, ...]) -> Evidence:
    label, value, unit, threshold, seen = flat
    source = None
    if seen is not None:
        source = Source(kind=SourceKind(seen[0]), locator=seen[1], raw=seen[2])
    return Evidence(label=label, value=value, unit=unit, threshold=threshold, source=source)


def _advice(flat: tuple[Any, ...], known: dict[Any, Recommendation]) -> Recommendation:
    if flat not in known:
        known[flat] = Recommendation(summary=flat[0], advice=flat[1])
    return known[flat]


_PLACE = len(("file", "line", "column"))
_SEVERITIES = {severity.value: severity for severity in Severity}
_ONCE = {once.value: once for once in Once}
_CONFIDENCES = {confidence.value: confidence for confidence in Confidence}
