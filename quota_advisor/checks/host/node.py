"""Rules about the machine."""

from __future__ import annotations

from quota_advisor.derive.host.kernel import fair_server_guards, slices_expire
from quota_advisor.derive.host.pinning import has_cpus_to_itself
from quota_advisor.model.finding import Evidence
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited
from quota_advisor.model.node import CpuList, Irq
from quota_advisor.model.workload import Host, Workload
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_cpu_list, format_usec

SLICE_USEC = 5_000
"""``sched_cfs_bandwidth_slice_us``: what a CPU takes from the pool at a time by default."""


@check(Host)
def rt_runtime_unlimited(host: Host, _rule: Rule) -> Verdicts:
    """Find real-time tasks that may take a CPU for ever."""
    node = host.facts.node
    if not isinstance(node.rt_runtime_usec, Unlimited) or fair_server_guards(node):
        return
    yield Hit(
        message="kernel.sched_rt_runtime_us is -1: a real-time task can starve every other task",
        evidence=(
            Evidence(
                label="kernel.sched_rt_runtime_us",
                value="-1",
                source=node.source("sched_rt_runtime_us"),
            ),
        ),
    )


@check(Host)
def irq_on_isolated_cpus(host: Host, _rule: Rule) -> Verdicts:
    """Find interrupts that may be delivered to CPUs set apart on the kernel command line."""
    node = host.facts.node
    if isinstance(node.isolation, Missing):
        yield Skip(node.isolation.reason)
        return
    isolated = {*node.isolation.isolcpus, *node.isolation.nohz_full}
    intruding = [irq for irq in node.irqs if isolated & set(_delivered_to(irq))]
    if not intruding:
        return
    names = ", ".join(f"{irq.number} ({irq.name})" for irq in intruding[:5])
    yield Hit(
        message=(
            f"{len(intruding)} interrupts may run on the isolated CPUs"
            f" {format_cpu_list(tuple(sorted(isolated)))}: {names}"
        ),
        evidence=tuple(
            Evidence(
                label=f"IRQ {irq.number} ({irq.name})",
                value=format_cpu_list(_delivered_to(irq)),
                unit="cpus",
                source=node.source(f"/irq/{irq.number}/smp_affinity_list"),
            )
            for irq in intruding
        ),
    )


def _delivered_to(irq: Irq) -> CpuList:
    """Return the CPUs that take an interrupt now; those that may, where the kernel does not tell.

    The kernel keeps a managed interrupt off isolated CPUs although its affinity names them; one
    that is delivered to no CPU is shut down.
    """
    effective = irq.effective_cpus
    return irq.cpus if isinstance(effective, Missing) else effective


@check(Workload)
def cpuset_spans_numa(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a pinned set of CPUs, nobody else's, on more than one NUMA node."""
    group, node = workload.cgroup, workload.node
    if isinstance(group, Missing) or isinstance(group.cpus, Missing):
        return
    touched = [i for i, numa in enumerate(node.numa_nodes) if set(group.cpus) & set(numa)]
    if len(touched) < 2 or not has_cpus_to_itself(workload):  # noqa: PLR2004
        return
    yield Hit(
        message=(
            f"pinned to CPUs {format_cpu_list(group.cpus)}, which lie on {len(touched)} NUMA"
            f" nodes ({', '.join(map(str, touched))})"
        ),
        evidence=(
            Evidence(label="CPUs of the cpuset", value=format_cpu_list(group.cpus), unit="cpus"),
            *(
                Evidence(
                    label=f"CPUs of NUMA node {i}",
                    value=format_cpu_list(node.numa_nodes[i]),
                    unit="cpus",
                )
                for i in touched
            ),
        ),
    )


@check(Host)
def kernel_slice_expiry(host: Host, _rule: Rule) -> Verdicts:
    """Find a kernel whose unused CPU slices expire, and a group that stalls below its quota."""
    release = host.facts.node.kernel_release
    expires = slices_expire(release)
    if isinstance(expires, Missing):
        yield Skip(expires.reason)
        return
    unspent = [(w, share) for w in host.workloads if (share := _unspent(w)) is not None]
    if not expires or not unspent:
        return
    worst, spent = min(unspent, key=lambda pair: pair[1].used_usec / pair[1].quota_usec)
    cpus = len(host.facts.node.cpus_online)
    yield Hit(
        message=(
            f"kernel {release} throttles groups below their quota: {worst.name} was throttled in"
            f" {spent.periods} periods that allow {format_usec(spent.quota_usec)}, and used"
            f" {format_usec(spent.used_usec)}; up to 1 ms per CPU and period expires unused,"
            f" {cpus} ms on {cpus} CPUs"
        ),
        evidence=(
            Evidence(label="kernel release", value=release),
            Evidence(label="workloads throttled below", value=len(unspent), unit="workloads"),
        ),
    )


class _Spent(NamedTuple):
    """What a group used, and what the periods in which it was throttled allow alone."""

    periods: int
    used_usec: int
    quota_usec: int


def _unspent(workload: Workload) -> _Spent | None:
    """Return how far below its quota a group was throttled, or None if it was not.

    A throttled period is one whose quota was handed out. Without expiry that is used up, but for
    one slice on each CPU and the period in which the reading fell.
    """
    limit, window = workload.limit, workload.counters
    if not isinstance(limit, Bandwidth) or isinstance(window, Missing):
        return None
    throttled, used = window.throttled_periods, window.usage_usec
    if isinstance(throttled, Missing) or isinstance(used, Missing):
        return None
    on_loan = SLICE_USEC * len(workload.node.cpus_online) + limit.quota_usec
    spent = _Spent(throttled, used, throttled * limit.quota_usec)
    return spent if used + on_loan < spent.quota_usec else None
