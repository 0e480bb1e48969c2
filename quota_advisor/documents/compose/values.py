"""CPU settings of compose services as numbers, as compose and the container engine read them."""

from __future__ import annotations

import re
from decimal import Decimal

from quota_advisor.documents.compose.keys import LIMIT, RESERVATION
from quota_advisor.documents.yaml.tree import NULLS
from quota_advisor.model.limit import MAX_PERIOD_USEC, MIN_QUOTA_USEC
from quota_advisor.model.manifest import Scalar
from quota_advisor.records import NamedTuple

CPU_KEYS = ("cpus", LIMIT, RESERVATION)
"""Settings in CPUs."""

USEC_KEYS = ("cpu_quota", "cpu_period")
"""Settings in microseconds."""

SMALLEST_CPUS = Decimal("0.01")
"""A smaller limit would be a quota below the kernel's 1 ms per 100 ms, which it refuses."""

NUMBER = re.compile(r"[+-]?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})(?:[eE][+-]?[0-9]{1,2})?")
"""A number of CPUs as engines take it: Go's ParseFloat, without what nobody writes."""

INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
"""A number of microseconds."""


class Unknown(NamedTuple):
    """A value that not every version of compose reads alike."""

    text: str


class Bad(NamedTuple):
    """A value that compose or the engine refuses, and why."""

    reason: str


Value = Decimal | Unknown | Bad | None
"""None is no setting at all, zero is "no limit"."""


def read_setting(key: str, scalar: Scalar) -> Value:
    """Return a setting as a number; zero is "no limit" as compose has it."""
    text = scalar.text.strip()
    if text in NULLS:
        return None if scalar.plain else Bad("there is no number")
    if key in USEC_KEYS:
        return _read_usec(key, text)
    return _read_cpus(key, text)


def _read_cpus(key: str, text: str) -> Value:
    if not NUMBER.fullmatch(text):
        return Bad("it is not a number of CPUs")
    value = Decimal(text)
    if value < 0:
        return Bad("it is negative")
    if 0 < value < SMALLEST_CPUS and key != RESERVATION:
        return Bad(f"the kernel takes no quota below {SMALLEST_CPUS} CPUs at a period of 100 ms")
    return value


def _read_usec(key: str, text: str) -> Value:
    if not INTEGER.fullmatch(text):
        # Some versions of compose take a duration here; only a plain number is certain.
        return Unknown(text) if re.fullmatch(r"[0-9.]+(us|ms|s)", text) else Bad("it is no integer")
    value = Decimal(text)
    if value == 0 or (key == "cpu_quota" and value == -1):
        return None
    if value < MIN_QUOTA_USEC:
        return Bad(f"the kernel takes no less than {MIN_QUOTA_USEC} us")
    if key == "cpu_period" and value > MAX_PERIOD_USEC:
        return Bad(f"the kernel takes no more than {MAX_PERIOD_USEC} us")
    return value
