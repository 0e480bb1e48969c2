"""The machine: kernel, CPUs, isolation, pressure."""

from __future__ import annotations

from enum import StrEnum

from quota_advisor.model.limit import Missing, Unlimited
from quota_advisor.model.source import Source
from quota_advisor.records import dataclass

CpuList = tuple[int, ...]

_NOT_TOLD = Missing(reason="not told by the kernel")


class CgroupLayout(StrEnum):
    """Where the CPU controller lives."""

    V1 = "v1"
    V2 = "v2"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFeatures:
    """What this kernel's bandwidth control can do, found by probing files, not versions.

    Missing means that no file could tell, for instance because there is no cgroup but the root.

    Attributes:
        burst: There is a burst file.
        stat_local: There is ``cpu.stat.local``.
        cgroup_pressure: There is ``cpu.pressure`` for each cgroup.
        cpu_controller: The top of the hierarchy has the CPU controller to hand on.
        cfs_bandwidth: Built with CONFIG_CFS_BANDWIDTH.
        rt_group_sched: Built with CONFIG_RT_GROUP_SCHED.
    """

    burst: bool | Missing
    stat_local: bool | Missing
    cgroup_pressure: bool | Missing
    cpu_controller: bool | Missing = _NOT_TOLD
    cfs_bandwidth: bool | Missing = _NOT_TOLD
    rt_group_sched: bool | Missing = _NOT_TOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Irq:
    """One interrupt line that a driver listens to.

    Attributes:
        number: Number of the line.
        name: Driver or device as it registered.
        cpus: CPUs that it may be delivered to (``smp_affinity_list``).
        effective_cpus: CPUs that it is delivered to at present; the kernel keeps managed
            interrupts off isolated CPUs by this alone.
    """

    number: int
    name: str
    cpus: CpuList
    effective_cpus: CpuList | Missing = _NOT_TOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """CPUs that the kernel command line sets apart; empty where the option is not given.

    Attributes:
        isolcpus: CPUs of ``isolcpus=``, whatever its flags.
        nohz_full: CPUs of ``nohz_full=`` and of ``isolcpus=nohz,…``.
        rcu_nocbs: CPUs of ``rcu_nocbs=``.
    """

    isolcpus: CpuList
    nohz_full: CpuList
    rcu_nocbs: CpuList


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureShare:
    """Share of wall time over the window in which some, or all, tasks waited for a resource."""

    some_ratio: float
    full_ratio: float | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """The machine that the cgroups live on.

    Attributes:
        kernel_release: ``uname -r``; empty where no kernel runs (an image).
        systemd_version: Version text of the running manager, or why it is not known.
        layout: Where the CPU controller lives, or why none was found.
        features: What bandwidth control can do here.
        cpus_online: CPUs in use; empty where no kernel runs.
        thread_siblings: Groups of CPUs that share a core.
        numa_nodes: CPUs of each NUMA node that has any, in node order.
        tick_hz: Timer tick frequency.
        isolation: CPUs set apart on the kernel command line.
        irqs: Interrupt lines with their CPUs.
        rt_runtime_usec: ``kernel.sched_rt_runtime_us``; unlimited for -1.
        rt_period_usec: ``kernel.sched_rt_period_us``.
        fair_server: Whether the kernel's server for normal tasks has run time on every CPU
            (``/sys/kernel/debug/sched/fair_server``).
        steal_ratio: Share of CPU time over the window that the hypervisor gave to others.
        busy_ratio: Share of CPU time over the window that was used.
        cpu_pressure, io_pressure, memory_pressure: Host pressure over the window.
        disabled_controllers: Controllers of ``cgroup_disable=`` on the kernel command line.
        sources: Where these were read.
    """

    kernel_release: str
    systemd_version: str | Missing
    layout: CgroupLayout | Missing
    features: KernelFeatures
    cpus_online: CpuList
    thread_siblings: tuple[CpuList, ...]
    numa_nodes: tuple[CpuList, ...]
    tick_hz: int | Missing
    isolation: Isolation | Missing
    irqs: tuple[Irq, ...]
    rt_runtime_usec: int | Unlimited | Missing
    rt_period_usec: int | Missing
    steal_ratio: float | Missing
    busy_ratio: float | Missing
    cpu_pressure: PressureShare | Missing
    io_pressure: PressureShare | Missing
    memory_pressure: PressureShare | Missing
    fair_server: bool | Missing = _NOT_TOLD
    disabled_controllers: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()

    def source(self, suffix: str) -> Source | None:
        """Return where a file whose path ends in ``suffix`` was read, if it was."""
        return next((s for s in self.sources if s.locator.endswith(suffix)), None)
