"""Rules about units that do not live as long as the window."""

from __future__ import annotations

from quota_advisor.checks.evidence import degree, limit_evidence
from quota_advisor.checks.host.evidence import counter_source, limit_source
from quota_advisor.derive.bounds import lower_bound_ratio
from quota_advisor.derive.host.running_quota import quota_location
from quota_advisor.derive.host.throttling import binding_limit
from quota_advisor.model.cgroup import Basis, CgroupFacts, CounterWindow, EndedLife
from quota_advisor.model.finding import Evidence
from quota_advisor.model.limit import Missing
from quota_advisor.model.workload import Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_ratio


@check(Workload)
def throttled_across_restarts(workload: Workload, rule: Rule) -> Verdicts:
    """Judge a unit whose counters begin anew with each restart, over the lives that were read."""
    restarts = 0 if workload.unit is None else workload.unit.restarts
    if isinstance(restarts, Missing) or not restarts or _outlives_restarts(workload):
        return
    limit, group = binding_limit(workload), workload.cgroup
    if isinstance(group, Missing):
        yield Skip(f"restarted {_times(restarts)} in the window, and not running at its end")
        return
    if limit is None:
        return
    lives = _lives(group)
    periods = sum(life.periods for life in lives)
    throttled = sum(life.throttled_periods for life in lives)
    error_ratio, warning_ratio = rule.option("error_ratio"), rule.option("warning_ratio")
    bound = lower_bound_ratio(throttled, periods)
    severity = degree(bound, warning_ratio, error_ratio)
    if severity is None:
        return
    unread = max(restarts + 1 - len(lives), 0)
    told = f"{throttled} of {periods} periods of {_lives_text(len(lives))}"
    lost = f"; {unread} more ended unread" if unread else ""
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


def _lives(group: CgroupFacts) -> list[EndedLife]:
    """Return the lives of which something was read, the present one last."""
    totals = group.totals.since_creation
    found = [life for life in group.ended_lives if life.periods > 0]
    if isinstance(totals.periods, int) and isinstance(totals.throttled_periods, int):
        present = EndedLife(periods=totals.periods, throttled_periods=totals.throttled_periods)
        found += [present] if present.periods > 0 else []
    return found


def _lives_text(number: int) -> str:
    return "its present life" if number == 1 else f"its {number} lives"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
