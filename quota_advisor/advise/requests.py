"""The CPU request that a container's use calls for.

A request is what the scheduler keeps free and what ranks a container when CPUs are short: what it
uses at its peak, without the headroom that a limit takes.
"""

from __future__ import annotations

import math

from quota_advisor.advise.formula import windows_text
from quota_advisor.model.advice import Decision
from quota_advisor.model.cgroup import Demand
from quota_advisor.model.cluster import RequestAdvice
from quota_advisor.model.limit import Missing
from quota_advisor.units import format_usec

ROUND_UP_MILLICORES = 10
"""Requests are rounded up to this; it is also the smallest one advised."""

MIN_SPAN_USEC = 24 * 3600 * 1_000_000
"""A day of use is the least from which a request is cut: most load follows the day."""

CLOSE_RATIO = 0.1
"""A request this near to what is needed is kept: a change costs a rollout."""

MILLI = 1000


def advise_request(now_millicores: int | None, demand: Demand) -> RequestAdvice | Missing:
    """Return what a request should be.

    Args:
        now_millicores: The request now; None for none.
        demand: Use over windows that span :data:`MIN_SPAN_USEC` at least to cut it.
    """
    exact = demand.p95_cores * MILLI
    steps = max(math.ceil(round(exact / ROUND_UP_MILLICORES, 6)), 1)
    needed = steps * ROUND_UP_MILLICORES
    formula = f"p95 of {windows_text(demand)} = {exact:.3g}m, rounded up to {needed}m"
    decision = _decision(now_millicores, needed)
    if decision is Decision.LOWER and demand.watched_usec < MIN_SPAN_USEC:
        seen = format_usec(demand.watched_usec)
        return Missing(reason=f"{seen} of use were seen; lowering a request takes a day")
    return RequestAdvice(decision=decision, millicores=needed, formula=formula)


def _decision(now: int | None, needed: int) -> Decision:
    if now is None:
        return Decision.SET
    if abs(now - needed) <= max(now * CLOSE_RATIO, ROUND_UP_MILLICORES):
        return Decision.KEEP
    return Decision.RAISE if needed > now else Decision.LOWER
