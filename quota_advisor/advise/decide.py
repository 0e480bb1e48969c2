"""The one decision about a workload's quota. Whoever shows or applies advice takes it from here."""

from __future__ import annotations

from quota_advisor.advise.formula import (
    HEADROOM_FACTOR,
    ROUND_UP_PERCENT,
    size_for_highest,
    size_for_peak,
)
from quota_advisor.advise.words import worded
from quota_advisor.derive.host.pinning import is_exclusive_container
from quota_advisor.derive.host.throttling import Throttling, most_throttled, throttling_in
from quota_advisor.model.advice import Advice, Decision, Need
from quota_advisor.model.cgroup import CgroupFacts, CounterWindow, Demand, SimulatedNeed
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited
from quota_advisor.model.workload import Workload
from quota_advisor.units import format_percent, format_ratio, format_usec

TARGET_THROTTLED_RATIO = 0.01
"""A quota that fits is throttled in fewer of its periods than this."""

MIN_SPAN_TO_LOWER_USEC = 3_600_000_000
"""What a shorter recording did not show may come: minutes without a peak are no reason to cut."""

MIN_ACTIVE_RATIO = 0.05
"""Who runs less than this share of the time was asleep while it was watched."""

SLACK_FACTOR = 1.1
"""A sampling window a little longer than a period still shows what a period holds."""


def decide(workload: Workload, *, is_named: bool = False) -> Advice | Missing:
    """Return what to do about a workload's own quota; missing where it has none and needs none.

    Args:
        workload: The workload.
        is_named: Somebody asks for this one: it is sized even if it never had a quota.

    A quota that holds nothing back is kept, and cut only after an hour in which every peak was
    seen. A group without a quota that was under one before is sized: that is how a quota lifted
    for a measurement becomes a number.
    """
    limit, cpus = workload.limit, workload.cpus_available
    if isinstance(limit, Missing):
        return limit
    if not isinstance(limit, Bandwidth):
        no_quota = Missing(reason="it has no quota of its own")
        return _to_set(workload) if is_named or was_limited(workload) else no_quota
    if is_exclusive_container(workload):
        exclusive = "its CPUs are its own for that very limit, and lost without it"
        return worded(workload, Decision.KEEP, _need(workload), exclusive)
    if 0 < cpus <= limit.cores:
        covers = f"the quota of {format_percent(limit.percent)} covers all {_cpus(cpus)}"
        return _no_quota(workload, _need(workload), covers)
    demand, need = _demand(workload), _need(workload)
    if isinstance(demand, Missing):
        return _unknown(workload, demand)
    return (
        _unknown(workload, need)
        if isinstance(need, Missing)
        else _sized(workload, limit, demand, need)
    )


def misses_target(workload: Workload) -> bool | Missing:
    """Whether the workload's own limit, not one further up, held it back in the window."""
    found = _throttled(workload.counters)
    return found if isinstance(found, Missing) else found.bound_ratio > TARGET_THROTTLED_RATIO


def was_limited(workload: Workload) -> bool:
    """Whether the kernel counted periods of a quota that is no longer there."""
    group = workload.cgroup
    ever = Missing(reason="") if isinstance(group, Missing) else group.totals.nr_periods
    return isinstance(workload.limit, Unlimited) and isinstance(ever, int) and ever != 0


def _to_set(workload: Workload) -> Advice:
    """Decide about a workload without a quota: which one would hold."""
    need = _need(workload)
    if isinstance(need, Missing):
        return _unknown(workload, need)
    culprit = _culprit(workload)
    if culprit is not None:
        path = culprit.path
        return _unknown(
            workload, Missing(reason=f"{path} above it held it back: raise that limit first")
        )
    enough = _void(workload, need)
    if enough:
        return _no_quota(workload, need, enough)
    return worded(workload, Decision.SET, need, f"it needs {need.percent} %, and has no quota")


