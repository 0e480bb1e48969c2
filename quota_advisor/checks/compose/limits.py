"""Rules about the CPU limits of compose services, held against each other and the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from quota_advisor.checks.compose.places import elsewhere
from quota_advisor.checks.wording import cpus_text, number_text
from quota_advisor.derive.cases import ComposeCase
from quota_advisor.derive.compose_cpu import ComposeCpu
from quota_advisor.derive.kubernetes.qos import MILLI
from quota_advisor.documents.compose.keys import LIMIT, RESERVATION
from quota_advisor.model.finding import Evidence, Recommendation, Related, Severity
from quota_advisor.model.manifest import ComposeService
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_cpu_list

LARGE_CPUS = 32
"""From here on it is said that no machine is known that a limit could be held against."""


@check(ComposeCase)
def compose_cpu_conflict(case: ComposeCase, _rule: Rule) -> Verdicts:
    """Find limits of one service that contradict each other."""
    service, written = case.service, case.cpu
    cpus, limit = written.number("cpus"), written.number(LIMIT)
    if cpus and limit and cpus != limit:
        yield _conflict(
            service,
            (LIMIT, "cpus"),
            f"cpus is {number_text(cpus)} and {LIMIT} is {number_text(limit)}: compose refuses"
            " values that differ",
            (cpus, limit),
        )
    limited_by = "cpus" if cpus else LIMIT
    yield from _quota_conflict(written, limited_by)
    yield from _cpuset_conflict(written, cpus or limit, limited_by)
    yield from _reservation_conflict(written)


@check(ComposeCase)
def compose_exceeds_node(case: ComposeCase, _rule: Rule) -> Verdicts:
    """Find limits and sets of CPUs that the engine refuses on a machine of the given size."""
    service, node = case.service, case.context.node_millicores
    # What is left of a machine's last CPU for containers does not make it a smaller machine.
    most = None if node is None else -(-node // MILLI)
    for key in ("cpus", LIMIT):
        cpus = case.cpu.number(key)
        if cpus and most is None and cpus >= LARGE_CPUS:
            yield Skip(f"{key} is {number_text(cpus)}, and no node size is given")
        elif cpus and most is not None and cpus > most:
            yield _more_than_there_are(service, key, cpus, most)
    if most is not None:
        yield from _cpuset_beyond(case.cpu, most)


def _quota_conflict(written: ComposeCpu, limited_by: str) -> Iterator[Hit]:
    """Yield what cpu_quota and cpu_period have against a limit in CPUs."""
    service, cpus = written.service, written.number(limited_by)
    period, same = written.number("cpu_period"), written.quota_cpus
    if not cpus or not (same or period):
        return
    if not same:
        yield _conflict(
            service,
            ("cpu_period", limited_by),
            f"cpu_period stands beside a limit of {cpus_text(cpus)}: the engine refuses the pair",
            (cpus,),
        )
        return
    refused = "the engine refuses the pair"
    if same == cpus:
        says = f"cpu_quota agrees with the limit of {cpus_text(cpus)}, and {refused} all the same"
    else:
        makes = "cpu_quota and cpu_period make" if period else "cpu_quota makes"
        says = f"{makes} {cpus_text(same)} and the other limit is {number_text(cpus)}: {refused}"
    yield _conflict(service, ("cpu_quota", "cpu_period", limited_by), says, (same, cpus))


def _cpuset_conflict(written: ComposeCpu, cpus: Decimal | None, limited_by: str) -> Iterator[Hit]:
    """Yield a limit that the CPUs of the set cannot reach."""
    count = len(written.cpuset)
    if cpus is not None and 0 < count < cpus:
        hit = _conflict(
            written.service,
            ("cpuset", limited_by),
            f"cpuset holds {cpus_text(Decimal(count))} and the limit is {number_text(cpus)}: the"
            " limit is never reached",
            (Decimal(count), cpus),
        )
        advice = "lower the limit to the CPUs of the set, or name more CPUs in cpuset"
        yield _other_degree(hit, Severity.INFO, advice)


def _reservation_conflict(written: ComposeCpu) -> Iterator[Hit]:
    """Yield a reservation above the limit; nothing compares the two."""
    limited_by = LIMIT if written.number(LIMIT) else "cpus"
    reserved, most = written.number(RESERVATION), written.number(limited_by)
    if not reserved or not most or reserved <= most:
        return
    hit = _conflict(
        written.service,
        (RESERVATION, limited_by),
        f"the reservation is {cpus_text(reserved)} and at most {number_text(most)} may be used:"
        " what is kept beyond that, nobody uses",
        (reserved, most),
    )
    yield _other_degree(hit, Severity.WARNING, "lower the reservation, or raise the limit")


def _other_degree(hit: Hit, severity: Severity, advice: str) -> Hit:
    """Return a finding about what nothing refuses: there is no pair of which one must go."""
    return hit._replace(severity=severity, recommendation=Recommendation(summary=advice))


def _conflict(
    service: ComposeService, keys: Sequence[str], message: str, values: tuple[Decimal, ...]
) -> Hit:
    """Return a finding at the first of the settings that contradict each other."""
    at = service.settings[keys[0]]
    return Hit(
        message=message + elsewhere(service, at, keys),
        location=service.at(at),
        related=tuple(
            Related(location=service.at(service.settings[key]), message=f"{key} beside it")
            for key in keys[1:]
            if key in service.settings
        ),
        evidence=tuple(Evidence(label="limit", value=float(v), unit="cores") for v in values),
    )


def _more_than_there_are(service: ComposeService, key: str, cpus: Decimal, most: int) -> Hit:
    written = service.settings[key]
    return Hit(
        message=(
            f"{key} is {written.text}, and the largest machine has {cpus_text(Decimal(most))}: the"
            " engine refuses more than there are"
        ),
        location=service.at(written),
        evidence=(Evidence(label="limit", value=float(cpus), unit="cores", threshold=float(most)),),
        recommendation=Recommendation(summary=f"lower it to at most {most}"),
    )


def _cpuset_beyond(written: ComposeCpu, most: int) -> Iterator[Hit]:
    """Yield a set with CPUs that the machine does not have."""
    beyond = tuple(cpu for cpu in written.cpuset if cpu >= most)
    if not beyond:
        return
    last = f"0-{most - 1}" if most > 1 else "CPU 0 only"
    yield Hit(
        message=(
            f"cpuset names {'CPUs' if len(beyond) > 1 else 'CPU'} {format_cpu_list(beyond)}, and"
            f" the largest machine has {last}: the engine refuses CPUs that are not there"
        ),
        location=written.service.at(written.service.settings["cpuset"]),
        evidence=(Evidence(label="CPUs beyond", value=format_cpu_list(beyond), unit="cpus"),),
        recommendation=Recommendation(summary=f"name CPUs below {most}"),
    )
