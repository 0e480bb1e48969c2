"""Rules about pods: which requests and limits stand in them, where, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.checks.kubernetes.wording import (
    caveat,
    cpu_evidence,
    cpu_text,
    cpus_text,
    may_be_supplied,
    owner,
)
from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.kubernetes.amounts import cpu_amount
from quota_advisor.derive.kubernetes.pod_cpu import (
    ContainerCpu,
    PodCpu,
    ends_by_itself,
    is_harmless,
)
from quota_advisor.model.finding import Evidence, Once, Recommendation, Related, Severity
from quota_advisor.model.lint import LimitsPolicy, RequestsPolicy
from quota_advisor.model.manifest import LimitRange, Role
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check


@check(PodCase)
def cpu_limit_missing(case: PodCase, _rule: Rule) -> Verdicts:
    """Find containers without a CPU limit where the house rule demands one."""
    if case.context.limits is not LimitsPolicy.REQUIRED:
        if case.pod.suppressions:
            yield _house_rule_is_another(case)
        return
    pod = case.cpu
    if pod.pod.windows or pod.pod.partial or pod.pod_limit is not None:
        return
    for cpu in pod.containers:
        if cpu.limit is not None or pod.is_unknown(cpu):
            continue
        if pod.unsure_range is not None and cpu.limit_at is None:
            yield may_be_supplied(cpu.label, pod.unsure_range)
            continue
        # What runs stands in no file.
        none = "no CPU limit in this file" if pod.pod.file else "no CPU limit"
        zero = "a CPU limit of 0, which is none" if cpu.limit_at else none
        yield Hit(
            message=f"{cpu.label} has {zero}, and limits are required here",
            location=pod.at(cpu.limit_at, cpu),
            evidence=(Evidence(label="house rule", value="limits: required"),),
        )


@check(PodCase)
def cpu_limit_forbidden(case: PodCase, _rule: Rule) -> Verdicts:
    """Find CPU limits where the house rule forbids them."""
    if case.context.limits is not LimitsPolicy.FORBIDDEN:
        if case.pod.suppressions:
            yield _house_rule_is_another(case)
        return
    pod = case.cpu
    if pod.pod.windows:
        return
    rule = Evidence(label="house rule", value="limits: forbidden")
    for cpu, limit, place in pod.written_limits:
        yield Hit(
            message=(
                f"{owner(cpu)} has a CPU limit of {cpu_text(limit)}, and limits are forbidden here"
            ),
            location=pod.at(place),
            evidence=(cpu_evidence("limit", limit), rule),
        )


@check(PodCase)
def cpu_request_missing(case: PodCase, _rule: Rule) -> Verdicts:
    """Find containers that nobody keeps any CPU for."""
    pod, policy = case.cpu, case.context.requests
    is_done_soon = ends_by_itself(pod.pod)
    if policy is RequestsPolicy.IGNORE or is_done_soon:
        if case.pod.suppressions:
            # As for the house rule of limits: no comment is called unused for it.
            yield Skip("it is done soon" if is_done_soon else "the house rule is requests: ignore")
        return
    for cpu in pod.containers:
        if cpu.request is not None or not cpu.runs_all_the_time:
            continue
        if pod.pod.windows or pod.pod.partial or pod.has_pod_level_cpu:
            return
        if pod.is_unknown(cpu):
            continue
        if pod.unsure_range is not None:
            yield may_be_supplied(cpu.label, pod.unsure_range)
            continue
        yield Hit(
            message=(
                f"{cpu.label} has no CPU request: the scheduler keeps no CPU for it, and its"
                f" weight is the lowest (pod is {pod.qos})"
            ),
            severity=Severity.WARNING if policy is RequestsPolicy.REQUIRED else None,
            once=None if policy is RequestsPolicy.REQUIRED else Once.INPUT,
            location=pod.at(None, cpu),
            evidence=(
                cpu_evidence("request", 0),
                Evidence(label="quality of service", value=str(pod.qos)),
            ),
        )


@check(PodCase)
def request_exceeds_limit(case: PodCase, _rule: Rule) -> Verdicts:
    """Find requests above the limit, which the API refuses."""
    pod = case.cpu
    for cpu in pod.containers:
        if cpu.request and cpu.limit is None and cpu.limit_at is not None:
            yield from _exceeds_zero(pod, cpu)
        if cpu.request is None or cpu.limit is None or cpu.request <= cpu.limit:
            continue
        default = _default_words(pod, cpu)
        yield Hit(
            message=(
                f"{cpu.label} requests {cpus_text(cpu.request)}, more than its limit of"
                f" {cpu_text(cpu.limit)}{default}; the API refuses it"
            ),
            location=pod.at(cpu.request_at or cpu.limit_at, cpu),
            related=_limit_of(pod, cpu),
            evidence=(cpu_evidence("request", cpu.request, cpu.limit),),
        )
    if pod.unsure_range is not None:
        yield from _exceeds_default(pod, pod.unsure_range)
    if pod.pod_request is not None or pod.pod_limit is not None:
        yield from _pod_level_order(pod)


def _exceeds_zero(pod: PodCpu, cpu: ContainerCpu) -> Iterator[Hit]:
    """Yield a request beside a limit of 0, which is no limit to the kubelet but one to the API."""
    limit = None if cpu.limit_at is None else cpu_amount(cpu.limit_at)
    if limit == 0 and cpu.request:
        yield Hit(
            message=(
                f"{cpu.label} requests {cpus_text(cpu.request)}, more than its limit of 0; the API"
                " refuses it"
            ),
            location=pod.at(cpu.request_at, cpu),
            related=_limit_of(pod, cpu),
            evidence=(cpu_evidence("request", cpu.request, 0),),
        )


def _exceeds_default(pod: PodCpu, limit_range: LimitRange) -> Iterator[Hit]:
    """Yield requests above a limit that a LimitRange may give."""
    default = limit_range.default_limit
    limit = None if default is None else cpu_amount(default)
    for cpu in pod.containers:
        if cpu.limit_at is None and cpu.request and isinstance(limit, int) and cpu.request > limit:
            yield Hit(
                message=(
                    f"{cpu.label} requests {cpus_text(cpu.request)}, more than the default limit of"
                    f" {cpu_text(limit)} of LimitRange {limit_range.name!r}; the API refuses it"
                    f"{caveat(pod.pod, limit_range)}"
                ),
                severity=Severity.WARNING,
                location=pod.at(cpu.request_at, cpu),
                related=(Related(location=limit_range.location, message="the LimitRange"),),
                evidence=(cpu_evidence("request", cpu.request, limit),),
            )


def _above_pod_limit(pod: PodCpu) -> Iterator[Hit]:
    """Yield containers whose own limit is above that of the pod as a whole."""
    for cpu in pod.containers:
        if pod.pod_limit and cpu.limit_at and cpu.limit and cpu.container.role is Role.APP:
            if cpu.limit <= pod.pod_limit:
                continue
            yield Hit(
                message=(
                    f"{cpu.label} has a CPU limit of {cpu_text(cpu.limit)}, more than the pod-level"
                    f" limit of {cpu_text(pod.pod_limit)}; the API refuses it"
                ),
                location=pod.at(cpu.limit_at),
                related=_pod_limit(pod),
                evidence=(cpu_evidence("limit", cpu.limit, pod.pod_limit),),
            )


def _pod_level_order(pod: PodCpu) -> Iterator[Hit]:
    """Yield what is out of order between a pod-level amount and its containers."""
    request, limit = pod.pod_request, pod.pod_limit
    if request is not None and limit is not None and request > limit:
        yield Hit(
            message=(
                f"the pod requests {cpus_text(request)}, more than its pod-level limit of"
                f" {cpu_text(limit)}; the API refuses it"
            ),
            location=pod.at(pod.pod_request_at),
            related=_pod_limit(pod),
            evidence=(cpu_evidence("request", request, limit),),
        )
    yield from _above_pod_limit(pod)
    total = pod.containers_request
    if request is not None and not pod.pod.partial and total > request:
        yield Hit(
            message=(
                f"the containers request {cpus_text(total)} together, more than the"
                f" pod-level request of {cpu_text(request)}; the API refuses it"
            ),
            location=pod.at(pod.pod_request_at),
            evidence=(cpu_evidence("requests of the containers", total, request),),
        )


@check(PodCase)
def resources_misplaced(case: PodCase, _rule: Rule) -> Verdicts:
    """Find amounts where the API has no such field."""
    for misplaced in case.pod.misplaced:
        holder = misplaced.path.rpartition(".")[0]
        in_place = holder == misplaced.belongs.rpartition(".")[0]
        is_amount = in_place and misplaced.belongs.endswith(".cpu")
        what = "resource of the API, which refuses it" if is_amount else "field of the API"
        yield Hit(
            message=(
                f"{misplaced.key!r} at {misplaced.path} is no {what}"
                f"{'' if is_amount else ' and limits nothing'}"
            ),
            location=case.pod.at(misplaced),
            evidence=(Evidence(label="found at", value=misplaced.path),),
            recommendation=Recommendation(
                summary=f"{'rename' if in_place else 'move'} it to {misplaced.belongs}"
            ),
        )


@check(PodCase)
def quota_wrong_shape(case: PodCase, _rule: Rule) -> Verdicts:
    """Find maps, lists and texts where the API has another type."""
    for wrong in case.pod.wrong_shapes:
        yield Hit(
            message=f"{wrong.path} is {wrong.found} where {wrong.expected} belongs",
            severity=Severity.INFO if is_harmless(wrong) else None,
            location=case.pod.at(wrong),
            evidence=(Evidence(label="found", value=wrong.found),),
        )


def _house_rule_is_another(case: PodCase) -> Skip:
    # Said only where a comment could be taken for unused; for every pod it would be noise.
    return Skip(f"the house rule is limits: {case.context.limits}")


def _limit_of(pod: PodCpu, cpu: ContainerCpu) -> tuple[Related, ...]:
    """Return where the limit of a container stands, unless a finding is about that place."""
    if cpu.limit_at is not None and cpu.request_at is not None:
        return (Related(location=pod.at(cpu.limit_at), message="the limit"),)
    if cpu.limit_at is None and pod.limit_range is not None:
        return (Related(location=pod.limit_range.location, message="the LimitRange"),)
    return ()


def _pod_limit(pod: PodCpu) -> tuple[Related, ...]:
    at = pod.pod_limit_at
    return () if at is None else (Related(location=pod.at(at), message="the limit of the pod"),)


def _default_words(pod: PodCpu, cpu: ContainerCpu) -> str:
    """Return where a limit that is not written comes from."""
    if cpu.limit_at is not None or pod.limit_range is None:
        return ""
    return f" (default of LimitRange {pod.limit_range.name!r})"
