"""The one decision about a workload's quota. Whoever shows or applies advice takes it from here."""

from __future__ import annotations

from quota_advisor.advise.formula import (
    ROUND_UP_PERCENT,
    size_for_highest,
    size_for_p95,
    suffices,
)
from quota_advisor.model.advice import Advice, Decision, Need
from quota_advisor.model.cgroup import Demand
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import Workload
from quota_advisor.units import format_percent, format_usec

TARGET_THROTTLED_RATIO = 0.01
"""A quota that fits is throttled in fewer of its periods than this."""

MIN_SPAN_TO_LOWER_USEC = 3_600_000_000
"""What a shorter recording did not show may come: minutes without a peak are no reason to cut."""


def decide(workload: Workload) -> Advice | Missing:
    """Return what to do about a workload's own quota; missing where it has none.

    A quota that leaves room is cut only after an hour in which every peak was seen.
    """
    limit, cpus = workload.limit, workload.cpus_available
    if isinstance(limit, Missing):
        return limit
    if not isinstance(limit, Bandwidth):
        return Missing(reason="it has no quota of its own")
    if 0 < cpus <= limit.cores:
        covers = f"the quota of {format_percent(limit.percent)} covers all {_cpus(cpus)}"
        return _no_quota(_need(workload), covers)
    demand, need = _demand(workload), _need_under(workload, limit)
    if isinstance(demand, Missing):
        return _unknown(demand)
    return _unknown(need) if isinstance(need, Missing) else _sized(workload, limit, demand, need)


def _sized(workload: Workload, limit: Bandwidth, demand: Demand, need: Need) -> Advice:
    """Decide about a quota that can hold its workload back, whose need is known."""
    if need.cores >= workload.cpus_available:
        cpus = _cpus(workload.cpus_available)
        return _no_quota(need, f"the need of {need.percent} % reaches all {cpus}")
    misses_target = _misses_target(workload)
    if misses_target is True or not suffices(limit, demand):
        return _raise(workload, limit, demand, need)
    if demand.censored_windows and isinstance(misses_target, Missing):
        by_whom = f"whether by this limit is not known ({misses_target.reason})"
        return _unknown(Missing(reason=f"{_held_back(demand)}, and {by_whom}"))
    return _with_room(workload, limit, demand, need)


def _with_room(workload: Workload, limit: Bandwidth, demand: Demand, need: Need) -> Advice:
    """Decide about a quota that is large enough: keep it, unless an hour shows that less is."""
    objection = _objection_to_lowering(limit, demand, need)
    if objection is not None:
        return _keep(limit, need, objection)
    # The percentile forgets what happens in fewer than 5 % of the windows: a cut must not.
    least = size_for_highest(demand, len(workload.node.cpus_online))
    needs = f"the highest window of {format_usec(_span_usec(demand))} needs {least.percent} %"
    if least.cores >= limit.cores:
        return _keep(limit, need, needs)
    reason = f"{needs}, and the quota is {format_percent(limit.percent)}"
    return _change(Decision.LOWER, workload, least, (reason,))


def _objection_to_lowering(limit: Bandwidth, demand: Demand, need: Need) -> str | None:
    """Return why a quota with room must not be cut, or None if nothing speaks against it."""
    if demand.censored_windows:
        return f"{_held_back(demand)}, though not by this limit or too rarely to count"
    if _span_usec(demand) < MIN_SPAN_TO_LOWER_USEC:
        seen, wanted = format_usec(_span_usec(demand)), format_usec(MIN_SPAN_TO_LOWER_USEC)
        return f"{seen} of demand were seen; lowering it takes {wanted}"
    if demand.interval_usec > limit.period_usec:
        length = format_usec(demand.interval_usec)
        return f"windows of {length} hide peaks within a period of {format_usec(limit.period_usec)}"
    # An hour in which it slept shows what sleep needs.
    if need.percent <= ROUND_UP_PERCENT:
        return "it hardly ran while it was measured"
    return None


def _need(workload: Workload) -> Need | Missing:
    demand = _demand(workload)
    if isinstance(demand, Missing):
        return demand
    if not workload.node.cpus_online:
        return Missing(reason="the CPUs of the machine are not known")
    return size_for_p95(demand, len(workload.node.cpus_online))


def _need_under(workload: Workload, limit: Bandwidth) -> Need | Missing:
    """Return the need of what runs under a limit, as far as the limit let it be seen.

    What held a workload back is too small for it, whatever the 95th percentile says: then the
    highest window counts.
    """
    need, demand = _need(workload), _demand(workload)
    if isinstance(need, Missing) or isinstance(demand, Missing):
        return need
    if _misses_target(workload) is not True or need.cores > limit.cores:
        return need
    need = size_for_highest(demand, len(workload.node.cpus_online))
    if need.cores > limit.cores:
        return need
    return Missing(
        reason=f"the limit of {format_percent(limit.percent)} cut peaks shorter than a window of"
        f" {format_usec(demand.interval_usec)}, which hides their height"
    )


def _demand(workload: Workload) -> Demand | Missing:
    return workload.cgroup if isinstance(workload.cgroup, Missing) else workload.cgroup.demand


def _misses_target(workload: Workload) -> bool | Missing:
    """Whether the workload's own limit, not one further up, held it back in the window."""
    window = workload.counters
    ratio = window if isinstance(window, Missing) else window.throttled_ratio
    return ratio if isinstance(ratio, Missing) else ratio > TARGET_THROTTLED_RATIO


def _span_usec(demand: Demand) -> int:
    return demand.windows * demand.interval_usec


def _cpus(number: int) -> str:
    return f"{number} CPU{'' if number == 1 else 's'}"


def _held_back(demand: Demand) -> str:
    return f"it was held back in {demand.censored_windows} of {demand.windows} windows"


def _raise(workload: Workload, limit: Bandwidth, demand: Demand, need: Need) -> Advice:
    reasons = [f"it needs {need.percent} %, and the quota is {format_percent(limit.percent)}"]
    if need.lower_bound:
        reasons.append(f"{_held_back(demand)}: the need may be higher")
    return _change(Decision.RAISE, workload, need, tuple(reasons))


def _change(decision: Decision, workload: Workload, need: Need, reasons: tuple[str, ...]) -> Advice:
    summary = _quota_text(workload, need)
    return Advice(decision=decision, need=need, summary=summary, reasons=reasons)


def _quota_text(workload: Workload, need: Need) -> str:
    share = f"{need.share_of_node_ratio * 100:.3g} % of this node"
    quota = f"CPUQuota={need.percent}%"
    if workload.kind == "container":
        share = f"--cpus={need.cores:g}, in Kubernetes {round(need.cores * 1000)}m; {share}"
    if need.lower_bound:
        return (
            f"{quota} or more ({share}); a lower bound: the limit held the demand back while it"
            " was measured"
        )
    return f"{quota} ({share})"


def _keep(limit: Bandwidth, need: Need, objection: str) -> Advice:
    room = f"{format_percent(limit.percent)} leave the peak its headroom"
    return Advice(
        decision=Decision.KEEP,
        need=need,
        summary=f"keep the quota: {room}",
        reasons=(room, objection),
    )


def _no_quota(need: Need | Missing, reason: str) -> Advice:
    return Advice(
        decision=Decision.REMOVE,
        need=need,
        summary=f"no quota: {reason}; use CPUWeight= to rank this workload",
        reasons=(reason,),
    )


def _unknown(why: Missing) -> Advice:
    return Advice(
        decision=Decision.UNKNOWN,
        need=why,
        summary=f"no number: {why.reason}",
        reasons=(why.reason,),
    )