def _void(workload: Workload, need: Need) -> str:
    """Return why a quota of the need would limit nothing, or nothing where it would."""
    tightest = workload.tightest
    if need.cores >= workload.cpus_available:
        return _reaches_all(workload, need)
    if isinstance(tightest, tuple) and need.cores >= tightest[0].cores:
        allows = f"{tightest[1].path} above it allows {format_percent(tightest[0].percent)}"
        return f"{allows}, and it needs {need.percent} %"
    return ""


def _sized(workload: Workload, limit: Bandwidth, demand: Demand, need: Need) -> Advice:
    """Decide about a quota that can hold its workload back, whose need is known."""
    missed = misses_target(workload)
    if missed is True:
        if need.cores >= workload.cpus_available:
            return _no_quota(workload, need, _reaches_all(workload, need))
        return _raise(workload, limit, demand, need)
    if demand.censored_windows and isinstance(missed, Missing):
        by_whom = f"whether by this limit is not known ({missed.reason})"
        return _unknown(workload, Missing(reason=f"{_held_back(demand)}, and {by_whom}"))
    return _with_room(workload, limit, demand, need)


def _with_room(workload: Workload, limit: Bandwidth, demand: Demand, need: Need) -> Advice:
    """Decide about a quota that is large enough: keep it, unless an hour shows that less is."""
    objection = _objection_to_lowering(workload, limit, demand)
    if objection is not None:
        return _keep(workload, limit, need, objection)
    # The percentile forgets what happens in fewer than 5 % of the windows: a cut must not.
    least = size_for_highest(demand, len(workload.node.cpus_online))
    needs = f"the highest burst in {format_usec(demand.watched_usec)} needs {least.percent} %"
    if least.cores >= limit.cores:
        return _keep(workload, limit, need, needs)
    reason = f"{needs}, and the quota is {format_percent(limit.percent)}"
    return worded(workload, Decision.LOWER, least, reason)


def _objection_to_lowering(workload: Workload, limit: Bandwidth, demand: Demand) -> str | None:
    """Return why a quota with room must not be cut, or None if nothing speaks against it."""
    other = _other_limit(workload, limit)
    if other is not None:
        return other
    if demand.censored_windows:
        return f"{_held_back(demand)}, though not by this limit or too rarely to count"
    watched = demand.watched_usec
    if watched < MIN_SPAN_TO_LOWER_USEC:
        seen, wanted = format_usec(watched), format_usec(MIN_SPAN_TO_LOWER_USEC)
        return f"{seen} of demand were seen; lowering it takes {wanted}"
    if demand.interval_usec > limit.period_usec * SLACK_FACTOR:
        length = format_usec(demand.interval_usec)
        return f"windows of {length} hide peaks within a period of {format_usec(limit.period_usec)}"
    return "it hardly ran while it was measured" if _slept(demand) else None


def _other_limit(workload: Workload, limit: Bandwidth) -> str | None:
    """Return which limit further up decides in place of the workload's own, if one does."""
    culprit, tightest = _culprit(workload), workload.tightest
    if culprit is not None:
        return f"{culprit.path} above it held it back, and not this limit"
    if isinstance(tightest, tuple) and tightest[0].cores < limit.cores:
        return f"{tightest[1].path} above it allows less, and decides"
    return None


def _slept(demand: Demand) -> bool:
    """Whether it hardly ran: an hour in which it slept shows what sleep needs."""
    needed_percent = round(demand.p95_cores * HEADROOM_FACTOR * 100, 6)
    return (
        needed_percent <= ROUND_UP_PERCENT
        or demand.active_usec < MIN_ACTIVE_RATIO * demand.watched_usec
    )


