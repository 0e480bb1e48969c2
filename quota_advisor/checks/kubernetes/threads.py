"""Rules about threads: how many a container runs, and what its limit does to them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from quota_advisor.checks.kubernetes.wording import cpu_evidence, cpu_text, may_be_supplied
from quota_advisor.checks.threads import busy_text, fewer_threads, too_many
from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.kubernetes.amounts import cpu_amount
from quota_advisor.derive.kubernetes.ignorant_runtimes import ignorant_runtime
from quota_advisor.derive.kubernetes.pod_cpu import ContainerCpu, PodCpu, label
from quota_advisor.derive.kubernetes.qos import (
    MILLI,
)
from quota_advisor.derive.thread_counts import COUNT_VARIABLES
from quota_advisor.model.finding import Evidence, Recommendation, Related, Severity
from quota_advisor.model.manifest import Container, ResourceRef
from quota_advisor.patterns import pattern
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check

_LIKE_A_COUNT = pattern(r"(?i)threads?|workers?|maxprocs|concurrency|parallel|processors?")


@check(PodCase)
def threads_exceed_limit(case: PodCase, rule: Rule) -> Verdicts:
    """Compare numbers of threads that are written down with the limit that feeds them."""
    pod = case.cpu
    for cpu, cap, counts in pod.held:
        at = pod.cap_at(cpu)
        for count, allowed, stall in too_many(counts, cap, rule, pod.node_cpus):
            yield Hit(
                message=(
                    f"{count.setting} of {count.number} in {cpu.label} exceeds its CPU limit of"
                    f" {cpu_text(cap)}: all busy they {busy_text(cap, stall)}"
                ),
                location=pod.at(count.at),
                related=() if at is None else (Related(location=pod.at(at), message="the limit"),),
                evidence=(
                    Evidence(
                        label="threads", value=count.number, unit="threads", threshold=allowed
                    ),
                    cpu_evidence("limit", cap),
                ),
                recommendation=fewer_threads(count, cap, rule),
            )


@check(PodCase)
def runtime_ignores_quota(case: PodCase, _rule: Rule) -> Verdicts:
    """Find runtimes that size their pools by the node although a limit is set."""
    pod = case.cpu
    for cpu, cap, counts in pod.held:
        runtime = ignorant_runtime(cpu.container, cap, counts)
        if runtime is None:
            continue
        at = pod.cap_at(cpu)
        yield Hit(
            message=(
                f"{cpu.label} has a CPU limit of {cpu_text(cap)} that {runtime.name} does not"
                f" see: {runtime.because}"
            ),
            location=pod.at(at, cpu),
            evidence=(cpu_evidence("limit", cap), Evidence(label="hint", value=runtime.hint)),
            recommendation=Recommendation(summary=runtime.remedy),
        )


@check(PodCase)
def gomaxprocs_without_limit(case: PodCase, _rule: Rule) -> Verdicts:
    """Find thread counts taken from a limit that is not there: they become the node's size."""
    for name, ref, owner in _thread_refs(case):
        pod = case.cpu
        cpu = _target(pod, ref, owner)
        if pod.pod.windows or pod.pod.partial or cpu is None or cpu.limit is not None:
            continue
        if any(bad.at is cpu.limit_at for bad in pod.bad):
            continue
        if pod.unsure_range is not None:
            yield may_be_supplied(cpu.label, pod.unsure_range)
            continue
        if pod.pod_limit is not None:
            yield Skip(f"{name} reads {ref.resource}, and only the pod as a whole has a limit")
            continue
        yield Hit(
            message=(
                f"{name} takes {ref.resource} of {cpu.label}, which has no CPU limit: it becomes"
                " the number of CPUs of the node"
            ),
            location=pod.pod.at(ref),
            evidence=(Evidence(label="taken from", value=ref.resource),),
        )


@check(PodCase)
def thread_count_divisor(case: PodCase, _rule: Rule) -> Verdicts:
    """Find thread counts whose divisor makes another number of the limit than was meant."""
    for name, ref, owner in _thread_refs(case):
        pod = case.cpu
        cpu = _target(pod, ref, owner)
        limit = cpu.limit if cpu else None
        divisor = 1000 if ref.divisor is None else cpu_amount(ref.divisor)
        if not isinstance(divisor, int) or divisor not in (0, 1, MILLI):
            yield Hit(
                message=f"the divisor of {name} is refused: the API takes 1 and 1m for CPU",
                location=pod.pod.at(ref.divisor or ref),
                evidence=(
                    Evidence(label="divisor", value=ref.divisor.text if ref.divisor else ""),
                ),
            )
        elif divisor == 1:
            reads = f", {limit} here," if limit else ""
            yield Hit(
                message=(
                    f"{name} reads the limit in thousandths of a CPU{reads} and is a number of"
                    " threads"
                ),
                location=pod.pod.at(ref.divisor or ref),
                evidence=(cpu_evidence("value", limit),) if limit else (),
            )
        elif cpu is not None and limit and limit % MILLI:
            yield _rounded_up(pod, name, ref, cpu)


def _thread_refs(case: PodCase) -> Iterator[tuple[str, ResourceRef, Container | None]]:
    """Yield what takes a number of threads from a CPU limit, by variable or by file."""
    for name, ref, container in case.cpu.limit_refs:
        # The name says whether the limit is taken as a number of threads.
        if name in COUNT_VARIABLES or _LIKE_A_COUNT.search(name) is not None:
            where = f"the file {name!r}" if container is None else f"{name} in {label(container)}"
            yield where, ref, container


def _target(pod: PodCpu, ref: ResourceRef, owner: Container | None) -> ContainerCpu | None:
    """Return the container whose limit is taken, None where there is none of its name."""
    for cpu in pod.containers:
        if cpu.container is owner if ref.container is None else cpu.container.name == ref.container:
            return cpu
    return None


def _rounded_up(pod: PodCpu, name: str, ref: ResourceRef, cpu: ContainerCpu) -> Hit:
    limit = cpu.limit or 0
    reads = math.ceil(limit / MILLI)
    return Hit(
        message=(
            f"{name} reads {reads}: the limit of {cpu_text(limit)} of {cpu.label} is rounded up"
            " to whole CPUs"
        ),
        severity=Severity.INFO,
        location=pod.pod.at(ref),
        evidence=(
            Evidence(label="value", value=reads, unit="threads"),
            cpu_evidence("limit", limit),
        ),
        recommendation=Recommendation(
            summary="expect more threads than the limit feeds at once, or make the limit whole"
        ),
    )
