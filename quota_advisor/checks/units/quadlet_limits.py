"""Rules about limits in the arguments that quadlets give podman.

Sources: podman ``cmd/podman/common/create.go`` and ``cmd/podman/containers/create.go``,
podman-run(1) (``--cpus``, ``--cpu-quota``, ``--cpu-period``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from quota_advisor.checks.threads import busy_text, fewer_threads, too_many
from quota_advisor.checks.units.quadlets import INSIDE, cgroups_mode
from quota_advisor.derive.compose_amounts import cpus_text
from quota_advisor.derive.compose_amounts import text as number_text
from quota_advisor.derive.podman_options import PodmanOption, place, podman_options
from quota_advisor.derive.qos import MILLI
from quota_advisor.derive.thread_counts import thread_counts
from quota_advisor.documents.compose.values import INTEGER, NUMBER
from quota_advisor.documents.systemd.command_lines import split_words
from quota_advisor.model.finding import Evidence, Recommendation, Severity
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, Bandwidth
from quota_advisor.model.manifest import Quadlet, Scalar
from quota_advisor.model.source import Location
from quota_advisor.model.unit import Assignment, standing
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check

_USEC_OPTIONS = ("--cpu-quota", "--cpu-period")
_OPTIONS = ("--cpus", *_USEC_OPTIONS)
_VARIABLE = re.compile(r"\$|%[A-Za-z]")
_OTHER_NOTATIONS = {"m": Decimal("0.001"), "%": Decimal("0.01")}


@check(Quadlet)
def quadlet_invalid_cpus(quadlet: Quadlet, _rule: Rule) -> Verdicts:
    """Find limits that podman does not take for a number."""
    pods = podman_options(quadlet, "--cpus", section="Pod")
    for option in (*podman_options(quadlet, *_OPTIONS), *pods):
        is_cpus = option.name == "--cpus"
        if _VARIABLE.search(option.value):
            yield Skip(f"the value of {option.name} is known only where it runs")
        elif not (NUMBER if is_cpus else INTEGER).fullmatch(option.value):
            wanted = "number of CPUs" if is_cpus else "number of microseconds"
            yield Hit(
                message=(f"podman refuses {option.text}, which is no {wanted}: nothing is started"),
                location=option.at,
                evidence=(_as_written(option),),
                recommendation=_meant(option) if is_cpus else None,
            )


@check(Quadlet)
def quadlet_cpu_conflict(quadlet: Quadlet, _rule: Rule) -> Verdicts:
    """Find limits of one container that exclude each other, or of which one has no effect."""
    options = {option.name: option for option in podman_options(quadlet, *_OPTIONS)}
    refused = [options[name] for name in _USEC_OPTIONS if name in options]
    if "--cpus" in options and refused:
        for option in refused:
            yield _refused_pair(option, options["--cpus"])
        return
    own, service = _own_limit(options), quadlet.service.limit
    written = quadlet.service.quota_from
    if own is None or written is None or not isinstance(service, Bandwidth):
        return
    if cgroups_mode(quadlet) == "split":
        yield from _void(own, service, written)


@check(Quadlet)
def quadlet_threads_exceed_cpus(quadlet: Quadlet, rule: Rule) -> Verdicts:
    """Compare numbers of threads that are written down with the tightest limit."""
    environment, command, words = _settings(quadlet)
    counts = thread_counts(environment, command)
    cpus = min(_limits(quadlet), default=None) if counts else None
    if cpus is None:
        return
    millicores = math.ceil(cpus * MILLI)
    for count, allowed, stall in too_many(counts, millicores, rule):
        yield Hit(
            message=(
                f"{count.setting} of {count.number} exceeds the limit of {cpus_text(cpus)}:"
                f" all busy they {busy_text(millicores, stall)}"
            ),
            location=place(*words[id(count.at)]),
            evidence=(
                Evidence(label="threads", value=count.number, unit="threads", threshold=allowed),
                Evidence(label="limit", value=float(cpus), unit="cores"),
            ),
            recommendation=fewer_threads(count, millicores, rule),
        )


# ---- values


class _OwnLimit(NamedTuple):
    """The limit that podman sets, and the option that decides it."""

    cpus: Decimal
    by: PodmanOption


def _own_limit(options: dict[str, PodmanOption]) -> _OwnLimit | None:
    cpus, quota = options.get("--cpus"), options.get("--cpu-quota")
    if cpus is not None:
        value = _number(cpus, NUMBER)
        return _OwnLimit(value, cpus) if value else None
    value = _number(quota, INTEGER)
    if quota is None or value is None:
        return None
    period = _number(options.get("--cpu-period"), INTEGER) or DEFAULT_PERIOD_USEC
    return _OwnLimit(value / period, quota)


def _number(option: PodmanOption | None, grammar: re.Pattern[str]) -> Decimal | None:
    """Return a value above zero, which stands for "no limit" as podman has it."""
    if option is None or not grammar.fullmatch(option.value):
        return None
    value = Decimal(option.value)
    return value if value > 0 else None


def _limits(quadlet: Quadlet) -> Iterator[Decimal]:
    """Yield each limit that holds the container, in CPUs."""
    options = {option.name: option for option in podman_options(quadlet, *_OPTIONS)}
    if own := _own_limit(options):
        yield own.cpus
    service = quadlet.service.limit
    is_inside = quadlet.kind == "container" and cgroups_mode(quadlet) in INSIDE
    if is_inside and isinstance(service, Bandwidth):
        yield Decimal(service.quota_usec) / service.period_usec


def _meant(option: PodmanOption) -> Recommendation | None:
    """Return the number that another notation stands for."""
    text, factor = option.value.replace(",", "."), Decimal(1)
    if text[-1:] in _OTHER_NOTATIONS:
        text, factor = text[:-1], _OTHER_NOTATIONS[text[-1:]]
    if not NUMBER.fullmatch(text):
        return None
    value = number_text(Decimal(text) * factor)
    return Recommendation(summary=f"write {option.name}={value} if that many CPUs are meant")


# ---- findings


def _refused_pair(option: PodmanOption, cpus: PodmanOption) -> Hit:
    return Hit(
        message=f"podman refuses {option.text} together with {cpus.text}: nothing is started",
        location=option.at,
        evidence=(_as_written(option), _as_written(cpus)),
    )


def _void(own: _OwnLimit, service: Bandwidth, written: Assignment) -> Iterator[Hit]:
    """Yield the looser one of two limits that hold the same processes."""
    around = Decimal(service.quota_usec) / service.period_usec
    quota = f"CPUQuota={written.value}"
    evidence = (
        Evidence(label="limit of the container", value=float(own.cpus), unit="cores"),
        Evidence(label="limit of the service", value=service.cores, unit="cores"),
    )
    if own.cpus > around:
        text = f"{own.by.text} never applies: {quota} of the service around it is tighter"
        yield _note(f"{text} ({cpus_text(around)})", own.by.at, own.by.text, evidence)
    elif own.cpus < around:
        text = f"{quota} never applies: {own.by.text} of the container inside is tighter"
        yield _note(f"{text} ({cpus_text(own.cpus)})", written.value_location, quota, evidence)


def _note(message: str, at: Location, looser: str, evidence: tuple[Evidence, ...]) -> Hit:
    return Hit(
        message=message,
        severity=Severity.INFO,
        location=at,
        evidence=evidence,
        recommendation=Recommendation(summary=f"remove {looser}, or the tighter one"),
    )


def _as_written(option: PodmanOption) -> Evidence:
    return Evidence(label="as written", value=option.text)


class _Word(NamedTuple):
    """Where a word stands: in an assignment, behind another word."""

    written: Assignment
    before: str
    text: str


def _settings(quadlet: Quadlet) -> tuple[dict[str, Scalar], list[Scalar], dict[int, _Word]]:
    """Return environment and command of a container, with the word of each by identity."""
    environment: dict[str, Scalar] = {}
    command: list[Scalar] = []
    words: dict[int, _Word] = {}
    for written in standing(quadlet.files, "Container", "Environment"):
        for word in split_words(written.value):
            name, _, text = word.partition("=")
            environment[name] = _scalar(_Word(written, name, text), words)
    for key in ("Entrypoint", "Exec"):
        for written in standing(quadlet.files, "Container", key)[-1:]:
            pairs = pairwise(["", *split_words(written.value)])
            command += [_scalar(_Word(written, *pair), words) for pair in pairs]
    return environment, command, words


def _scalar(word: _Word, words: dict[int, _Word]) -> Scalar:
    at = word.written.value_location
    held = Scalar(word.text, False, at.line, at.column)
    words[id(held)] = word
    return held
