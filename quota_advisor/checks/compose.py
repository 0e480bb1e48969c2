"""Rules about compose services."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from quota_advisor.catalog import Rule
from quota_advisor.checks.runtimes import allowed_count, busy_text, fewer_threads
from quota_advisor.checks.thread_counts import thread_counts
from quota_advisor.engine import Hit, Skip, Verdicts, check
from quota_advisor.model.finding import Evidence, Severity
from quota_advisor.model.limit import (
    DEFAULT_PERIOD_USEC,
    MAX_PERIOD_USEC,
    MIN_QUOTA_USEC,
)
from quota_advisor.model.manifest import ComposeService, ExtendsFault, Scalar
from quota_advisor.model.qos import MILLI, kubelet_limit
from quota_advisor.sim.stall import worst_stall
from quota_advisor.units import parse_cpu_list

LIMIT = "deploy.resources.limits.cpus"
RESERVATION = "deploy.resources.reservations.cpus"

_CPU_KEYS = ("cpus", LIMIT, RESERVATION)
_USEC_KEYS = ("cpu_quota", "cpu_period")

SMALLEST_CPUS = Decimal("0.01")
"""A smaller limit would be a quota below the kernel's 1 ms per 100 ms, which it refuses."""

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})(?:[eE][+-]?[0-9]{1,2})?"
)
_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_NULLS = ("", "~", "null", "Null", "NULL")


class _Unknown(NamedTuple):
    """A value that not every version of compose reads alike."""

    text: str


class _Bad(NamedTuple):
    """A value that compose or the engine refuses, and why."""

    reason: str


_Value = Decimal | _Unknown | _Bad | None


@check(ComposeService)
def compose_invalid_cpus(service: ComposeService, _rule: Rule) -> Verdicts:
    """Find CPU settings that compose or the container engine refuses."""
    for key in (*_CPU_KEYS, *_USEC_KEYS):
        scalar = service.settings.get(key)
        if scalar is None:
            continue
        value = _read(key, scalar)
        if isinstance(value, _Unknown):
            yield Skip(f"{key}: {value.text} is no plain number of microseconds")
        elif isinstance(value, _Bad):
            yield Hit(
                message=f"{key}: {scalar.text} is refused: {value.reason}",
                location=service.at(scalar),
                evidence=(Evidence(label="as written", value=scalar.text),),
            )


@check(ComposeService)
def compose_cpu_conflict(service: ComposeService, _rule: Rule) -> Verdicts:
    """Find limits of one service that contradict each other."""
    values = {key: _read(key, scalar) for key, scalar in service.settings.items() if key in _KEYS}
    cpus, limit = _number(values, "cpus"), _number(values, LIMIT)
    if cpus and limit and cpus != limit:
        yield _conflict(
            service,
            (LIMIT, "cpus"),
            f"cpus is {_text(cpus)} and {LIMIT} is {_text(limit)}: compose refuses values that"
            " differ",
            (cpus, limit),
        )
    limited_by = "cpus" if cpus else LIMIT
    yield from _quota_conflict(service, values, limited_by)
    yield from _cpuset_conflict(service, cpus or limit, limited_by)
    reserved, most = _number(values, RESERVATION), limit or cpus
    if reserved and most and reserved > most:
        yield _conflict(
            service,
            (RESERVATION, LIMIT if limit else "cpus"),
            f"the reservation is {_cpus(reserved)} and at most {_text(most)} may be used",
            (reserved, most),
        )


@check(ComposeService)
def compose_threads_exceed_cpus(service: ComposeService, rule: Rule) -> Verdicts:
    """Compare numbers of threads that are written down with the service's limit."""
    counts = thread_counts(service.environment, service.command)
    limits = _limits(service) if counts else ()
    if not limits:
        return
    if len(set(limits)) > 1:
        yield Skip("its limits contradict each other, so that none of them is known to hold")
        return
    millicores = math.ceil(limits[0] * MILLI)
    for count in counts:
        allowed = allowed_count(count, millicores, rule)
        stall = worst_stall(kubelet_limit(millicores), count.number, count.number)
        if count.number <= allowed or stall is None:
            continue
        yield Hit(
            message=(
                f"{count.setting} of {count.number} exceeds the limit of"
                f" {_cpus(Decimal(millicores) / MILLI)}: all busy they"
                f" {busy_text(millicores, stall)}{_elsewhere(service, count.at, _LIMITS)}"
            ),
            location=service.at(count.at),
            evidence=(
                Evidence(label="threads", value=count.number, unit="threads", threshold=allowed),
                Evidence(label="limit", value=millicores / MILLI, unit="cores"),
            ),
            recommendation=fewer_threads(count, millicores, rule),
        )


@check(ComposeService)
def compose_wrong_shape(service: ComposeService, _rule: Rule) -> Verdicts:
    """Find maps, lists and texts where compose has another type."""
    for wrong in service.wrong_shapes:
        yield Hit(
            message=f"{wrong.path} is {wrong.found} where {wrong.expected} belongs",
            location=service.at(wrong),
            evidence=(Evidence(label="found", value=wrong.found),),
        )


@check(ComposeService)
def compose_extends_unresolved(service: ComposeService, _rule: Rule) -> Verdicts:
    """Find services that extend what is not there, or cannot be read."""
    for remark in service.unresolved:
        if remark.fault is ExtendsFault.NOT_READ:
            yield Skip(remark.text)
            continue
        unreadable = remark.fault is ExtendsFault.UNREADABLE
        yield Hit(
            message=remark.text,
            location=service.at(remark),
            severity=Severity.WARNING if unreadable else None,
        )


