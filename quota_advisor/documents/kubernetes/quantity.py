"""CPU quantities as the Kubernetes API reads them, YAML 1.1 number notations included.

An unquoted value first passes through YAML, which turns ``010`` into 8 and ``1_000`` into 1000;
only what YAML takes for text, and every quoted value, reaches the grammar of quantities as written.
``tests/documents/kubernetes/quantities.json`` holds what the API's own code answers.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from quota_advisor.documents.yaml.tree import NULLS
from quota_advisor.model.manifest import Scalar
from quota_advisor.patterns import pattern
from quota_advisor.records import NamedTuple

NANO = 10**9
MILLI = 10**3

_YAML_FLOAT = pattern(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_YAML_INTEGER = pattern(
    r"([-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)"
    r"|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "octal": 8, "decimal": 10, "binary": 2}
_NOT_FINITE = pattern(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_QUANTITY = pattern(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = pattern(r"[eE]([-+]?[0-9]+)")
_SUFFIXES = {
    "n": (1, NANO),
    "u": (1, 10**6),
    "m": (1, MILLI),
    "": (1, 1),
    **{suffix: (1000**power, 1) for power, suffix in enumerate("kMGTPE", start=1)},
    **{suffix + "i": (1024**power, 1) for power, suffix in enumerate("KMGTPE", start=1)},
}
"""What a suffix multiplies with and divides by."""
# White space that survives inside a JSON string without an escape: the API trims only that.
_TRIMMED = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_TRIMMED += "\u202f\u205f\u3000"

_MISTAKES = (
    (pattern(r"[0-9]+,[0-9]+"), "has a comma; decimals follow a point"),
    (pattern(r"[0-9]+(:[0-9]+)+"), "is a time, not a number"),
    (pattern(r"[0-9.]+[eE][-+]?[0-9]+\S+"), "has an exponent and a suffix; only one may be"),
    (pattern(r".* .*"), "has a blank in it"),
    (pattern(r".*%"), "is a percentage; the API counts CPUs"),
)

_MAX_EXPONENT = 1000
_MAX_DIGITS = 1000
_UINT64_MAX = 2**64 - 1
_INT64_MIN = -(2**63)


class CpuQuantity(NamedTuple):
    """An amount of CPU, exact.

    Attributes:
        nanocores: In billionths of a CPU; the API rounds finer amounts up to this.
    """

    nanocores: int

    @property
    def millicores(self) -> int:
        """What the API stores: rounded to thousandths, away from zero."""
        size = -(-abs(self.nanocores) // (NANO // MILLI))
        return size if self.nanocores >= 0 else -size

    @property
    def cores(self) -> float:
        """The amount as a number of CPUs."""
        return self.nanocores / NANO


class NullQuantity(NamedTuple):
    """No value: the key counts as not set."""


class InvalidQuantity(NamedTuple):
    """Something that the API refuses, and why, as a clause."""

    reason: str


Quantity = CpuQuantity | NullQuantity | InvalidQuantity


def parse_cpu(scalar: Scalar) -> Quantity:
    """Return what the API makes of a CPU quantity; a negative amount is left to the caller."""
    return _parse(scalar.text, scalar.plain)


@lru_cache(maxsize=4096)
def _parse(text: str, plain: bool) -> Quantity:  # noqa: FBT001 - it is the cache's key
    if not plain:
        return _quantity(text)
    if text in NULLS:
        return NullQuantity()
    if _NOT_FINITE.fullmatch(text):
        return InvalidQuantity(f"{text} is not a number that the API can hold")
    return _quantity(_yaml_number(text))


def _yaml_number(text: str) -> str:
    """Return the text of the number that YAML 1.1 makes of a plain scalar, or the scalar."""
    if text[:1] not in "+-.0123456789" or len(text) > _MAX_DIGITS:
        return text
    digits = text.replace("_", "")
    if match := _YAML_INTEGER.fullmatch(digits):
        notation = str(match.lastgroup)
        number = int(match[1] + match[notation], _BASES[notation])
        if _INT64_MIN <= number <= _UINT64_MAX:
            return str(number)
    if not _YAML_FLOAT.fullmatch(digits) or math.isinf(float(digits)):
        return text
    return repr(float(digits))


def _quantity(text: str) -> Quantity:
    text = text.strip(_TRIMMED)
    match = _QUANTITY.fullmatch(text)
    if match is None or not text:
        return InvalidQuantity(_why_not(text))
    sign, whole, decimals, suffix = match.groups()
    factor = _factor(suffix)
    if isinstance(factor, InvalidQuantity):
        return factor
    digits = whole + (decimals or "")
    if len(digits) > _MAX_DIGITS:
        return InvalidQuantity("it has too many digits")
    times, over = factor
    nanocores = -(-int(digits or "0") * times * NANO // (over * 10 ** len(decimals or "")))
    return CpuQuantity(-nanocores if sign == "-" else nanocores)


def _factor(suffix: str) -> tuple[int, int] | InvalidQuantity:
    if known := _SUFFIXES.get(suffix):
        return known
    if match := _EXPONENT.fullmatch(suffix):
        exponent = int(match[1][:8])
        if abs(exponent) > _MAX_EXPONENT:
            return InvalidQuantity("its exponent is out of range")
        return (10**exponent, 1) if exponent >= 0 else (1, 10**-exponent)
    return InvalidQuantity(f"{suffix[:20]!r} is not a suffix of quantities")


def _why_not(text: str) -> str:
    if not text:
        return "there is no number"
    reasons = (reason for pattern, reason in _MISTAKES if pattern.fullmatch(text))
    return f"{text[:40]!r} {next(reasons, 'is not a quantity')}"
