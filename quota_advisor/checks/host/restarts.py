"""Rules about units that do not live as long as the window."""

from __future__ import annotations

from quota_advisor.checks.evidence import degree, limit_evidence
from quota_advisor.checks.host.evidence import counter_source, limit_source
from quota_advisor.derive.bounds import lower_bound_ratio
from quota_advisor.derive.host.running_quota import quota_location
from quota_advisor.derive.host.throttling import binding_limit
from quota_advisor.model.cgroup import Basis, CounterWindow, CpuCounters
from quota_advisor.model.finding import Evidence
from quota_advisor.model.limit import Missing
from quota_advisor.model.workload import Workload
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_ratio


class _Life(NamedTuple):
    """Periods of one cgroup from its creation to its last reading."""

    periods: int
    throttled: int
    text: str


@check(Workload)
def throttled_across_restarts(workload: Workload, rule: Rule) -> Verdicts:
    """Judge a unit whose counters begin anew with each restart, over the lives that were read."""
    restarts = 0 if workload.unit is None else workload.unit.restarts
    if isinstance(restarts, Missing) or not restarts or _outlives_restarts(workload):
        return
    limit = binding_limit(workload)
    if limit is None:
        if isinstance(workload.cgroup, Missing):
            yield Skip(f"restarted {_times(restarts)} in the window, and not running at its end")
        return
    lives = tuple(_lives(workload))
    periods, throttled = sum(life.periods for life in lives), sum(life.throttled for life in lives)
    error_ratio, warning_ratio = rule.option("error_ratio"), rule.option("warning_ratio")
    bound = lower_bound_ratio(throttled, periods)
    severity = degree(bound, warning_ratio, error_ratio)
    if severity is None:
        return
    told = " and ".join(life.text for life in lives)
    unread = restarts + 1 - len(lives)
    lost = f"; {unread} more lives were not read" if unread else ""
    yield Hit(
        message=(
            f"restarted {_times(restarts)} in the window, and throttled in {told}:"
            f" {format_ratio(throttled / periods)}{lost}"
        ),
        brief=f"restarted {_times(restarts)}, throttled in {told}",
        severity=severity,
        location=quota_location(workload),
        evidence=(
            Evidence(
                label="throttled share of the lives that were read, at least",
                value=bound,
                unit="ratio",
                threshold=error_ratio if bound > error_ratio else warning_ratio,
                source=counter_source(workload.cgroup),
            ),
            Evidence(label="NRestarts in the window", value=restarts, unit="restarts"),
            limit_evidence(limit, limit_source(workload.cgroup)),
        ),
    )


def _outlives_restarts(workload: Workload) -> bool:
    """Whether the cgroup lasted all the window: then its counters hold for all lives."""
    window = workload.counters
    return isinstance(window, CounterWindow) and window.basis is Basis.WINDOW


def _lives(workload: Workload) -> list[_Life]:
    """Return what was read of the present life, and of the one that the window began in."""
    if isinstance(workload.cgroup, Missing):
        return []
    group = workload.cgroup
    found = [_life(group.totals, "its present life")]
    if isinstance(group.earlier, CpuCounters):
        found.append(_life(group.earlier, "the one in which the window began"))
    return [life for life in found if life is not None]


def _life(counters: CpuCounters, name: str) -> _Life | None:
    periods, throttled = counters.nr_periods, counters.nr_throttled
    if isinstance(periods, Missing) or isinstance(throttled, Missing) or periods <= 0:
        return None
    return _Life(periods, throttled, f"{throttled} of {periods} periods of {name}")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
