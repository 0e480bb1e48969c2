"""Rules about running units that their files alone can already break."""

from __future__ import annotations

import math

from quota_advisor.checks.host.common import bandwidth_text, limit_evidence
from quota_advisor.checks.host.period import below_minimum
from quota_advisor.checks.kubernetes.threads import MIN_ALLOWED_COUNT
from quota_advisor.derive.thread_counts import USUAL_PER_CORE, thread_counts
from quota_advisor.documents.systemd.command_lines import command_words, split_words
from quota_advisor.model.finding import Evidence, Recommendation
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, MAX_PERIOD_USEC, Bandwidth
from quota_advisor.model.lint import UnitCase
from quota_advisor.model.manifest import Scalar
from quota_advisor.model.source import Location
from quota_advisor.model.unit import standing
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, counterpart
from quota_advisor.sim.stall import worst_stall
from quota_advisor.units import format_usec


@counterpart(UnitCase)
def period_lengthened(case: UnitCase, rule: Rule) -> Verdicts:
    """Find a period longer than the default: the freeze grows with it."""
    limit, written, asked_usec = case.unit.limit, case.unit.period_from, case.unit.period_usec
    if not isinstance(limit, Bandwidth) or written is None or not isinstance(asked_usec, int):
        return
    if asked_usec <= rule.option("max_period_usec"):
        return
    stall = worst_stall(limit, 1, 1)
    bound = f"the kernel takes at most {format_usec(MAX_PERIOD_USEC)}"
    cut = f" ({format_usec(asked_usec)} as written; {bound})"
    freeze = (
        "" if stall is None else f": one busy thread waits {format_usec(stall.wait_usec)} of it"
    )
    yield Hit(
        message=(
            f"period of {format_usec(limit.period_usec)}"
            f"{cut if asked_usec > MAX_PERIOD_USEC else ''} instead of 100 ms{freeze}"
        ),
        location=written.value_location,
        evidence=(
            Evidence(
                label="period",
                value=limit.period_usec,
                unit="usec",
                threshold=rule.option("max_period_usec"),
            ),
            limit_evidence(limit, None),
        ),
    )


@counterpart(UnitCase)
def quota_below_kernel_minimum(case: UnitCase, _rule: Rule) -> Verdicts:
    """Find a quota below 1 ms per period, which comes out as something else."""
    unit = case.unit
    per_sec_usec, limit, written = unit.quota_per_sec_usec, unit.limit, unit.quota_from
    if written is None or not isinstance(per_sec_usec, int) or not isinstance(limit, Bandwidth):
        return
    period_usec = unit.period_usec if isinstance(unit.period_usec, int) else DEFAULT_PERIOD_USEC
    asked = min(period_usec, MAX_PERIOD_USEC)
    found = below_minimum(per_sec_usec, asked, limit, written.value_location)
    if found is not None:
        yield found


@counterpart(UnitCase)
def ancestor_tighter(case: UnitCase, _rule: Rule) -> Verdicts:
    """Find a limit that a slice of the same input makes void."""
    own, written = case.unit.limit, case.unit.quota_from
    if not isinstance(own, Bandwidth) or written is None:
        return
    above = [(u.limit, u) for u in case.slices if isinstance(u.limit, Bandwidth)]
    tightest, unit = min(above, key=lambda pair: pair[0].cores, default=(own, case.unit))
    if tightest.cores >= own.cores:
        return
    where = unit.quota_from.location if unit.quota_from else None
    place = f"{where.file}:{where.line}" if where else "a file that is not here"
    yield Hit(
        message=(
            f"its own limit of {bandwidth_text(own)} never applies: {unit.name} above it"
            f" allows {bandwidth_text(tightest)} for everything inside"
        ),
        location=written.value_location,
        evidence=(
            limit_evidence(own, None),
            limit_evidence(tightest, None, label="limit of the slice"),
            Evidence(label="set at", value=place),
        ),
    )


@counterpart(UnitCase)
def threads_exceed_quota(case: UnitCase, rule: Rule) -> Verdicts:
    """Compare numbers of threads in environment and command with the quota."""
    limit = case.unit.limit
    if not isinstance(limit, Bandwidth):
        return
    environment, command, places = _settings(case)
    for count in thread_counts(environment, command):
        per_core = max(rule.option("max_threads_per_core"), USUAL_PER_CORE[count.kind])
        allowed = max(math.ceil(max(limit.cores, 1) * per_core), MIN_ALLOWED_COUNT)
        stall = worst_stall(limit, count.number, count.number)
        if count.number <= allowed or stall is None:
            continue
        yield Hit(
            message=(
                f"{count.setting} of {count.number} exceeds the quota of {bandwidth_text(limit)}:"
                f" all busy they spend the {format_usec(limit.quota_usec)} of a period in"
                f" {format_usec(stall.run_usec)} and wait {format_usec(stall.wait_usec)}"
            ),
            location=places[id(count.at)],
            evidence=(
                Evidence(label="threads", value=count.number, unit="threads", threshold=allowed),
                limit_evidence(limit, None),
            ),
            recommendation=Recommendation(
                summary=f"set {count.setting} to at most {allowed} ({per_core:g} for each CPU of"
                " the quota, one at least), or raise the quota"
            ),
        )


def _settings(case: UnitCase) -> tuple[dict[str, Scalar], list[Scalar], dict[int, Location]]:
    """Return environment and commands of a service, with the place of each by identity."""
    environment: dict[str, Scalar] = {}
    command: list[Scalar] = []
    places: dict[int, Location] = {}
    for written in standing(case.unit.files, "Service", "Environment"):
        at = written.value_location
        for word in split_words(written.value):
            name, equals, text = word.partition("=")
            if equals:
                environment[name] = _held(text, at, places)
    for written in standing(case.unit.files, "Service", "ExecStart"):
        at = written.value_location
        command += [_held(word, at, places) for word in command_words(written.value)]
    return environment, command, places


def _held(text: str, at: Location, places: dict[int, Location]) -> Scalar:
    held = Scalar(text, False, at.line, at.column)
    places[id(held)] = at
    return held
