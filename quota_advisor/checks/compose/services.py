"""Rules about compose services."""

from __future__ import annotations

import math
from decimal import Decimal

from quota_advisor.checks.compose.places import elsewhere
from quota_advisor.checks.threads import busy_text, fewer_threads, too_many
from quota_advisor.checks.wording import cpus_text
from quota_advisor.derive.cases import ComposeCase
from quota_advisor.derive.kubernetes.qos import MILLI
from quota_advisor.documents.compose.keys import LIMIT, SERVICE_KEYS
from quota_advisor.documents.compose.values import (
    USEC_KEYS,
    Bad,
    Unknown,
)
from quota_advisor.model.finding import Evidence, Recommendation, Severity
from quota_advisor.model.manifest import ExtendsFault, UnknownKey
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check

_LIMITS = ("cpus", LIMIT, *USEC_KEYS)


@check(ComposeCase)
def compose_invalid_cpus(case: ComposeCase, _rule: Rule) -> Verdicts:
    """Find CPU settings that compose or the container engine refuses."""
    service = case.service
    for key, value in case.cpu.values.items():
        scalar = service.settings[key]
        if isinstance(value, Unknown):
            yield Skip(f"{key}: {value.text} is no plain number of microseconds")
        elif isinstance(value, Bad):
            yield Hit(
                message=f"{key}: {scalar.text} is refused: {value.reason}",
                location=service.at(scalar),
                evidence=(Evidence(label="as written", value=scalar.text),),
            )


@check(ComposeCase)
def compose_unknown_cpu_key(case: ComposeCase, _rule: Rule) -> Verdicts:
    """Find misspelt and misplaced keys about CPU."""
    for unknown in case.service.unknown_keys:
        holder = unknown.path or "a service"
        yield Hit(
            message=f"{unknown.key!r} is no key of {holder}: compose refuses the file",
            location=case.service.at(unknown),
            evidence=(Evidence(label="found in", value=holder),),
            recommendation=Recommendation(summary=_right_key(unknown)),
        )


@check(ComposeCase)
def compose_threads_exceed_cpus(case: ComposeCase, rule: Rule) -> Verdicts:
    """Compare numbers of threads that are written down with the service's limit."""
    service, counts = case.service, case.cpu.thread_counts
    limits = case.cpu.limits if counts else ()
    if not limits:
        return
    if len(set(limits)) > 1:
        yield Skip("its limits contradict each other, so that none of them is known to hold")
        return
    millicores = math.ceil(limits[0] * MILLI)
    for count, allowed, stall in too_many(counts, millicores, rule):
        yield Hit(
            message=(
                f"{count.setting} of {count.number} exceeds the limit of"
                f" {cpus_text(Decimal(millicores) / MILLI)}: all busy they"
                f" {busy_text(millicores, stall)}{elsewhere(service, count.at, _LIMITS)}"
            ),
            location=service.at(count.at),
            evidence=(
                Evidence(label="threads", value=count.number, unit="threads", threshold=allowed),
                Evidence(label="limit", value=millicores / MILLI, unit="cores"),
            ),
            recommendation=fewer_threads(count, millicores, rule),
        )


@check(ComposeCase)
def compose_wrong_shape(case: ComposeCase, _rule: Rule) -> Verdicts:
    """Find maps, lists and texts where compose has another type."""
    for wrong in case.service.wrong_shapes:
        yield Hit(
            message=f"{wrong.path} is {wrong.found} where {wrong.expected} belongs",
            location=case.service.at(wrong),
            evidence=(Evidence(label="found", value=wrong.found),),
        )


@check(ComposeCase)
def compose_extends_unresolved(case: ComposeCase, _rule: Rule) -> Verdicts:
    """Find services that extend what is not there, or cannot be read."""
    for remark in case.service.unresolved:
        if remark.fault is ExtendsFault.NOT_READ:
            yield Skip(remark.text)
            continue
        unreadable = remark.fault is ExtendsFault.UNREADABLE
        yield Hit(
            message=remark.text,
            location=case.service.at(remark),
            severity=Severity.WARNING if unreadable else None,
        )


def _right_key(unknown: UnknownKey) -> str:
    """Return what to write instead."""
    if not unknown.belongs:
        return f"use a key that compose has: {', '.join(SERVICE_KEYS)}"
    if unknown.renamed:
        return f"rename it to {unknown.belongs[0].rpartition('.')[2]}"
    return f"write it as {' or '.join(unknown.belongs)}"
