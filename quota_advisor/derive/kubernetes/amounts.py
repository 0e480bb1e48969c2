"""Amounts of CPU and memory as numbers that can be compared."""

from __future__ import annotations

from functools import lru_cache

from quota_advisor.documents.kubernetes.quantity import CpuQuantity, InvalidQuantity, parse_cpu
from quota_advisor.model.manifest import Scalar
from quota_advisor.patterns import pattern
from quota_advisor.records import NamedTuple

MAX_MILLICORES = 10**12
"""More than any cluster has; the API holds larger amounts, and nobody means one."""


# A repository repeats a few dozen amounts in thousands of places: what a text means, which nothing
# else decides, is kept for the process.
_SPELLINGS = 4096

_OTHER_BASE = pattern(r"[+-]?0[xXoObB]?[0-9a-fA-F_]+")
_BASES = {"0x": "hexadecimal", "0b": "binary", "0o": "octal"}
_LARGE_SUFFIX = pattern(r".*[0-9.]([kMGTPE]i?|[KMGTPE]i)")


class Misread(NamedTuple):
    """An amount that is another number to the API than to a person."""

    millicores: int
    because: str


@lru_cache(maxsize=_SPELLINGS)
def misread_amount(text: str, plain: bool, most_millicores: int) -> Misread | None:  # noqa: FBT001
    """Return how an amount can be misread, None where it cannot.

    Args:
        text: As written.
        plain: Without quotes: YAML then reads it as a number first.
        most_millicores: More than this is taken for thousandths without their suffix.
    """
    amount = _cpu(text, plain)
    if not isinstance(amount, int) or amount == 0:
        return None
    if plain and _OTHER_BASE.fullmatch(text) and amount != _decimal_millicores(text):
        prefix = text.lstrip("+-")[:2].lower()
        base = _BASES.get(prefix, "octal")
        start = f"leading {prefix}" if prefix in _BASES else "leading zero"
        return Misread(amount, f"the {start} makes it {base} in YAML")
    if _LARGE_SUFFIX.fullmatch(text):
        return Misread(amount, "the suffix counts in thousands of CPUs or more, and m thousandths")
    if amount > most_millicores and text.isdecimal():
        return Misread(amount, f"{text}m would be thousandths of a CPU")
    return None


def _decimal_millicores(text: str) -> int | None:
    digits = text.replace("_", "")
    return int(digits) * 1000 if digits.lstrip("+-").isdecimal() else None


def cpu_amount(scalar: Scalar) -> int | str | None:
    """Return an amount in millicores, None for a null, or why the API refuses it."""
    return _cpu(scalar.text, scalar.plain)


def memory_amount(scalar: Scalar) -> int | None:
    """Return an amount of memory in billionths of a byte; None for one that cannot be read.

    Memory has the same grammar as CPU; only its equality matters here.
    """
    return _memory(scalar.text, scalar.plain)


@lru_cache(maxsize=_SPELLINGS)
def _memory(text: str, plain: bool) -> int | None:  # noqa: FBT001 - it is the cache's key
    quantity = parse_cpu(Scalar(text, plain, 0, 0))
    return quantity.nanocores if isinstance(quantity, CpuQuantity) else None


@lru_cache(maxsize=_SPELLINGS)
def _cpu(text: str, plain: bool) -> int | str | None:  # noqa: FBT001 - it is the cache's key
    quantity = parse_cpu(Scalar(text, plain, 0, 0))
    if isinstance(quantity, InvalidQuantity):
        return quantity.reason
    if not isinstance(quantity, CpuQuantity):
        return None
    if quantity.nanocores < 0:
        return f"{text!r} is negative"
    if quantity.millicores > MAX_MILLICORES:
        return f"{text!r} is more CPUs than the API can hold in thousandths"
    return quantity.millicores
