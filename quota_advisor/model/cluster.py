"""What a Kubernetes cluster tells of its pods: as they run, not as somebody once wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from quota_advisor.model.advice import Advice, Decision
from quota_advisor.model.cgroup import CounterWindow, Demand
from quota_advisor.model.finding import Subject
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import LimitRange, Pod, ResourceQuota, qualified
from quota_advisor.model.problem import Problem
from quota_advisor.records import dataclass

_NOT_ASKED = Missing(reason="not asked for: --nodes-proxy or --kubelet-config")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Owner:
    """What a pod belongs to in the end: a Deployment, not its ReplicaSet; the pod where alone.

    Attributes:
        namespace: Of both.
        kind: ``Deployment``, ``StatefulSet``, ``CronJob``, ``Rollout`` …
        name: Its name.
    """

    namespace: str
    kind: str
    name: str

    @property
    def subject(self) -> Subject:
        """What a finding about it names."""
        return Subject(kind=self.kind, name=qualified(self.namespace, self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """CPU of one container as the kubelet holds it, which a resize may have changed.

    Attributes:
        request_millicores: In ``status.containerStatuses[].resources``; None for no request.
        limit_millicores: Likewise.
        stated: The status tells: clusters from 1.33 on; else these are the values of the spec.
    """

    request_millicores: int | None
    limit_millicores: int | None
    stated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What one container, or a pod as a whole, did over a span of time.

    Attributes:
        source: Who measured it: ``Prometheus``, ``metrics-server``.
        demand: CPU use over windows, or why there is none.
        counters: Periods and throttled periods, or why there are none.
        now_cores: CPU use of the last moments, where that is all that the source has: nothing to
            size from.
    """

    source: str
    demand: Demand | Missing
    counters: CounterWindow | Missing
    now_cores: float | Missing = Missing(reason="the source has a history")


POD_AS_A_WHOLE = ""
"""In place of a container's name: the pod's own cgroup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePod:
    """One pod that runs.

    Attributes:
        pod: Its spec as lint reads it; kind and name are those of the owner.
        name: Of the pod itself.
        uid: Of the pod, by which the node names its cgroup.
        node: The node that it runs on; empty while it waits for one.
        phase: ``Pending``, ``Running`` …
        qos_class: As the API server computed it.
        applied: CPU of its containers by name, as they run.
        resize: What keeps a wanted size from coming true, or what is missing to it; empty for
            nothing.
        generation: Counts the changes of its spec, which a resize is one of; 0 where the API does
            not count them (before Kubernetes 1.33).
        use: What was measured of its containers by name, and of :data:`POD_AS_A_WHOLE`.
    """

    pod: Pod
    name: str
    uid: str
    node: str
    phase: str
    qos_class: str
    applied: Mapping[str, Applied]
    resize: str = ""
    generation: int = 0
    use: Mapping[str, Use] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWorkload:
    """Pods of one owner that ask for the same: replicas.

    Attributes:
        owner: What they belong to.
        pods: All of them, by name.
        template: CPU of each container as the owner asks for it; missing where it has no template
            that can be read.
    """

    owner: Owner
    pods: tuple[LivePod, ...]
    template: Mapping[str, Applied] | Missing = Missing(reason="its owner was not read")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletSettings:
    """What a kubelet is set to.

    Attributes:
        by_path: Every scalar by its dotted path, as lint names settings.
    """

    by_path: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """One node.

    Attributes:
        name: Its name.
        allocatable_millicores: CPU for pods; missing where it says none.
        capacity_millicores: All its CPUs.
        os: ``linux`` or ``windows``.
        kernel: ``uname -r``.
        runtime: Container runtime and version.
        kubelet: Version as ``(1, 33)``; missing where it cannot be read.
        is_virtual: No machine of its own: a virtual kubelet, which holds nobody to a quota.
        configuration: Settings of its kubelet, or why they are not known.
    """

    name: str
    allocatable_millicores: int | Missing
    capacity_millicores: int | Missing
    os: str
    kernel: str
    runtime: str
    kubelet: tuple[int, int] | Missing
    is_virtual: bool
    configuration: KubeletSettings | Missing = _NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaler:
    """A HorizontalPodAutoscaler or VerticalPodAutoscaler that acts on CPU.

    Attributes:
        kind: Which.
        name: Its name.
        target: What it scales.
        utilization_percent: Of the request that an HPA aims at; None for none.
        mode: Update mode of a VPA: ``Off``, ``Auto`` …; empty for an HPA.
    """

    kind: str
    name: str
    target: Owner
    utilization_percent: int | None
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """What was read of one cluster.

    Attributes:
        context: Name in the kubeconfig; ``in-cluster`` for none.
        version: Of the API server, ``(1, 33)``.
        taken_at: When, in ISO 8601.
        workloads: Pods by their owners.
        nodes: By name; missing where they may not be read.
        limit_ranges: Those about CPU.
        resource_quotas: Likewise.
        autoscalers: Those about CPU.
        problems: What was asked for and could not be read.
    """

    context: str
    version: tuple[int, int] | Missing
    taken_at: str
    workloads: tuple[LiveWorkload, ...]
    nodes: Mapping[str, ClusterNode] | Missing
    limit_ranges: tuple[LimitRange, ...]
    resource_quotas: tuple[ResourceQuota, ...]
    autoscalers: tuple[Autoscaler, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAdvice:
    """What a container's CPU request should be.

    Attributes:
        decision: Whether it changes, and in which direction.
        millicores: The request that its use calls for.
        formula: The arithmetic with its numbers.
    """

    decision: Decision
    millicores: int
    formula: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedContainer:
    """One container of a workload, all replicas together: a row of the table.

    Attributes:
        owner: The workload.
        name: Of the container.
        pods: Number of replicas that ask for the same.
        request_millicores: Now; None for none.
        limit_millicores: Now; None for none.
        worst_pod: The replica of which ``use`` tells; empty where nothing was measured.
        use: Of the replica that is throttled most, and among equals uses most.
        request: What was decided about its request, or why nothing could be.
        limit: What was decided about its limit, likewise.
    """

    owner: Owner
    name: str
    pods: int
    request_millicores: int | None
    limit_millicores: int | None
    worst_pod: str
    use: Use | Missing
    request: RequestAdvice | Missing
    limit: Advice | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The facts of one cluster with what was decided about its containers."""

    facts: ClusterFacts
    containers: tuple[AdvisedContainer, ...]
