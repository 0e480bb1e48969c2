"""Rules about the text of unit files; they need no live system."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quota_advisor.model.finding import Evidence, Recommendation, Related
from quota_advisor.model.source import Source, SourceKind
from quota_advisor.model.unit import Assignment, JudgedAssignment, Outcome, UnitConfig
from quota_advisor.model.unit_kind import UNIT_SECTIONS, unit_kind
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check
from quota_advisor.units import misreading

QUOTA_KEYS = ("CPUQuota", "CPUQuotaPeriodSec")


@check(UnitConfig)
def unknown_cpu_key(config: UnitConfig, rule: Rule) -> Verdicts:
    """Find CPU keys that systemd does not know and therefore ignores."""
    for judged in _with_outcome(config, Outcome.UNKNOWN_KEY):
        written = judged.assignment
        meant = f"; probably meant: {judged.suggestion}=" if judged.suggestion else ""
        fix = f"write {judged.suggestion}= instead" if judged.suggestion else rule.fix
        yield Hit(
            message=f"systemd has no key {written.key}= and ignores it{meant}",
            location=written.location,
            evidence=(_as_written(written),),
            recommendation=Recommendation(summary=fix),
        )


@check(UnitConfig)
def invalid_cpu_quota(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find values that systemd refuses: it warns in the log and keeps what it had before."""
    for judged in _with_outcome(config, Outcome.INVALID):
        written = judged.assignment
        if written.key not in QUOTA_KEYS:
            continue
        yield Hit(
            message=(
                f"{written.key}={written.value} is refused: {judged.reason}; what was set before"
                " it stays in force, which may be no limit at all"
            ),
            location=written.value_location,
            evidence=(_as_written(written),),
        )


@check(UnitConfig)
def cpu_key_in_wrong_section(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find CPU keys in a section that has no such key for this type of unit."""
    right = UNIT_SECTIONS.get(unit_kind(config.name), "")
    for judged in _with_outcome(config, Outcome.WRONG_SECTION):
        written = judged.assignment
        movable = right not in ("", written.section)
        advice = f"move {written.key}= to [{right}]" if movable else f"remove {written.key}="
        yield Hit(
            message=f"{written.key}= is ignored: {judged.reason}",
            location=written.location,
            evidence=(_as_written(written),),
            recommendation=Recommendation(summary=advice),
        )


@check(UnitConfig)
def misread_cpu_quota(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find quotas that systemd takes for another number than the reader does."""
    for judged in config.judged:
        written = judged.assignment
        if written.key != "CPUQuota" or judged.outcome not in (
            Outcome.APPLIED,
            Outcome.OVERRIDDEN,
        ):
            continue
        trap = misreading(written.value)
        if trap is None:
            continue
        yield Hit(
            message=(
                f"CPUQuota={written.value} looks like {trap.looks_like} and is read as"
                f" {trap.read_as}: {trap.because}"
            ),
            location=written.value_location,
            evidence=(_as_written(written), Evidence(label="read as", value=trap.read_as)),
            recommendation=Recommendation(
                summary=f"write CPUQuota={trap.read_as} to keep what is in force, or the number"
                " that was meant, without the prefix"
            ),
        )


@check(UnitConfig)
def cpu_key_swallowed(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find CPU keys that a backslash at the end of the line above made part of another value."""
    for file in config.files:
        for assignment in file.assignments:
            for line in assignment.swallowed:
                if re.match(r"CPUQuota(PeriodSec)?\s*=", line.text) is None:
                    continue
                yield Hit(
                    message=(
                        f"{line.text!r} is part of the value of {assignment.key}=: the line above"
                        " ends in a backslash, and systemd does not warn"
                    ),
                    location=line.location,
                    related=(
                        Related(location=assignment.location, message="what it became part of"),
                    ),
                    evidence=(Evidence(label="swallowed by", value=f"{assignment.key}="),),
                )


@check(UnitConfig)
def needless_cpu_accounting(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find CPUAccounting= beside a quota, which does not need it."""
    if not isinstance(config.quota_per_sec_usec, int):
        return
    for judged in _with_outcome(config, Outcome.APPLIED):
        if judged.assignment.key == "CPUAccounting":
            yield Hit(
                message=(
                    "CPUAccounting= is not needed for a quota and is deprecated since systemd 258"
                ),
                location=judged.assignment.location,
                evidence=(_as_written(judged.assignment),),
            )


def _with_outcome(config: UnitConfig, outcome: Outcome) -> Iterator[JudgedAssignment]:
    return (judged for judged in config.judged if judged.outcome is outcome)


def _as_written(assignment: Assignment) -> Evidence:
    place = assignment.location
    text = f"{assignment.key}={assignment.value}"
    source = Source(kind=SourceKind.UNIT_FILE, locator=f"{place.file}:{place.line}", raw=text)
    return Evidence(label="as written", value=text, source=source)
