"""What a pod's containers ask of the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quota_advisor.derive.kubernetes.amounts import cpu_amount, memory_amount
from quota_advisor.derive.kubernetes.namespaces import is_sure, settings_for
from quota_advisor.derive.kubernetes.qos import (
    MILLI,
    Need,
    QosClass,
    guarantee_gaps,
    kubelet_limit,
    most_millicores,
    qos_class,
)
from quota_advisor.derive.lazy import derived
from quota_advisor.derive.thread_counts import ThreadCount, thread_counts
from quota_advisor.model.lint import LintContext
from quota_advisor.model.manifest import (
    Container,
    LimitRange,
    Pod,
    ResourceRef,
    Resources,
    Role,
    Scalar,
    WrongShape,
)
from quota_advisor.model.source import Location
from quota_advisor.records import NamedTuple, dataclass
from quota_advisor.sim.stall import Stall, worst_stall

CONTAINER_WORDS = {
    Role.APP: "container",
    Role.INIT: "init container",
    Role.SIDECAR: "sidecar",
    Role.EPHEMERAL: "ephemeral container",
}


_MAY_BE_EMPTY = (".resources", ".limits", ".requests")


class BadAmount(NamedTuple):
    """A CPU amount that the API refuses, and why."""

    what: str
    at: Scalar
    reason: str


class ContainerCpu(NamedTuple):
    """CPU request and limit of one container, in millicores, the API's defaults applied.

    Attributes:
        request: None for no request; zero only where zero is written.
        request_at: Where it is written; None where it comes from the limit or a LimitRange.
        limit: None for no limit. A limit of zero is none: the kubelet sets no quota for it.
        limit_at: Where it is written; None where a LimitRange gives it.
        cap: The tighter one of its own limit and the pod's; None for neither.
    """

    container: Container
    request: int | None
    request_at: Scalar | None
    limit: int | None
    limit_at: Scalar | None
    cap: int | None

    @property
    def label(self) -> str:
        """How a message names it."""
        return label(self.container)

    @property
    def states_limit(self) -> bool:
        """Whether there is a limit, of zero or more, to the API; to the kubelet zero is none."""
        return self.limit_at is not None or self.limit is not None

    @property
    def runs_all_the_time(self) -> bool:
        """Whether it is no plain init container."""
        return self.container.role is not Role.INIT


WrittenLimit = tuple[ContainerCpu | None, int, Scalar]
"""A limit in millicores with its place; of the pod as a whole where there is no container."""


@dataclass(eq=False)
class PodCpu:
    """A pod with its amounts read; ephemeral containers, which cannot have any, are left out.

    Attributes:
        limit_range: The one that surely is of the pod's namespace and gives what containers do not
            state; None for what is only a part.
        pod_request: Of the pod-level resources as written; pod_limit likewise.
        bad: Amounts that cannot be read; they count as absent everywhere else.
    """

    pod: Pod
    context: LintContext
    limit_range: LimitRange | None
    containers: tuple[ContainerCpu, ...]
    pod_request: int | None
    pod_limit: int | None
    bad: tuple[BadAmount, ...]

    @property
    def pod_limit_at(self) -> Scalar | None:
        """Where the pod-level limit is written."""
        return self.pod.resources.limits.get("cpu")

    @property
    def pod_request_at(self) -> Scalar | None:
        """Where the pod-level request is written."""
        return self.pod.resources.requests.get("cpu")

    @derived
    def held(self) -> list[tuple[ContainerCpu, int, tuple[ThreadCount, ...]]]:
        """The containers that run all the time under a limit, their own or the pod's.

        With the limit in millicores and the threads that they are told to run. None of those on
        Windows, whose limits are no quotas.
        """
        if self.pod.windows:
            return []
        return [
            (cpu, cpu.cap, thread_counts(cpu.container.env, cpu.container.command))
            for cpu in self.containers
            if cpu.cap and cpu.container.role is not Role.INIT
        ]

    @derived
    def limit_refs(self) -> list[tuple[str, ResourceRef, Container | None]]:
        """What takes a CPU limit from the downward API, variables first, then files; by name."""
        found: list[tuple[str, ResourceRef, Container | None]] = []
        for container in self.pod.containers:
            for name, value in container.env.items():
                if type(value) is ResourceRef and value.resource == "limits.cpu":
                    found.append((name, value, container))
        for path, ref in self.pod.volume_refs.items():
            if ref.resource == "limits.cpu":
                found.append((path, ref, None))
        return found

    @derived
    def unsure_range(self) -> LimitRange | None:
        """A LimitRange that fills in what containers do not state if it is of their namespace."""
        ranges = self.context.limit_ranges
        return _with_defaults(self.pod, ranges, sure=False) if ranges else None

    @derived
    def written_limits(self) -> tuple[WrittenLimit, ...]:
        """Each limit in the file, pod-level ones last."""
        own = tuple(
            (cpu, cpu.limit, cpu.limit_at)
            for cpu in self.containers
            if cpu.limit_at is not None and cpu.limit is not None
        )
        if self.pod_limit is None or self.pod_limit_at is None:
            return own
        return (*own, (None, self.pod_limit, self.pod_limit_at))

    @derived
    def needs(self) -> tuple[Need, ...]:
        """What each container asks for, memory included."""
        return tuple(_need(cpu) for cpu in self.containers)

    @derived
    def containers_request(self) -> int:
        """What the containers ask for together at most, in millicores; zero for nothing."""
        return most_millicores(self.needs)

    @derived
    def pod_need(self) -> Need | None:
        """The pod-level resources with their defaults, None where there are none."""
        stanza = self.pod.resources
        if not stanza.requests and not stanza.limits:
            return None
        memory = [n.memory_request for n in self.needs if n.memory_request]
        memory_limit = _memory(stanza.limits.get("memory"))
        memory_request = _memory(stanza.requests.get("memory"))
        return Need(
            "the pod",
            None,
            self.pod_request or self.containers_request or self.pod_limit,
            self.pod_limit,
            memory_request or sum(memory) or memory_limit,
            memory_limit,
        )

    @derived
    def total_request(self) -> int:
        """What the pod asks for as a whole, in millicores; zero for nothing."""
        if self.pod_need is not None:
            return self.pod_need.cpu_request or 0
        return self.containers_request

    @derived
    def total_limit(self) -> int:
        """What the pod may use as a whole, in millicores; zero where nothing limits anything.

        Containers without a limit do not count, as for LimitRange and ResourceQuota.
        """
        if self.pod_limit is not None:
            return self.pod_limit
        return most_millicores([n._replace(cpu_request=n.cpu_limit) for n in self.needs])

    @derived
    def qos(self) -> QosClass:
        """The pod's class of service."""
        return qos_class(self.needs, self.pod_need)

    @derived
    def gaps(self) -> tuple[str, ...]:
        """What keeps the pod from the class Guaranteed."""
        return tuple(guarantee_gaps(self.needs, self.pod_need))

    @property
    def has_pod_level_cpu(self) -> bool:
        """Whether the pod as a whole has a request, its own or from its limit."""
        return self.pod_request is not None or self.pod_limit is not None

    def is_unknown(self, cpu: ContainerCpu) -> bool:
        """Whether something stands there that cannot be read, which other rules tell."""
        path = f"{cpu.container.path}.resources"
        for wrong in self.pod.wrong_shapes:
            if wrong.path.startswith(path) and not is_harmless(wrong):
                return True
        return any(bad.at in (cpu.limit_at, cpu.request_at) for bad in self.bad)

    def cap_at(self, cpu: ContainerCpu) -> Scalar | None:
        """Return where the tighter one of a container's own limit and the pod's is written."""
        is_pods = self.pod_limit is not None and cpu.limit != cpu.cap
        return self.pod_limit_at if is_pods else cpu.limit_at or self.pod_limit_at

    def at(self, scalar: Scalar | None, cpu: ContainerCpu | None = None) -> Location:
        """Return the place of a value, or of the resources that it is missing from."""
        if scalar is not None:
            return self.pod.at(scalar)
        return self.pod.at(self.pod.place if cpu is None else cpu.container.resources.place)

    @property
    def node_cpus(self) -> int | None:
        """The CPUs of the node, None where its size is not known."""
        node = self.context.node_millicores
        return None if node is None else max(node // MILLI, 1)

    def cpus_for(self, threads: int) -> int:
        """Return the CPUs that threads can run on: of the node, or enough if it is not known."""
        return self.node_cpus or threads

    def stall(self, millicores: int, threads: int) -> Stall | None:
        """Return what a limit does to threads that are all busy."""
        return worst_stall(kubelet_limit(millicores), threads, self.cpus_for(threads))


def derive_pod_cpu(pod: Pod, context: LintContext) -> PodCpu:
    """Return what a pod's containers ask of the CPU."""
    bad: list[BadAmount] = []
    ranges = context.limit_ranges
    limit_range = _with_defaults(pod, ranges, sure=True) if ranges else None
    stanza = pod.resources
    pod_limit = pod_request = None
    if stanza.limits or stanza.requests:
        pod_limit = _amount(stanza.limits.get("cpu"), "pod-level CPU limit", bad) or None
        pod_request = _amount(stanza.requests.get("cpu"), "pod-level CPU request", bad)
    containers = tuple(
        _container(container, limit_range, pod_limit, bad)
        for container in pod.containers
        if container.role is not Role.EPHEMERAL
    )
    return PodCpu(pod, context, limit_range, containers, pod_request, pod_limit, tuple(bad))


_BATCH_KINDS = frozenset(("CronJob", "Job"))
_HOOKS = frozenset(("argocd.argoproj.io/hook", "helm.sh/hook"))


def ends_by_itself(pod: Pod) -> bool:
    """Whether a pod does something once, and is gone then: nobody waits for its answers.

    Source: the annotations by which Helm ("Chart Hooks") and Argo CD ("Resource Hooks") know
    their hooks.
    """
    if pod.kind in _BATCH_KINDS or not _HOOKS.isdisjoint(pod.annotations):
        return True
    return pod.kind == "Pod" and pod.restart_policy == "Never"


def is_harmless(wrong: WrongShape) -> bool:
    """Whether the API takes an empty key for one that is not there."""
    return wrong.found == "nothing" and wrong.path.endswith(_MAY_BE_EMPTY)


def label(container: Container) -> str:
    """Return how a message names a container."""
    if container.role is Role.MADE:
        return f"a container with {container.name!r}"
    return f"{CONTAINER_WORDS[container.role]} {container.name!r}"


def _with_defaults(
    pod: Pod, by_namespace: Mapping[str, Sequence[LimitRange]], *, sure: bool
) -> LimitRange | None:
    """Return the LimitRange that fills in, with what another one adds to it: all of them do."""
    if pod.partial:
        return None  # what a patch does not say may stand elsewhere
    ranges = [
        limit_range
        for limit_range in settings_for(pod, by_namespace)
        if is_sure(pod, limit_range) is sure
    ]
    limits = next((r for r in ranges if r.default_limit is not None), None)
    requests = next((r for r in ranges if r.default_request is not None), None)
    if limits is None or requests is None:
        return limits or requests
    return limits._replace(default_request=requests.default_request)


def _container(
    container: Container,
    limit_range: LimitRange | None,
    pod_limit: int | None,
    bad: list[BadAmount],
) -> ContainerCpu:
    """Apply defaults in the API's order: limit to request first, a LimitRange after it."""
    resources = container.resources
    limit_at = resources.limits.get("cpu")
    request_at = resources.requests.get("cpu")
    limit = request = None
    if limit_at is not None:
        limit = _amount(limit_at, "CPU limit", bad, container)
    if request_at is not None:
        request = _amount(request_at, "CPU request", bad, container)
    if request_at is None:
        request = limit
    if limit_range is not None:
        limit, request = _defaulted(limit_range, resources, limit, request)
    limit = limit or None
    caps = limit if pod_limit is None else min(limit or pod_limit, pod_limit)
    return ContainerCpu(container, request, request_at, limit, limit_at, caps)


def _defaulted(
    limit_range: LimitRange, resources: Resources, limit: int | None, request: int | None
) -> tuple[int | None, int | None]:
    """Return limit and request with a LimitRange's in place of those that are not written."""
    if "cpu" not in resources.limits:
        limit = _amount(limit_range.default_limit, "", [])
    if request is None and "cpu" not in resources.requests:
        request = _amount(limit_range.default_request, "", [])
    return limit, request


def _amount(
    scalar: Scalar | None, what: str, bad: list[BadAmount], container: Container | None = None
) -> int | None:
    if scalar is None:
        return None
    amount = cpu_amount(scalar)
    if isinstance(amount, str):
        whose = f"{what} of {label(container)}" if container else what
        bad.append(BadAmount(whose, scalar, amount))
        return None
    return amount


def _need(cpu: ContainerCpu) -> Need:
    resources = cpu.container.resources
    memory_limit = _memory(resources.limits.get("memory"))
    memory_request = _memory(resources.requests.get("memory"))
    if memory_request is None:
        memory_request = memory_limit
    role = cpu.container.role
    return Need(cpu.label, role, cpu.request, cpu.limit, memory_request, memory_limit)


def _memory(scalar: Scalar | None) -> int | None:
    return None if scalar is None else memory_amount(scalar)
