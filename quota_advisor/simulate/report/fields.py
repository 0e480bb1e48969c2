"""The figures of a candidate by name, for JSON and CSV."""

from __future__ import annotations

from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.sim.bandwidth import Outcome, Setting

Value = float | int | None


def setting_fields(setting: Setting) -> dict[str, Value]:
    """Return a setting; no quota is null."""
    limit = setting.limit
    if not isinstance(limit, Bandwidth):
        return dict.fromkeys(("quota_percent", "quota_usec", "period_usec", "burst_usec"))
    return {
        "quota_percent": limit.percent,
        "quota_usec": limit.quota_usec,
        "period_usec": limit.period_usec,
        "burst_usec": setting.burst_usec,
    }


def outcome_fields(outcome: Outcome) -> dict[str, Value]:
    """Return an outcome; what was not counted is null."""
    ratio = outcome.throttled_ratio
    return {
        "throttled_ratio": None if isinstance(ratio, Missing) else round(ratio, 6),
        "nr_periods": outcome.periods,
        "nr_throttled": outcome.throttled_periods,
        "throttled_usec": outcome.throttled_usec,
        "nr_bursts": outcome.burst_periods,
        "burst_used_usec": outcome.burst_usec,
        "stalled_usec": outcome.stalled_usec,
        "delay_p50_usec": outcome.delay.p50_usec,
        "delay_p95_usec": outcome.delay.p95_usec,
        "delay_p99_usec": outcome.delay.p99_usec,
        "delay_p999_usec": outcome.delay.p999_usec,
        "delay_max_usec": outcome.delay.max_usec,
        "used_cores": round(outcome.used_cores, 6),
        "used_usec": outcome.used_usec,
        "backlog_usec": outcome.backlog_usec,
    }
