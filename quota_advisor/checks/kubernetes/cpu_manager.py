"""Rules about CPUs of one's own: who gets them from the static CPU manager, and who misses them."""

from __future__ import annotations

from quota_advisor.checks.kubernetes.wording import cpu_evidence, cpu_text, told_by
from quota_advisor.checks.threads import is_excess
from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.kubernetes.pod_cpu import ContainerCpu, PodCpu
from quota_advisor.derive.kubernetes.qos import (
    MILLI,
    QosClass,
    is_whole,
    kubelet_limit,
    running_millicores,
    starting_millicores,
)
from quota_advisor.model.finding import Evidence, Once, Recommendation, Related
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_usec

QUOTA_LIFTED_SINCE = (1, 33)
"""From here on the kubelet lifts the quota of containers with exclusive CPUs."""

SHOWN_GAPS = 4


@check(PodCase)
def static_cpu_near_miss(case: PodCase, rule: Rule) -> Verdicts:
    """Find pods that lack one thing for exclusive CPUs, and say which."""
    pod = case.cpu
    least = rule.option("min_request_cores") * MILLI
    candidate = next((cpu for cpu in pod.containers if _is_candidate(cpu, least)), None)
    if candidate is None or pod.pod.windows or pod.pod.partial:
        return
    if any(is_excess(counts, cap) for cpu, cap, counts in pod.held if cpu is candidate):
        yield from told_by(case, "threads-exceed-limit")
        return
    if pod.pod_need is not None:
        if _whole(pod):
            yield _pod_level_miss(pod, _whole(pod)[0])
    elif pod.qos is not QosClass.GUARANTEED:
        if _whole(pod) and not any(_is_burstable_on_purpose(cpu) for cpu in pod.containers):
            yield _class_miss(pod, _whole(pod)[0])
    elif not any(is_whole(cpu.request) for cpu in pod.containers):
        yield _fraction_miss(pod, candidate, least)


@check(PodCase)
def static_cpu_eligible_but_throttled(case: PodCase, _rule: Rule) -> Verdicts:
    """Find exclusive CPUs that keep a quota: before Kubernetes 1.33 all of them."""
    version = case.context.kubernetes_version
    if version is not None and version >= QUOTA_LIFTED_SINCE:
        return
    pod = case.cpu
    if not any(is_whole(cpu.request) for cpu in pod.containers):
        return
    if not _gets_exclusive_cpus(pod):
        return
    for cpu in pod.containers:
        if not is_whole(cpu.request) or not cpu.runs_all_the_time or cpu.limit is None:
            continue
        if version is None:
            yield Skip("whether exclusive CPUs keep their quota depends on the Kubernetes version")
            return
        quota = kubelet_limit(cpu.limit)
        yield Hit(
            message=(
                f"{cpu.label} can get {_count(cpu.limit, 'exclusive')} from the static CPU"
                f" manager, and on Kubernetes {version[0]}.{version[1]} its quota of"
                f" {format_usec(quota.quota_usec)} per {format_usec(quota.period_usec)} stays in"
                " force beside them"
            ),
            location=pod.at(cpu.limit_at, cpu),
            evidence=(
                cpu_evidence("limit", cpu.limit),
                Evidence(label="Kubernetes version", value=f"{version[0]}.{version[1]}"),
            ),
        )


@check(PodCase)
def init_cpu_exceeds_app(case: PodCase, _rule: Rule) -> Verdicts:
    """Find pods whose start needs more exclusive CPUs than their life."""
    pod = case.cpu
    for cpu in pod.containers:
        if not cpu.runs_all_the_time and is_whole(cpu.request):
            break
    else:
        return
    if not _gets_exclusive_cpus(pod):
        return
    needs = [need for need in pod.needs if is_whole(need.cpu_request)]
    start, life = starting_millicores(needs), running_millicores(needs)
    if not life or start <= life:
        return
    culprit = max(
        (cpu for cpu in pod.containers if not cpu.runs_all_the_time and is_whole(cpu.request)),
        key=lambda cpu: cpu.request or 0,
    )
    yield Hit(
        message=(
            f"{culprit.label} raises the need to {cpu_text(start)} exclusive CPUs at the start,"
            f" where the pod then keeps {cpu_text(life)}: a node with the static CPU manager may"
            " refuse it although the app would fit"
        ),
        location=pod.at(culprit.request_at or culprit.limit_at, culprit),
        related=tuple(
            Related(location=pod.at(cpu.request_at or cpu.limit_at, cpu), message="what it keeps")
            for cpu in pod.containers
            if cpu.runs_all_the_time and is_whole(cpu.request)
        ),
        evidence=(cpu_evidence("exclusive CPUs at the start", start, life),),
    )


