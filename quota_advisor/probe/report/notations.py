"""One limit as systemd, the kernel, Kubernetes and compose write it."""

from __future__ import annotations

import math

from quota_advisor.model.limit import DEFAULT_PERIOD_USEC
from quota_advisor.probe.plan import Limit
from quota_advisor.records import dataclass
from quota_advisor.units import USEC_PER_PERMYRIAD, USEC_PER_SEC, quota_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Notations:
    """How to write a limit.

    Attributes:
        systemd: Lines of a unit file.
        cpu_max: Text of ``cpu.max``.
        kubernetes: ``limits.cpu``.
        compose: ``cpus``; quota and period where the period is not the usual one.
        burst: Text of ``cpu.max.burst``; empty without a burst.
    """

    systemd: tuple[str, ...]
    cpu_max: str
    kubernetes: str
    compose: str
    burst: str = ""


def notations(limit: Limit) -> Notations:
    """Return the ways to write a limit; what cannot hold it exactly is rounded up."""
    quota, period = limit.bandwidth.quota_usec, limit.bandwidth.period_usec
    per_sec = math.ceil(quota * USEC_PER_SEC / period / USEC_PER_PERMYRIAD) * USEC_PER_PERMYRIAD
    lines = [f"CPUQuota={quota_value(per_sec)}"]
    if period != DEFAULT_PERIOD_USEC:
        lines.append(f"CPUQuotaPeriodSec={period / 1000:g}ms")
    millicores = math.ceil(quota * 1000 / period)
    compose = f'cpus: "{millicores / 1000:g}"'
    if period != DEFAULT_PERIOD_USEC:
        compose = f"cpu_quota: {quota}; cpu_period: {period}"
    return Notations(
        systemd=tuple(lines),
        cpu_max=f"{quota} {period}",
        kubernetes=f"{millicores}m",
        compose=compose,
        burst=str(limit.burst_usec) if limit.burst_usec else "",
    )
