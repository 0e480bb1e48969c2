"""Rules about single CPU amounts of pods: what the API, the kernel and the nodes make of them."""

from __future__ import annotations

from quota_advisor.checks.kubernetes.wording import cpu_evidence, cpu_text, cpus_text, owner
from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.kubernetes.amounts import memory_amount, misread_amount
from quota_advisor.derive.kubernetes.pod_cpu import ContainerCpu
from quota_advisor.derive.kubernetes.qos import MILLI, SMALLEST_MILLICORES, kubelet_limit
from quota_advisor.documents.kubernetes.quantity import NANO
from quota_advisor.model.finding import Evidence
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_usec

ORDINARY_CORES = 10
"""Containers have as many, with little memory too."""

MIB = 1 << 20

LARGE_MILLICORES = 32_000
"""Amounts from here on are worth a word when no node size is given to compare them with."""


@check(PodCase)
def limit_below_10m(case: PodCase, _rule: Rule) -> Verdicts:
    """Find limits smaller than the kernel can hold anybody to."""
    pod = case.cpu
    if pod.pod.windows:
        return
    for cpu, limit, place in pod.written_limits:
        if limit < SMALLEST_MILLICORES:
            quota = kubelet_limit(limit)
            yield Hit(
                message=(
                    f"the CPU limit of {limit}m of {owner(cpu)} acts as {SMALLEST_MILLICORES}m: the"
                    f" smallest quota is {format_usec(quota.quota_usec)} per"
                    f" {format_usec(quota.period_usec)}"
                ),
                location=pod.at(place),
                evidence=(cpu_evidence("limit", limit, SMALLEST_MILLICORES),),
            )


@check(PodCase)
def limit_exceeds_node(case: PodCase, _rule: Rule) -> Verdicts:
    """Find limits that no node can reach."""
    pod, node = case.cpu, case.context.node_millicores
    for cpu, limit, place in pod.written_limits:
        if limit < (LARGE_MILLICORES if node is None else node) or pod.pod.windows:
            continue
        if node is None:
            yield Skip(f"{owner(cpu)} has a limit of {cpus_text(limit)}, and no node size is given")
            continue
        yield Hit(
            message=(
                f"the CPU limit of {cpu_text(limit)} of {owner(cpu)} has no effect: the largest"
                f" node has {cpus_text(node)}"
            ),
            location=pod.at(place),
            evidence=(cpu_evidence("limit", limit, node),),
        )


@check(PodCase)
def request_exceeds_node(case: PodCase, _rule: Rule) -> Verdicts:
    """Find pods that no node has room for."""
    pod, node = case.cpu, case.context.node_millicores
    bound = LARGE_MILLICORES if node is None else node
    at_most = sum([cpu.request or 0 for cpu in pod.containers])
    at_most += (pod.pod_request or 0) + (pod.pod_limit or 0)
    if at_most <= bound or pod.pod.partial:
        return
    # That counts too much, and most pods are done with it.
    total = pod.total_request
    if total <= bound:
        return
    if node is None:
        yield Skip(f"the pod requests {cpus_text(total)}, and no node size is given")
        return
    largest = max(pod.containers, key=lambda cpu: cpu.request or 0, default=None)
    place = (
        pod.pod_request_at
        or pod.pod_limit_at
        or (largest and (largest.request_at or largest.limit_at))
    )
    yield Hit(
        message=(
            f"the pod requests {cpus_text(total)} and the largest node has {cpu_text(node)}:"
            " it is never scheduled"
        ),
        location=pod.at(place, largest),
        evidence=(cpu_evidence("request of the pod", total, node),),
    )


@check(PodCase)
def quota_invalid(case: PodCase, _rule: Rule) -> Verdicts:
    """Find CPU amounts that the API cannot read or refuses."""
    for bad in case.cpu.bad:
        yield Hit(
            message=f"the {bad.what} is refused: {bad.reason}",
            location=case.pod.at(bad.at),
            evidence=(Evidence(label="as written", value=bad.at.text),),
        )


@check(PodCase)
def misread_cpu_amount(case: PodCase, rule: Rule) -> Verdicts:
    """Find amounts that are another number to the API than to the reader."""
    pod = case.cpu
    usual = int(rule.option("max_cores") * MILLI)
    for cpu in pod.containers:
        is_large = max(cpu.limit or 0, cpu.request or 0) > ORDINARY_CORES * MILLI
        most = _most_millicores(cpu, rule) if is_large else usual
        for what, scalar in (("limit", cpu.limit_at), ("request", cpu.request_at)):
            trap = None if scalar is None else misread_amount(scalar.text, scalar.plain, most)
            if scalar is None or trap is None:
                continue
            yield Hit(
                message=(
                    f"the CPU {what} of {cpu.label} is {scalar.text}, which the API reads as"
                    f" {cpus_text(trap.millicores)}: {trap.because}"
                ),
                location=pod.at(scalar),
                evidence=(
                    Evidence(label="as written", value=scalar.text),
                    cpu_evidence("read as", trap.millicores),
                ),
            )


def _most_millicores(cpu: ContainerCpu, rule: Rule) -> int:
    """Return the amount from which a number has lost its m: with little memory a lower one."""
    most = rule.option("max_cores")
    resources = cpu.container.resources
    memory = resources.limits.get("memory") or resources.requests.get("memory")
    amount = None if memory is None else memory_amount(memory)
    if amount is not None:
        fed = amount / NANO / MIB / rule.option("min_mib_per_core")
        most = min(most, max(fed, ORDINARY_CORES))
    return int(most * MILLI)
