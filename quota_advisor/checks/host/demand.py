"""Rules about a limit held against the demand that was measured."""

from __future__ import annotations

from collections import defaultdict

from quota_advisor.advise.decide import misses_target
from quota_advisor.advise.formula import too_little
from quota_advisor.advise.words import more_room, needless
from quota_advisor.checks.evidence import limit_evidence
from quota_advisor.checks.host.evidence import limit_source, quota_advice
from quota_advisor.checks.wording import listed
from quota_advisor.derive.host.pinning import is_exclusive_container
from quota_advisor.derive.host.running_quota import quota_location
from quota_advisor.model.advice import Decision, Need
from quota_advisor.model.cgroup import Demand
from quota_advisor.model.finding import Evidence
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import AdvisedWorkload, Host, Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_ratio, format_usec


@check(AdvisedWorkload)
def quota_below_peak(advised: AdvisedWorkload, _rule: Rule) -> Verdicts:
    """Compare the quota with the peak and the headroom that it needs."""
    workload, advice = advised
    measured = _limited_demand(workload)
    if isinstance(measured, Missing):
        if isinstance(workload.limit, Bandwidth):
            yield Skip(measured.reason)
        return
    (limit, demand), need = measured, advice.need
    if not isinstance(need, Need) or advice.decision not in (Decision.RAISE, Decision.REMOVE):
        return
    if not _is_held_back(workload) or not workload.can_spend(limit):
        return
    at_least = "at least " if need.lower_bound else ""
    yield Hit(
        message=(
            f"quota of {limit.cores:.3g} cores, but the p95 peak is {at_least}"
            f"{demand.p95_cores:.3g} cores and needs {at_least}{need.cores:.3g} with headroom"
        ),
        brief=f"needs {at_least}{need.cores:.3g} cores",
        location=quota_location(workload),
        evidence=(
            Evidence(
                label="need with headroom",
                value=need.cores,
                unit="cores",
                threshold=limit.cores,
            ),
            Evidence(
                label=f"p95 peak over {format_usec(demand.interval_usec)} windows",
                value=demand.p95_cores,
                unit="cores",
            ),
            *_demand_evidence(demand),
            limit_evidence(limit, limit_source(workload.cgroup)),
        ),
        recommendation=quota_advice(workload, advice),
    )


@check(Workload)
def peak_censored(workload: Workload, rule: Rule) -> Verdicts:
    """Say when the observed peak is only what the limit let through."""
    measured = _limited_demand(workload)
    if isinstance(measured, Missing):
        return
    limit, demand = measured
    active = demand.active_windows if isinstance(demand.active_windows, int) else demand.windows
    # A window within a long stall shows no use, but the group wanted to run in it.
    active = max(active, demand.censored_windows, 1)
    share = demand.censored_windows / active
    # What a limit further up holds back is told by throttled-by-ancestor, with that limit's name.
    if share <= rule.option("max_censored_ratio") or not _is_held_back(workload):
        return
    yield Hit(
        message=(
            f"the limit held demand back in {demand.censored_windows} of {active} active windows"
            f" ({format_ratio(share)}): the peak of {demand.p95_cores:.3g} cores is a lower bound"
        ),
        brief=f"held back in {demand.censored_windows} of {active} active windows",
        evidence=(
            Evidence(
                label="censored windows as a share of active windows",
                value=share,
                unit="ratio",
                threshold=rule.option("max_censored_ratio"),
            ),
            *_demand_evidence(demand),
            limit_evidence(limit, limit_source(workload.cgroup)),
        ),
        recommendation=more_room(workload, limit),
    )