def _gets_exclusive_cpus(pod: PodCpu) -> bool:
    """Whether the whole pod is known, and its class and shape are those that get CPUs."""
    if pod.pod.windows or pod.pod.partial or pod.pod_need is not None:
        return False
    return pod.qos is QosClass.GUARANTEED


def _is_candidate(cpu: ContainerCpu, least_millicores: float) -> bool:
    """Whether a container looks as if it were meant to have CPUs of its own."""
    if cpu.limit_at is None and cpu.request_at is None:
        return False  # a LimitRange gave it what nobody asked for
    request = cpu.request
    return request is not None and request == cpu.limit and request >= least_millicores


def _is_burstable_on_purpose(cpu: ContainerCpu) -> bool:
    """Whether request and limit are both there and differ: nobody forgot anything."""
    return bool(cpu.request and cpu.limit and cpu.request != cpu.limit)


def _whole(pod: PodCpu) -> list[ContainerCpu]:
    """Return the containers whose request is their limit and a whole number of CPUs."""
    return [cpu for cpu in pod.containers if _is_candidate(cpu, MILLI) and is_whole(cpu.request)]


def _class_miss(pod: PodCpu, cpu: ContainerCpu) -> Hit:
    more = len(pod.gaps) - SHOWN_GAPS
    gaps = "; ".join(pod.gaps[:SHOWN_GAPS]) + (f"; and {more} more" if more > 0 else "")
    return Hit(
        message=(
            f"{cpu.label} asks for {_cpus(cpu)} and cannot have them exclusively, because the pod"
            f" is {pod.qos}: {gaps}"
        ),
        once=Once.INPUT,
        location=pod.at(cpu.request_at or cpu.limit_at, cpu),
        evidence=(
            Evidence(label="quality of service", value=str(pod.qos)),
            *(Evidence(label="missing", value=gap) for gap in pod.gaps),
        ),
    )


def _pod_level_miss(pod: PodCpu, cpu: ContainerCpu) -> Hit:
    return Hit(
        message=(
            f"{cpu.label} asks for {_cpus(cpu)} and cannot have them exclusively: pods with"
            " pod-level resources get none"
        ),
        once=Once.INPUT,
        location=pod.at(cpu.request_at or cpu.limit_at, cpu),
        evidence=(Evidence(label="pod-level resources", value="present"),),
        recommendation=Recommendation(
            summary="drop the pod-level resources; the gate PodLevelResourceManagers, which would"
            " allow both, is alpha"
        ),
    )


def _fraction_miss(pod: PodCpu, cpu: ContainerCpu, least: float) -> Hit:
    request = cpu.request or 0
    return Hit(
        message=(
            f"{cpu.label} of a Guaranteed pod asks for {cpu_text(request)}, which is no whole"
            " number of CPUs: it shares its CPUs and keeps its quota"
        ),
        once=Once.INPUT,
        location=pod.at(cpu.request_at or cpu.limit_at, cpu),
        evidence=(cpu_evidence("request", request, int(least)),),
        recommendation=Recommendation(
            summary=f"for exclusive CPUs make request and limit {_next_whole(request)};"
            " for a shared one this is no fault"
        ),
    )


def _next_whole(millicores: int) -> int:
    return -(-millicores // MILLI)


def _cpus(cpu: ContainerCpu) -> str:
    return _count(cpu.request or 0, "whole")


def _count(millicores: int, kind: str) -> str:
    count = millicores // MILLI
    return f"{count} {kind} CPU{'' if count == 1 else 's'}"
