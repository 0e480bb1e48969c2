"""Rules about what a namespace lets in: LimitRange and ResourceQuota of the same input."""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.checks.kubernetes.wording import (
    caveat,
    cpu_evidence,
    cpu_text,
    cpus_text,
    may_be_supplied,
)
from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.kubernetes.amounts import cpu_amount
from quota_advisor.derive.kubernetes.namespaces import is_sure, settings_for
from quota_advisor.derive.kubernetes.pod_cpu import ContainerCpu, PodCpu
from quota_advisor.derive.kubernetes.qos import MILLI
from quota_advisor.model.finding import Evidence, Related, Severity
from quota_advisor.model.manifest import LimitRange, ResourceQuota, Scalar
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check


@check(PodCase)
def resource_quota_needs_limit(case: PodCase, _rule: Rule) -> Verdicts:
    """Find containers that a ResourceQuota of the same input lets nobody create."""
    stanza = case.pod.resources
    if stanza.limits or stanza.requests:
        return  # with anything for the pod as a whole the API asks no container
    for quota in _quotas(case):
        pod = case.cpu
        needs = (
            ("limit", quota.limit, "limits.cpu"),
            ("request", quota.request, "requests.cpu"),
        )
        for what, is_required, resource in needs:
            for cpu in pod.containers if is_required else ():
                stated = cpu.states_limit if what == "limit" else cpu.request is not None
                if not stated and pod.unsure_range is not None:
                    yield may_be_supplied(cpu.label, pod.unsure_range)
                elif not stated and not pod.is_unknown(cpu):
                    text = f"{cpu.label} states no CPU {what}, and {_name(quota)} counts {resource}"
                    yield _refused(pod, quota, text, None, cpu)


@check(PodCase)
def pod_exceeds_resource_quota(case: PodCase, _rule: Rule) -> Verdicts:
    """Find pods that alone ask for more than a ResourceQuota leaves to all of its namespace.

    Source: kubernetes ``pkg/quota/v1/evaluator/core/pods.go``.
    """
    for quota in _quotas(case):
        pod = case.cpu
        totals = (
            ("limits.cpu", quota.limit, pod.total_limit, "may use"),
            ("requests.cpu", quota.request, pod.total_request, "requests"),
        )
        for resource, hard, total, does in totals:
            most = _bound(hard)
            if most is not None and total > most:
                text = (
                    f"the pod {does} {cpus_text(total)}, more than the {resource} of"
                    f" {cpu_text(most)} that {_name(quota)} leaves to all of its namespace"
                )
                evidence = cpu_evidence(f"{resource} of the pod", total, most)
                yield _refused(pod, quota, text, _largest(pod, resource), None, evidence)


@check(PodCase)
def limit_range_refuses(case: PodCase, _rule: Rule) -> Verdicts:
    """Find amounts that a LimitRange of the same input does not allow.

    Source: kubernetes ``plugin/pkg/admission/limitranger/admission.go``.
    """
    for limit_range in settings_for(case.pod, case.context.limit_ranges):
        pod = case.cpu
        for cpu in pod.containers:
            for found in _out_of_bounds(limit_range, cpu):
                text = f"{cpu.label} has {found.what} of {_name(limit_range)}"
                yield _refused(pod, limit_range, text, found.at, cpu, found.evidence)
                break
        if not pod.pod.partial:
            yield from _pod_out_of_bounds(limit_range, pod)


# ---- ResourceQuota


def _quotas(case: PodCase) -> Iterator[ResourceQuota]:
    if not case.pod.partial:
        yield from settings_for(case.pod, case.context.resource_quotas)


def _largest(pod: PodCpu, resource: str) -> Scalar | None:
    """Return the amount that adds most to a total, or the pod's own."""
    if resource == "limits.cpu":
        own = [(cpu.limit or 0, cpu.limit_at) for cpu in pod.containers]
        whole = pod.pod_limit_at
    else:
        own = [(cpu.request or 0, cpu.request_at or cpu.limit_at) for cpu in pod.containers]
        whole = pod.pod_request_at or pod.pod_limit_at
    written = [(amount, at) for amount, at in own if at is not None]
    return whole or max(written, key=lambda pair: pair[0], default=(0, None))[1]


# ---- LimitRange


class _Found(NamedTuple):
    """An amount that is out of bounds."""

    what: str
    at: Scalar
    evidence: Evidence


