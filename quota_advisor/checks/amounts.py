"""Amounts of CPU and memory as numbers that can be compared."""

from __future__ import annotations

from functools import lru_cache

from quota_advisor.documents.quantity import CpuQuantity, InvalidQuantity, parse_cpu
from quota_advisor.model.manifest import Scalar

MAX_MILLICORES = 10**12
"""More than any cluster has; the API holds larger amounts, and nobody means one."""


def cpu_amount(scalar: Scalar) -> int | str | None:
    """Return an amount in millicores, None for a null, or why the API refuses it."""
    return _cpu(scalar.text, scalar.plain)


def memory_amount(scalar: Scalar) -> int | None:
    """Return an amount of memory in billionths of a byte; None for one that cannot be read.

    Memory has the same grammar as CPU; only its equality matters here.
    """
    quantity = parse_cpu(scalar)
    return quantity.nanocores if isinstance(quantity, CpuQuantity) else None


@lru_cache(maxsize=4096)
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