_KEYS = frozenset((*_CPU_KEYS, *_USEC_KEYS))
_LIMITS = ("cpus", LIMIT, *_USEC_KEYS)


def _quota_conflict(
    service: ComposeService, values: dict[str, _Value], limited_by: str
) -> Iterator[Hit]:
    """Yield what cpu_quota and cpu_period have against a limit in CPUs."""
    cpus = _number(values, limited_by)
    quota, period = _number(values, "cpu_quota"), _number(values, "cpu_period")
    if not cpus or not (quota or period):
        return
    if not quota:
        yield _conflict(
            service,
            ("cpu_period", limited_by),
            f"cpu_period stands beside a limit of {_cpus(cpus)}: the engine refuses the pair",
            (cpus,),
        )
        return
    same = quota / (period or DEFAULT_PERIOD_USEC)
    keys = ("cpu_quota", "cpu_period", limited_by)
    if same != cpus:
        yield _conflict(
            service,
            keys,
            f"cpu_quota and cpu_period make {_cpus(same)} and the other limit is {_text(cpus)}",
            (same, cpus),
        )
    else:
        yield replace(
            _conflict(
                service,
                keys,
                f"cpu_quota agrees with the limit of {_cpus(cpus)}, and the engine refuses"
                " the pair all the same",
                (same, cpus),
            ),
            severity=Severity.WARNING,
        )


def _cpuset_conflict(
    service: ComposeService, cpus: Decimal | None, limited_by: str
) -> Iterator[Hit]:
    """Yield a limit that the CPUs of the set cannot reach."""
    written = service.settings.get("cpuset")
    if written is None or cpus is None:
        return
    try:
        count = len(parse_cpu_list(written.text))
    except ValueError:
        return
    if 0 < count < cpus:
        hit = _conflict(
            service,
            ("cpuset", limited_by),
            f"cpuset holds {_cpus(Decimal(count))} and the limit is {_text(cpus)}: the limit is"
            " never reached",
            (Decimal(count), cpus),
        )
        yield replace(hit, severity=Severity.INFO)


def _conflict(
    service: ComposeService, keys: Sequence[str], message: str, values: tuple[Decimal, ...]
) -> Hit:
    """Return a finding at the first of the settings that contradict each other."""
    at = service.settings[keys[0]]
    return Hit(
        message=message + _elsewhere(service, at, keys),
        location=service.at(at),
        evidence=tuple(Evidence(label="limit", value=float(v), unit="cores") for v in values),
    )


def _elsewhere(service: ComposeService, at: Scalar, keys: Iterable[str]) -> str:
    """Return where settings stand that are not in the file of a value."""
    values = ((key, service.settings.get(key)) for key in keys)
    found = ((key, service.at(value)) for key, value in values if value is not None)
    # Without the directory: a message is the same wherever lint is called.
    places = [
        f"{key}: line {place.line} of {posixpath.basename(place.file)}"
        for key, place in found
        if place.file != service.at(at).file
    ]
    return f" ({', '.join(places)})" if places else ""


def _limits(service: ComposeService) -> tuple[Decimal, ...]:
    """Return each limit that is written down, in CPUs."""
    values = {key: _read(key, scalar) for key, scalar in service.settings.items() if key in _KEYS}
    quota = _number(values, "cpu_quota")
    same = quota and quota / (_number(values, "cpu_period") or DEFAULT_PERIOD_USEC)
    return tuple(cpus for cpus in (_number(values, "cpus"), _number(values, LIMIT), same) if cpus)


def _number(values: dict[str, _Value], key: str) -> Decimal | None:
    value = values.get(key)
    return value if isinstance(value, Decimal) and value > 0 else None


def _read(key: str, scalar: Scalar) -> _Value:
    """Return a setting as a number; zero is "no limit" as compose has it."""
    text = scalar.text.strip()
    if text in _NULLS:
        return None if scalar.plain else _Bad("there is no number")
    if key in _USEC_KEYS:
        return _read_usec(key, text)
    return _read_cpus(key, text)


def _read_cpus(key: str, text: str) -> _Value:
    if not _NUMBER.fullmatch(text):
        return _Bad("it is not a number of CPUs")
    value = Decimal(text)
    if value < 0:
        return _Bad("it is negative")
    if 0 < value < SMALLEST_CPUS and key != RESERVATION:
        return _Bad(f"the kernel takes no quota below {SMALLEST_CPUS} CPUs at a period of 100 ms")
    return value


def _read_usec(key: str, text: str) -> _Value:
    if not _INTEGER.fullmatch(text):
        # Some versions of compose take a duration here; only a plain number is certain.
        return (
            _Unknown(text) if re.fullmatch(r"[0-9.]+(us|ms|s)", text) else _Bad("it is no integer")
        )
    value = Decimal(text)
    if value == 0 or (key == "cpu_quota" and value == -1):
        return None
    if value < MIN_QUOTA_USEC:
        return _Bad(f"the kernel takes no less than {MIN_QUOTA_USEC} us")
    if key == "cpu_period" and value > MAX_PERIOD_USEC:
        return _Bad(f"the kernel takes no more than {MAX_PERIOD_USEC} us")
    return value


def _text(value: Decimal) -> str:
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return text or "0"


def _cpus(value: Decimal) -> str:
    return f"{_text(value)} CPU{'' if value == 1 else 's'}"
