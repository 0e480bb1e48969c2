"""A container that runs in a cluster as what the rules about running workloads judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from quota_advisor.derive.bounds import deflated, lower_bound_ratio
from quota_advisor.derive.kubernetes.amounts import cpu_amount
from quota_advisor.derive.kubernetes.qos import MILLI, kubelet_limit
from quota_advisor.model.cgroup import CgroupFacts, Container, CpuCounters, Engine
from quota_advisor.model.cluster import (
    POD_AS_A_WHOLE,
    Applied,
    ClusterFacts,
    ClusterNode,
    LivePod,
    Use,
)
from quota_advisor.model.limit import CpuLimit, Missing, Unlimited
from quota_advisor.model.manifest import Amounts
from quota_advisor.model.node import KernelFeatures, NodeFacts
from quota_advisor.model.source import Source, SourceKind
from quota_advisor.model.workload import Workload
from quota_advisor.records import NamedTuple

NOT_FROM_HERE = Missing(reason="a cluster does not tell")
NOT_MEASURED = Missing(reason="nothing measured it: name a Prometheus with --prometheus")


class Replica(NamedTuple):
    """One container of one pod.

    Attributes:
        pod: The pod.
        name: Of the container.
        applied: Its CPU as it runs.
        use: What was measured of it, or why nothing was.
    """

    pod: LivePod
    name: str
    applied: Applied
    use: Use | Missing

    @property
    def throttled_bound_ratio(self) -> float:
        """Lower bound of the throttled share of its periods; 0 where nothing was counted."""
        counters = self.use if isinstance(self.use, Missing) else self.use.counters
        if isinstance(counters, Missing) or isinstance(counters.throttled_ratio, Missing):
            return 0.0
        hits, trials = counters.throttled_periods, counters.periods
        if isinstance(hits, Missing) or isinstance(trials, Missing):
            return 0.0
        return lower_bound_ratio(*deflated(hits, trials, counters.throttled_correlation_ratio))

    @property
    def peak_cores(self) -> float:
        """Its peak, or its use of the last moments; 0 where neither was measured."""
        if isinstance(self.use, Missing):
            return 0.0
        demand, now = self.use.demand, self.use.now_cores
        if isinstance(demand, Missing):
            return 0.0 if isinstance(now, Missing) else now
        return demand.p95_cores


def replicas(pods: Sequence[LivePod], name: str) -> Iterator[Replica]:
    """Yield one container of each pod that has it."""
    for pod in pods:
        if name in pod.applied:
            yield Replica(pod, name, pod.applied[name], pod.use.get(name, NOT_MEASURED))


WHOLE = "(pod)"
"""How the pod as a whole is called among its containers: no container can have such a name."""


def pods_as_a_whole(pods: Sequence[LivePod]) -> Iterator[Replica]:
    """Yield the own cgroup of each pod that has a limit for all of its containers together."""
    for pod in pods:
        limit = _amount(pod.pod.resources.limits)
        if limit is not None:
            applied = Applied(
                request_millicores=_amount(pod.pod.resources.requests),
                limit_millicores=limit,
                stated=False,
            )
            yield Replica(pod, WHOLE, applied, pod.use.get(POD_AS_A_WHOLE, NOT_MEASURED))


def _amount(amounts: Amounts) -> int | None:
    written = amounts.get("cpu")
    amount = None if written is None else cpu_amount(written)
    return amount if isinstance(amount, int) else None


def worst(found: Sequence[Replica]) -> Replica:
    """Return the replica that is throttled most, and among equals the one that uses most."""
    return max(found, key=lambda r: (r.throttled_bound_ratio, r.peak_cores))


def workload_of(replica: Replica, name: str, facts: ClusterFacts) -> Workload:
    """Return a container in the terms of a host's workloads.

    Args:
        replica: The container.
        name: By which people know it.
        facts: Of its cluster.
    """
    nodes = {} if isinstance(facts.nodes, Missing) else facts.nodes
    node = nodes.get(replica.pod.node) or largest(nodes.values())
    return Workload(
        kind="container",
        name=name,
        cgroup=_group(replica),
        unit=None,
        ancestors=(),
        members=(),
        node=_node(node),
    )


def largest(nodes: Iterable[ClusterNode]) -> ClusterNode | None:
    """Return the largest machine, for what waits for a node or whose node is not known."""
    machines = [n for n in nodes if isinstance(n.capacity_millicores, int) and not n.is_virtual]
    return max(machines, key=_capacity, default=None)


def _capacity(node: ClusterNode) -> int:
    return node.capacity_millicores if isinstance(node.capacity_millicores, int) else 0


def limit_of(applied: Applied) -> CpuLimit:
    """Return the quota that the kubelet sets for a limit."""
    limit = applied.limit_millicores
    return Unlimited() if not limit else kubelet_limit(limit)


def _group(replica: Replica) -> CgroupFacts:
    use, pod = replica.use, replica.pod
    known = use if isinstance(use, Use) else None
    source = () if known is None else (_source(known),)
    return CgroupFacts(
        # No source names it as the node's driver does; nobody is shown this.
        path=f"/kubepods/pod{pod.uid}/{replica.name}",
        version=2,
        limit=limit_of(replica.applied),
        burst_usec=NOT_FROM_HERE,
        weight=NOT_FROM_HERE,
        cpus=NOT_FROM_HERE,
        processes=NOT_FROM_HERE,
        threads=NOT_FROM_HERE,
        commands=(),
        totals=_no_totals(),
        window=NOT_MEASURED if known is None else known.counters,
        demand=NOT_MEASURED if known is None else known.demand,
        container=Container(engine=Engine.KUBERNETES, id=pod.uid, name=replica.name),
        sources=source,
    )


def _source(use: Use) -> Source:
    return Source(kind=SourceKind.METRICS, locator=f"{use.source}/cpu.stat", raw="")


def _no_totals() -> CpuCounters:
    missing = NOT_FROM_HERE
    return CpuCounters(
        read_at_usec=0,
        usage_usec=missing,
        nr_periods=missing,
        nr_throttled=missing,
        throttled_usec=missing,
        nr_bursts=missing,
        burst_usec=missing,
        local_throttled_usec=missing,
        pressure_some_usec=missing,
        pressure_full_usec=missing,
    )


def _node(node: ClusterNode | None) -> NodeFacts:
    missing = NOT_FROM_HERE
    capacity = 0 if node is None else node.capacity_millicores
    cpus = capacity // MILLI if isinstance(capacity, int) else 0
    return NodeFacts(
        kernel_release="" if node is None else node.kernel,
        systemd_version=missing,
        layout=missing,
        features=KernelFeatures(burst=missing, stat_local=missing, cgroup_pressure=missing),
        cpus_online=tuple(range(cpus)),
        thread_siblings=(),
        numa_nodes=(),
        tick_hz=missing,
        isolation=missing,
        irqs=(),
        rt_runtime_usec=missing,
        rt_period_usec=missing,
        steal_ratio=missing,
        busy_ratio=missing,
        cpu_pressure=missing,
        io_pressure=missing,
        memory_pressure=missing,
    )
