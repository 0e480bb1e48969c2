"""Rules about threads: how many a container runs, and what its limit does to them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from quota_advisor.checks.kubernetes.wording import cpu_evidence, cpu_text, may_be_supplied
from quota_advisor.derive.amounts import cpu_amount
from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.ignorant_runtimes import ignorant_runtime
from quota_advisor.derive.pod_cpu import ContainerCpu, PodCpu, label
from quota_advisor.derive.qos import (
    MILLI,
    kubelet_limit,
)
from quota_advisor.derive.thread_counts import COUNT_VARIABLES, Kind, ThreadCount
from quota_advisor.model.finding import Evidence, Recommendation, Severity
from quota_advisor.model.manifest import Container, ResourceRef
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.sim.stall import Stall, worst_stall
from quota_advisor.units import format_usec

MIN_ALLOWED_COUNT = 2
"""Two threads are never too many: one that works and one that the runtime needs itself."""

_LIKE_A_COUNT = re.compile(r"(?i)threads?|workers?|maxprocs|concurrency|parallel|processors?")


@check(PodCase)
def threads_exceed_limit(case: PodCase, rule: Rule) -> Verdicts:
    """Compare numbers of threads that are written down with the limit that feeds them."""
    pod = case.cpu
    for cpu, cap, counts in pod.held:
        for count, allowed, stall in too_many(counts, cap, rule, pod.node_cpus):
            yield Hit(
                message=(
                    f"{count.setting} of {count.number} in {cpu.label} exceeds its CPU limit of"
                    f" {cpu_text(cap)}: all busy they {busy_text(cap, stall)}"
                ),
                location=pod.at(count.at),
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


class Excess(NamedTuple):
    """A number of threads above what suits a limit.

    Attributes:
        threads: The number, and where it is written.
        allowed: The highest number that does.
        stall: What the limit does to them when all are busy.
    """

    threads: ThreadCount
    allowed: int
    stall: Stall


def too_many(
    counts: Iterable[ThreadCount], millicores: int, rule: Rule, cpus: int | None = None
) -> Iterator[Excess]:
    """Yield the numbers of threads that are too high for a limit.

    Args:
        counts: All that are written down.
        millicores: The limit.
        rule: Has the options that say how many suit a CPU.
        cpus: That threads can run on; as many as there are threads where it is not known.
    """
    for count in counts:
        allowed = allowed_count(count, millicores, rule)
        if count.number > allowed:
            stall = worst_stall(kubelet_limit(millicores), count.number, cpus or count.number)
            if stall is not None:
                yield Excess(count, allowed, stall)


def allowed_count(count: ThreadCount, millicores: int, rule: Rule) -> int:
    """Return the highest number of threads of a kind that suits a limit."""
    # Below one CPU as well, a pool is sized for one: there is no half worker.
    cores = max(millicores, MILLI) / MILLI
    return max(math.ceil(cores * _per_core(count, rule)), MIN_ALLOWED_COUNT)


def fewer_threads(count: ThreadCount, millicores: int, rule: Rule) -> Recommendation:
    """Return what to do about too many threads, with where the number comes from."""
    allowed, per_core = allowed_count(count, millicores, rule), _per_core(count, rule)
    because = f"{per_core:g} for each CPU"
    if math.ceil(max(millicores, MILLI) / MILLI * per_core) < allowed:
        because = "one that works and one that the runtime needs itself"
    elif millicores < MILLI:
        because += ", and what is less than one counts as one"
    return Recommendation(
        summary=f"set {count.setting} to at most {allowed} ({because}), or raise the limit"
    )


def _per_core(count: ThreadCount, rule: Rule) -> float:
    is_compute = count.kind is Kind.COMPUTE
    return rule.option("max_threads_per_core" if is_compute else "max_workers_per_core")


def busy_text(millicores: int, stall: Stall) -> str:
    """Return what a limit does to busy threads, in words."""
    limit = kubelet_limit(millicores)
    return (
        f"spend the quota of {format_usec(limit.quota_usec)} in"
        f" {format_usec(stall.run_usec)} of each {format_usec(limit.period_usec)} and wait"
        f" {format_usec(stall.wait_usec)}"
    )


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