def _need(workload: Workload) -> Need | Missing:
    """Return the need of a workload, as far as the limits on the way up let it be seen."""
    demand, limit = _demand(workload), workload.limit
    if isinstance(demand, Missing):
        return demand
    if not workload.node.cpus_online:
        return Missing(reason="the CPUs of the machine are not known")
    is_held = misses_target(workload) is True and isinstance(limit, Bandwidth)
    return size_for_peak(
        demand,
        len(workload.node.cpus_online),
        held_by=limit if is_held and isinstance(limit, Bandwidth) else None,
        is_lower_bound=is_held or _is_cut(demand),
    )


def _is_cut(demand: Demand) -> bool:
    """Whether a limit held demand back so often that the peaks which were seen are too low."""
    active_usec = demand.active_usec or demand.watched_usec
    held_usec = demand.censored_windows * demand.interval_usec
    return held_usec > TARGET_THROTTLED_RATIO * active_usec


def _culprit(workload: Workload) -> CgroupFacts | None:
    """Return the limited group above that held back what is in it, if one did."""
    above = [g for g in workload.ancestors if isinstance(g.limit, Bandwidth)]
    group, found = most_throttled(above)
    is_held = found is not None and found.bound_ratio > TARGET_THROTTLED_RATIO
    demand = _demand(workload)
    was_cut = isinstance(demand, Demand) and demand.censored_windows > 0
    return group if is_held and was_cut else None


def _throttled(window: CounterWindow | Missing) -> Throttling | Missing:
    return window if isinstance(window, Missing) else throttling_in(window)


def _demand(workload: Workload) -> Demand | Missing:
    return workload.cgroup if isinstance(workload.cgroup, Missing) else workload.cgroup.demand


def _reaches_all(workload: Workload, need: Need) -> str:
    return f"the need of {need.percent} % reaches all {_cpus(workload.cpus_available)}"


def _cpus(number: int) -> str:
    return f"{number} CPU{'' if number == 1 else 's'}"


def _held_back(demand: Demand) -> str:
    return f"it was held back in {demand.censored_windows} of {demand.windows} windows"


def _raise(workload: Workload, limit: Bandwidth, demand: Demand, need: Need) -> Advice:
    reasons = [f"it needs {need.percent} %, and the quota is {format_percent(limit.percent)}"]
    if need.lower_bound:
        held = _held_back(demand) if demand.censored_windows else "its limit held it back"
        reasons.append(f"{held}: the need may be higher")
    reasons += _burst_instead(limit, demand)
    above = [g for g in workload.ancestors if isinstance(g.limit, Bandwidth)]
    reasons += [
        f"{group.path} above it allows {format_percent(group.limit.percent)}: raise that too"
        for group in above
        if isinstance(group.limit, Bandwidth) and group.limit.cores < need.cores
    ]
    return worded(workload, Decision.RAISE, need, *reasons)


def _burst_instead(limit: Bandwidth, demand: Demand) -> list[str]:
    """Return what a burst would do at the same quota, by the simulator's figures."""
    told = demand.simulated
    if not isinstance(told, SimulatedNeed) or told.limit != limit:
        return []
    before, after, burst = told.throttled_ratio, told.burst_throttled_ratio, told.burst_usec
    if not (isinstance(before, float) and isinstance(after, float) and isinstance(burst, int)):
        return []
    change = f"{format_ratio(before)} → {format_ratio(after)} throttled"
    return [f"simulated, a burst of {format_usec(burst)} at the same quota does it too: {change}"]


def _keep(workload: Workload, limit: Bandwidth, need: Need, objection: str) -> Advice:
    percent = format_percent(limit.percent)
    has_room = need.cores <= limit.cores
    room = f"{percent} leave the peak its headroom" if has_room else f"{percent} held nothing back"
    return worded(workload, Decision.KEEP, need, room, objection)


def _no_quota(workload: Workload, need: Need | Missing, reason: str) -> Advice:
    return worded(workload, Decision.REMOVE, need, reason)


def _unknown(workload: Workload, why: Missing) -> Advice:
    return worded(workload, Decision.UNKNOWN, why, why.reason)
