"""Rules about bursts: what a limit does to threads that all become busy at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from quota_advisor.checks.kubernetes.wording import cpu_evidence, cpu_text, told_by
from quota_advisor.checks.threads import busy_text, is_excess
from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.kubernetes.ignorant_runtimes import ignorant_runtime
from quota_advisor.derive.kubernetes.pod_cpu import ContainerCpu, PodCpu
from quota_advisor.derive.kubernetes.qos import (
    MILLI,
    SMALLEST_MILLICORES,
    QosClass,
    is_whole,
    kubelet_limit,
)
from quota_advisor.derive.thread_counts import ThreadCount
from quota_advisor.model.finding import Evidence, Once
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check
from quota_advisor.sim.stall import worst_stall
from quota_advisor.units import format_usec

_BY_NODE = "CPUs of the node"


@check(PodCase)
def microburst_risk(case: PodCase, rule: Rule) -> Verdicts:
    """Find limits that a short burst of work spends before its period is over."""
    pod = case.cpu
    burst_usec = rule.option("burst_usec")
    for cpu, cap, counts in pod.held:
        if cap >= _safe_millicores(pod, counts, burst_usec):
            continue
        if cap < SMALLEST_MILLICORES or is_excess(counts, cap):
            continue
        if (cpu.request or 0) > cap:
            yield from told_by(case, "request-exceeds-limit")
            continue
        threads, known_from = _threads(pod, cpu, counts)
        if threads > 1 and _is_guaranteed(pod, cpu):
            continue  # limit-at-request-with-burst tells it
        burst = _Burst(threads, known_from, burst_usec)
        found = _cut_short(burst, cap, pod.cpus_for(threads))
        if found is not None:
            yield Hit(
                message=f"{cpu.label}: {found.message}",
                location=pod.at(pod.cap_at(cpu), cpu),
                evidence=found.evidence,
                once=None if counts else Once.INPUT,
            )


@check(PodCase)
def limit_at_request_with_burst(case: PodCase, _rule: Rule) -> Verdicts:
    """Find request = limit on many threads: the class Guaranteed is no exemption from the quota."""
    pod = case.cpu
    for cpu, _, counts in pod.held:
        if cpu.limit and is_excess(counts, cpu.limit):
            yield from told_by(case, "threads-exceed-limit")
            continue
        if not cpu.limit or not (counts or case.context.node_millicores):
            continue
        threads, known_from = _threads(pod, cpu, counts)
        stall = pod.stall(cpu.limit, threads) if threads > 1 else None
        if stall is None or not _is_guaranteed(pod, cpu):
            continue
        exclusive = is_whole(cpu.request)
        unless = "; only exclusive CPUs of the static CPU manager would" if exclusive else ""
        yield Hit(
            message=(
                f"request = limit = {cpu_text(cpu.limit)} does not lift the quota of {cpu.label}"
                f"{unless}: {_busy(threads, known_from)} {busy_text(cpu.limit, stall)}"
            ),
            location=pod.at(cpu.limit_at, cpu),
            evidence=(
                cpu_evidence("limit", cpu.limit),
                Evidence(label="threads", value=threads, unit="threads"),
            ),
            once=None if counts else Once.INPUT,
        )


def _busy(threads: int, known_from: str) -> str:
    """Return who spends the quota, with the condition where it is one."""
    if known_from == _BY_NODE:
        return f"with a thread for each of the {threads} CPUs of the node, all busy, they"
    return f"its {threads} threads, all busy,"


def _is_guaranteed(pod: PodCpu, cpu: ContainerCpu) -> bool:
    """Whether a container has what somebody could take for an exemption from the quota."""
    if cpu.request != cpu.limit or pod.pod.partial:
        return False
    return pod.qos is QosClass.GUARANTEED


class _Burst(NamedTuple):
    """Work that comes at once.

    Attributes:
        threads: That become busy together.
        known_from: How their number is known.
        thread_usec: CPU time that each of them needs.
    """

    threads: int
    known_from: str
    thread_usec: float


class _CutShort(NamedTuple):
    """What a limit does to a burst; many containers share limit and burst."""

    message: str
    evidence: tuple[Evidence, ...]


@lru_cache(maxsize=1024)
def _cut_short(burst: _Burst, millicores: int, cpus: int) -> _CutShort | None:
    """Return what a limit does to a burst, None where the burst fits into one period."""
    limit = kubelet_limit(millicores)
    demand_usec = burst.threads * burst.thread_usec
    stall = worst_stall(limit, burst.threads, cpus)
    if stall is None or demand_usec <= limit.quota_usec:
        return None
    periods = math.ceil(demand_usec / limit.quota_usec)
    several = burst.threads > 1
    return _CutShort(
        message=(
            f"a burst{f' of {burst.threads} threads' if several else ''} of"
            f" {format_usec(burst.thread_usec)} of CPU{' each' if several else ''} needs {periods}"
            f" periods of the {format_usec(limit.quota_usec)} that a limit of"
            f" {cpu_text(millicores)} allows and is cut short in {periods - 1} of them, waiting"
            f" {format_usec(stall.wait_usec)} each time"
        ),
        evidence=(
            Evidence(label="CPU time of a burst", value=demand_usec, unit="usec"),
            Evidence(label="quota of a period", value=limit.quota_usec, unit="usec"),
            Evidence(label=f"threads ({burst.known_from})", value=burst.threads, unit="threads"),
        ),
    )


def _threads(pod: PodCpu, cpu: ContainerCpu, counts: Sequence[ThreadCount]) -> tuple[int, str]:
    """Return the threads that can be busy at once, and how that is known."""
    if counts:
        return max(count.number for count in counts), "written down"
    node = pod.context.node_millicores
    if node and ignorant_runtime(cpu.container, cpu.cap or 0, counts):
        return max(node // MILLI, 1), _BY_NODE
    return 1, "assumed"


def _safe_millicores(pod: PodCpu, counts: Sequence[ThreadCount], burst_usec: float) -> float:
    """Return a limit from which a burst surely fits, cheap to tell; infinity for "look closer"."""
    if counts or pod.context.node_millicores:
        return math.inf
    return burst_usec / 100
