"""Rules about workloads as they run in a cluster."""

from __future__ import annotations

from quota_advisor.checks.kubernetes.wording import cpu_text
from quota_advisor.checks.wording import listed
from quota_advisor.derive.kubernetes.amounts import cpu_amount
from quota_advisor.derive.kubernetes.live import LiveCase
from quota_advisor.model.finding import Evidence
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check

HPA = "HorizontalPodAutoscaler"
VPA = "VerticalPodAutoscaler"

ACTING_MODES = frozenset({"Auto", "Initial", "InPlaceOrRecreate", "Recreate"})
"""Modes in which a VerticalPodAutoscaler changes pods; in ``Off`` it only recommends."""


@check(LiveCase)
def resize_not_applied(case: LiveCase, _rule: Rule) -> Verdicts:
    """Find pods that run with another size than the one asked for."""
    if not case.stuck:
        return
    first, others = case.stuck[0], len(case.stuck) - 1
    more = f"; the same goes for {others} more" if others else ""
    yield Hit(
        message=f"{first.name} does not run with the size asked for: {first.resize}{more}",
        evidence=(
            Evidence(label="pods with a pending resize", value=len(case.stuck), unit="pods"),
            Evidence(label="pods", value=len(case.workload.pods), unit="pods"),
        ),
    )


@check(LiveCase)
def hpa_without_request(case: LiveCase, _rule: Rule) -> Verdicts:
    """Find a CPU target in percent of a request that is not there."""
    scaler = case.first(HPA)
    if scaler is None or scaler.utilization_percent is None:
        return
    missing = case.without_request()
    if missing:
        yield Hit(
            message=(
                f"{scaler.kind} {scaler.name!r} aims at {scaler.utilization_percent} % of the CPU"
                f" request, and {listed(missing)} {'has' if len(missing) == 1 else 'have'} none: it"
                " cannot scale"
            ),
            evidence=(
                Evidence(label="target", value=scaler.utilization_percent, unit="percent"),
                Evidence(label="containers without a request", value=len(missing)),
            ),
        )


@check(LiveCase)
def vpa_against_hpa(case: LiveCase, _rule: Rule) -> Verdicts:
    """Find two autoscalers that both act on the CPU of one workload."""
    up, out = case.first(VPA), case.first(HPA)
    if up is None or out is None or up.mode not in ACTING_MODES:
        return
    yield Hit(
        message=(
            f"{VPA} {up.name!r} (mode {up.mode}) changes the CPU request that {HPA} {out.name!r}"
            " scales by: each undoes what the other does"
        ),
        evidence=(Evidence(label="mode of the VPA", value=up.mode),),
    )


@check(LiveCase)
def limit_set_by_admission(case: LiveCase, _rule: Rule) -> Verdicts:
    """Tell of limits that run and stand in no manifest."""
    for name, limit in case.added_limits:
        source = _limit_range(case, limit)
        told = f"LimitRange {source!r}" if source else "a webhook or a policy"
        yield Hit(
            message=(
                f"container {name!r} runs with a CPU limit of {cpu_text(limit)} that its owner does"
                f" not ask for: {told} set it at admission"
            ),
            evidence=(Evidence(label="limit", value=limit, unit="millicores"),),
        )


@check(LiveCase)
def static_cpu_on_some_nodes(case: LiveCase, _rule: Rule) -> Verdicts:
    """Find replicas of which some have CPUs of their own and others cannot."""
    own, shared = case.by_policy()
    if not own or not shared:
        return
    first, number = shared[0], len(own) + len(shared)
    yield Hit(
        message=(
            f"{len(shared)} of {number} pods run where the kubelet has no static CPU manager and"
            f" share CPUs: {first.name} on {first.node}; the others have CPUs of their own"
        ),
        evidence=(
            Evidence(label="pods on nodes without a static CPU manager", value=len(shared)),
            Evidence(label="pods on nodes with one", value=len(own)),
        ),
    )


@check(LiveCase)
def thread_count_before_resize(case: LiveCase, _rule: Rule) -> Verdicts:
    """Find numbers of threads that were taken from a limit before it was changed.

    Source: KEP-1287; variables of the downward API are set when a container starts.
    """
    seen: set[tuple[str, str]] = set()
    for pod, container, variable in case.counts_from_limit():
        if (container, variable) not in seen:
            seen.add((container, variable))
            yield Hit(
                message=(
                    f"{variable} of container {container!r} was taken from limits.cpu when it"
                    f" started, and {pod.name} was changed since: a resize does not update it"
                ),
                evidence=(Evidence(label="generation of the pod", value=pod.generation),),
            )


def _limit_range(case: LiveCase, limit_millicores: int) -> str:
    """Return the LimitRange of the namespace that gives such a limit; empty for none."""
    namespace = case.workload.owner.namespace
    for limit_range in case.facts.limit_ranges:
        default = limit_range.default_limit
        if limit_range.namespace != namespace or default is None:
            continue
        if cpu_amount(default) == limit_millicores:
            return limit_range.name
    return ""
