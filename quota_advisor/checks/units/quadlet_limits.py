"""Rules about limits in the arguments that quadlets give podman.

Sources: podman ``cmd/podman/common/create.go`` and ``cmd/podman/containers/create.go``,
podman-run(1) (``--cpus``, ``--cpu-quota``, ``--cpu-period``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal

from quota_advisor.checks.threads import busy_text, fewer_threads, too_many
from quota_advisor.checks.wording import cpus_text, number_text
from quota_advisor.derive.cases import QuadletCase
from quota_advisor.derive.kubernetes.qos import MILLI
from quota_advisor.derive.units.podman_options import PodmanOption
from quota_advisor.derive.units.quadlet_cpu import USEC_OPTIONS, OwnLimit, written_at
from quota_advisor.documents.compose.values import INTEGER, NUMBER
from quota_advisor.model.finding import Evidence, Recommendation, Related, Severity
from quota_advisor.model.source import Location
from quota_advisor.model.unit import Assignment
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check

_VARIABLE = re.compile(r"\$|%[A-Za-z]")
_OTHER_NOTATIONS = {"m": Decimal("0.001"), "%": Decimal("0.01")}


@check(QuadletCase)
def quadlet_invalid_cpus(case: QuadletCase, _rule: Rule) -> Verdicts:
    """Find limits that podman does not take for a number."""
    for option in (*case.cpu.options, *case.cpu.pod_options):
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


@check(QuadletCase)
def quadlet_cpu_conflict(case: QuadletCase, _rule: Rule) -> Verdicts:
    """Find limits of one container that exclude each other, or of which one has no effect."""
    written = case.cpu
    cpus = written.last("--cpus")
    refused = [option for name in USEC_OPTIONS if (option := written.last(name))]
    if cpus is not None and refused:
        for option in refused:
            yield _refused_pair(option, cpus)
        return
    own, service = written.own_limit, case.quadlet.service
    if own is None or written.service_cpus is None or service.quota_from is None:
        return
    if written.cgroups_mode == "split":
        yield from _void(own, written.service_cpus, service.quota_from)


@check(QuadletCase)
def quadlet_threads_exceed_cpus(case: QuadletCase, rule: Rule) -> Verdicts:
    """Compare numbers of threads that are written down with the tightest limit."""
    counts = case.cpu.thread_counts
    cpus = case.cpu.tightest if counts else None
    if cpus is None:
        return
    millicores = math.ceil(cpus * MILLI)
    for count, allowed, stall in too_many(counts, millicores, rule):
        yield Hit(
            message=(
                f"{count.setting} of {count.number} exceeds the limit of {cpus_text(cpus)}:"
                f" all busy they {busy_text(millicores, stall)}"
            ),
            location=written_at(count.at),
            evidence=(
                Evidence(label="threads", value=count.number, unit="threads", threshold=allowed),
                Evidence(label="limit", value=float(cpus), unit="cores"),
            ),
            recommendation=fewer_threads(count, millicores, rule),
        )


def _meant(option: PodmanOption) -> Recommendation | None:
    """Return the number that another notation stands for."""
    text, factor = option.value.replace(",", "."), Decimal(1)
    if text[-1:] in _OTHER_NOTATIONS:
        text, factor = text[:-1], _OTHER_NOTATIONS[text[-1:]]
    if not NUMBER.fullmatch(text):
        return None
    value = number_text(Decimal(text) * factor)
    return Recommendation(summary=f"write {option.name}={value} if that many CPUs are meant")


def _refused_pair(option: PodmanOption, cpus: PodmanOption) -> Hit:
    return Hit(
        message=f"podman refuses {option.text} together with {cpus.text}: nothing is started",
        location=option.at,
        related=(Related(location=cpus.at, message="the other limit"),),
        evidence=(_as_written(option), _as_written(cpus)),
    )


def _void(own: OwnLimit, around: Decimal, written: Assignment) -> Iterator[Hit]:
    """Yield the looser one of two limits that hold the same processes."""
    quota = f"CPUQuota={written.value}"
    evidence = (
        Evidence(label="limit of the container", value=float(own.cpus), unit="cores"),
        Evidence(label="limit of the service", value=float(around), unit="cores"),
    )
    if own.cpus > around:
        text = f"{own.by.text} never applies: {quota} of the service around it is tighter"
        hit = _note(f"{text} ({cpus_text(around)})", own.by.at, own.by.text, evidence)
        tighter = Related(location=written.value_location, message="the tighter limit")
        yield hit._replace(related=(tighter,))
    elif own.cpus < around:
        text = f"{quota} never applies: {own.by.text} of the container inside is tighter"
        hit = _note(f"{text} ({cpus_text(own.cpus)})", written.value_location, quota, evidence)
        tighter = Related(location=own.by.at, message="the tighter limit")
        yield hit._replace(related=(tighter,))


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
