"""Rules about the machine."""

from __future__ import annotations

import re

from quota_advisor.model.finding import Evidence
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited
from quota_advisor.model.node import CpuList, Irq
from quota_advisor.model.workload import Host, Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import format_cpu_list

FIRST_KERNEL_WITH_EXPIRY = (3, 16)
FIRST_KERNEL_WITHOUT_EXPIRY = (5, 4)


@check(Host)
def rt_runtime_unlimited(host: Host, _rule: Rule) -> Verdicts:
    """Find real-time tasks that may take a CPU for ever."""
    if not isinstance(host.facts.node.rt_runtime_usec, Unlimited):
        return
    yield Hit(
        message="kernel.sched_rt_runtime_us is -1: a real-time task can starve every other task",
        evidence=(
            Evidence(
                label="kernel.sched_rt_runtime_us",
                value="-1",
                source=host.facts.node.source("sched_rt_runtime_us"),
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

    The kernel keeps a managed interrupt off isolated CPUs although its affinity names them.
    """
    effective = irq.effective_cpus
    return irq.cpus if isinstance(effective, Missing) or not effective else effective


@check(Workload)
def cpuset_spans_numa(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a pinned set of CPUs on more than one NUMA node."""
    group, node = workload.cgroup, workload.node
    if isinstance(group, Missing) or isinstance(group.cpus, Missing) or not group.cpus:
        return
    cpus = set(group.cpus)
    above = [set(a.cpus) for a in workload.ancestors if isinstance(a.cpus, tuple) and a.cpus]
    inherited = bool(above) and above[0] <= cpus
    touched = [i for i, numa in enumerate(node.numa_nodes) if cpus & set(numa)]
    if cpus >= set(node.cpus_online) or inherited or len(touched) < 2:  # noqa: PLR2004
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
    """Find a kernel whose unused CPU slices expire, so that groups stall below their quota."""
    release = host.facts.node.kernel_release
    version = re.match(r"(\d+)\.(\d+)", release)
    if version is None:
        yield Skip(f"kernel release {release!r} has no version number")
        return
    number = (int(version[1]), int(version[2]))
    limited = [w for w in host.workloads if isinstance(w.limit, Bandwidth)]
    if not FIRST_KERNEL_WITH_EXPIRY <= number < FIRST_KERNEL_WITHOUT_EXPIRY or not limited:
        return
    cpus = len(host.facts.node.cpus_online)
    yield Hit(
        message=(
            f"kernel {release} may throttle groups that stay below their quota: up to 1 ms per CPU"
            f" and period expires unused, {cpus} ms on {cpus} CPUs"
        ),
        evidence=(
            Evidence(label="kernel release", value=release),
            Evidence(label="workloads with a quota", value=len(limited), unit="workloads"),
        ),
    )