def _out_of_bounds(limit_range: LimitRange, cpu: ContainerCpu) -> Iterator[_Found]:
    """Yield what of a container's written amounts is out of bounds, the worst first."""
    least, most = _bound(limit_range.least), _bound(limit_range.most)
    amounts = (("limit", cpu.limit, cpu.limit_at), ("request", cpu.request, cpu.request_at))
    for what, amount, at in amounts:
        if amount is None or at is None or (cpu.limit is not None and amount > cpu.limit):
            continue  # not written, or request-exceeds-limit tells it
        text = f"a CPU {what} of {cpu_text(amount)}"
        if most is not None and amount > most:
            beyond = f"{text}, above the maximum of {cpu_text(most)}"
            yield _Found(beyond, at, cpu_evidence(what, amount, most))
        if least is not None and amount < least:
            below = f"{text}, below the minimum of {cpu_text(least)}"
            yield _Found(below, at, cpu_evidence(what, amount, least))
    ratio, at = _bound(limit_range.ratio), cpu.limit_at or cpu.request_at
    if ratio and cpu.limit and cpu.request and at and cpu.limit * MILLI > ratio * cpu.request:
        text = f"a CPU limit of {cpu_text(cpu.limit)} on a request of {cpu_text(cpu.request)}"
        evidence = cpu_evidence("limit", cpu.limit, ratio * cpu.request // MILLI)
        yield _Found(f"{text}, more than the ratio of {ratio / MILLI:g}", at, evidence)


def _pod_out_of_bounds(limit_range: LimitRange, pod: PodCpu) -> Verdicts:
    """Yield what of the pod as a whole is out of bounds; nothing stated is refused as well."""
    least, most = _bound(limit_range.pod_least), _bound(limit_range.pod_most)
    if (least is None and most is None) or any(pod.is_unknown(cpu) for cpu in pod.containers):
        return
    if pod.unsure_range is not None and not all(map(_states_both, pod.containers)):
        yield may_be_supplied("containers", pod.unsure_range)
        return
    name = _name(limit_range)
    limit, request = _Sum.of_limits(pod), _Sum.of_requests(pod)
    if most is not None:
        above = next((s for s in (limit, request) if s.is_stated and s.total > most), None)
        if not limit.is_stated:
            yield _not_stated(pod, limit_range, limit, f"{name} has a maximum for pods")
        elif above is not None:
            yield _beyond(pod, limit_range, above, most, f"above the maximum of {cpu_text(most)}")
    if least is not None:
        below = next((s for s in (request, limit) if s.is_stated and s.total < least), None)
        if not request.is_stated:
            yield _not_stated(pod, limit_range, request, f"{name} has a minimum for pods")
        elif below is not None:
            yield _beyond(pod, limit_range, below, least, f"below the minimum of {cpu_text(least)}")


class _Sum(NamedTuple):
    """Limits or requests of a pod together.

    Attributes:
        what: Which.
        total: In millicores; what states none does not count.
        is_stated: Anything states one.
    """

    what: str
    total: int
    is_stated: bool

    @classmethod
    def of_limits(cls, pod: PodCpu) -> _Sum:
        stated = pod.pod_limit is not None or any(cpu.states_limit for cpu in pod.containers)
        return cls("limit", pod.total_limit, stated)

    @classmethod
    def of_requests(cls, pod: PodCpu) -> _Sum:
        own = any(cpu.request is not None for cpu in pod.containers)
        return cls("request", pod.total_request, pod.has_pod_level_cpu or own)


def _states_both(cpu: ContainerCpu) -> bool:
    return cpu.states_limit and cpu.request is not None


def _not_stated(pod: PodCpu, limit_range: LimitRange, missing: _Sum, because: str) -> Hit:
    text = f"no container states a CPU {missing.what}, and {because}"
    return _refused(pod, limit_range, text, None)


def _beyond(pod: PodCpu, limit_range: LimitRange, found: _Sum, bound: int, how: str) -> Hit:
    text = (
        f"the CPU {found.what}s of the pod are {cpu_text(found.total)} together, {how} for pods of"
        f" {_name(limit_range)}"
    )
    evidence = cpu_evidence(f"{found.what}s of the containers", found.total, bound)
    return _refused(pod, limit_range, text, _largest(pod, f"{found.what}s.cpu"), None, evidence)


# ---- both


def _bound(scalar: Scalar | None) -> int | None:
    amount = None if scalar is None else cpu_amount(scalar)
    return amount if isinstance(amount, int) else None


def _name(setting: LimitRange | ResourceQuota) -> str:
    return f"{type(setting).__name__} {setting.name!r}"


def _refused(
    pod: PodCpu,
    setting: LimitRange | ResourceQuota,
    text: str,
    at: Scalar | None,
    cpu: ContainerCpu | None = None,
    evidence: Evidence | None = None,
) -> Hit:
    """Return the finding that the API refuses a pod, less sure where namespaces are not named."""
    kind = type(setting).__name__
    return Hit(
        message=f"{text}: the API refuses the pod{caveat(pod.pod, setting)}",
        severity=None if is_sure(pod.pod, setting) else Severity.WARNING,
        location=pod.at(at, cpu),
        related=(Related(location=setting.location, message=f"the {kind}"),),
        evidence=(
            evidence or Evidence(label=kind, value=setting.name),
            Evidence(label="set at", value=f"{setting.file}:{setting.place.line}"),
        ),
    )