@check(AdvisedWorkload)
def quota_at_mean_use(advised: AdvisedWorkload, rule: Rule) -> Verdicts:
    """Catch a quota that was sized from the mean: every busy period then ends at the edge."""
    workload, advice = advised
    measured = _limited_demand(workload)
    if isinstance(measured, Missing):
        return
    limit, demand = measured
    share = demand.mean_cores / limit.cores
    if share < rule.option("min_mean_ratio") or not workload.can_spend(limit):
        return
    # A thread cannot use more than a CPU: one under a quota of just that lacks nothing.
    if not _is_held_back(workload):
        return
    yield Hit(
        message=(
            f"mean use of {demand.mean_cores:.3g} cores is {format_ratio(share)} of the quota of"
            f" {limit.cores:.3g} cores: nothing is left for a burst"
        ),
        brief=f"mean use {format_ratio(share)} of the quota",
        location=quota_location(workload),
        evidence=(
            Evidence(
                label="mean use as a share of the quota",
                value=share,
                unit="ratio",
                threshold=rule.option("min_mean_ratio"),
            ),
            *_demand_evidence(demand),
            limit_evidence(limit, limit_source(workload.cgroup)),
        ),
        recommendation=quota_advice(workload, advice),
    )


@check(Workload)
def quota_exceeds_host(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a quota that the CPUs at hand can never spend."""
    limit = workload.limit if isinstance(workload.limit, Bandwidth) else workload.configured
    cpus = workload.cpus_available
    # No CPUs are known of an image: nothing runs there.
    if not isinstance(limit, Bandwidth) or workload.can_spend(limit):
        return
    # The limit is what these CPUs were given for; without it they are lost.
    if is_exclusive_container(workload):
        return
    yield Hit(
        message=(f"quota of {limit.cores:.4g} cores on {cpus} available CPUs limits nothing"),
        location=quota_location(workload),
        evidence=(
            limit_evidence(limit, limit_source(workload.cgroup)),
            Evidence(label="CPUs available", value=cpus, unit="cpus"),
        ),
        recommendation=needless(workload),
    )


@check(Host)
def uniform_quota(host: Host, rule: Rule) -> Verdicts:
    """Find one quota on many unrelated services: a sign that nobody sized them."""
    services: defaultdict[str, dict[str, Workload]] = defaultdict(dict)
    for workload in host.workloads:
        configured = workload.configured
        if not isinstance(configured, Bandwidth) or workload.kind != "service":
            continue
        if not workload.transient and not _is_vendors(workload):
            # Instances of one template share their quota on purpose: they count once.
            stem, at, _ = workload.name.partition("@")
            services[configured.text].setdefault(stem + at, workload)
    for quota, members in sorted(services.items()):
        if len(members) < rule.option("min_services"):
            continue
        names = sorted(members)
        yield Hit(
            message=f"{len(names)} services share a quota of {quota}: {listed(names)}",
            evidence=(
                Evidence(
                    label="services with the same quota",
                    value=len(names),
                    unit="services",
                    threshold=rule.option("min_services"),
                ),
            ),
        )


def _is_vendors(workload: Workload) -> bool:
    """Whether the quota came with a package: whoever made it sized it for what it is."""
    place = quota_location(workload)
    return place is not None and place.file.startswith(("/usr/lib/", "/lib/"))


def _limited_demand(workload: Workload) -> tuple[Bandwidth, Demand] | Missing:
    """Return the workload's own limit with its demand, if there is enough of it to judge."""
    if isinstance(workload.cgroup, Missing):
        return workload.cgroup
    limit, demand = workload.cgroup.limit, workload.cgroup.demand
    if not isinstance(limit, Bandwidth):
        return Missing(reason="no limit of its own")
    if isinstance(demand, Missing):
        return demand
    return too_little(demand) or (limit, demand)


def _is_held_back(workload: Workload) -> bool:
    """Whether the kernel counted more throttled periods of its own limit than a quota may have."""
    return misses_target(workload) is True


def _demand_evidence(demand: Demand) -> tuple[Evidence, ...]:
    return (
        Evidence(label="mean use", value=demand.mean_cores, unit="cores"),
        Evidence(label="highest window", value=demand.max_cores, unit="cores"),
        Evidence(label="highest burst", value=demand.highest_cores, unit="cores"),
        Evidence(label="windows", value=demand.windows, unit="windows"),
        Evidence(label="censored windows", value=demand.censored_windows, unit="windows"),
    )
