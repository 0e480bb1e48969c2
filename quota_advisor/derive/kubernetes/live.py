"""A workload as it runs in a cluster, with what scales it: what rules about running pods judge."""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.derive.kubernetes.qos import is_whole
from quota_advisor.derive.lazy import derived
from quota_advisor.model.cluster import Autoscaler, ClusterFacts, LivePod, LiveWorkload
from quota_advisor.model.finding import Subject
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import ResourceRef
from quota_advisor.records import dataclass

STATIC = "static"


@dataclass(eq=False)
class LiveCase:
    """A workload with the cluster around it."""

    workload: LiveWorkload
    facts: ClusterFacts

    @property
    def subject(self) -> Subject:
        """What a finding about the workload names."""
        return self.workload.owner.subject

    @derived
    def autoscalers(self) -> tuple[Autoscaler, ...]:
        """What scales it."""
        owner = self.workload.owner
        return tuple(a for a in self.facts.autoscalers if a.target == owner)

    def first(self, kind: str) -> Autoscaler | None:
        """Return the first autoscaler of a kind, None for none."""
        return next((a for a in self.autoscalers if a.kind == kind), None)

    @derived
    def stuck(self) -> tuple[LivePod, ...]:
        """Pods of which a wanted size did not come true."""
        return tuple(pod for pod in self.workload.pods if pod.resize)

    def without_request(self) -> list[str]:
        """Return the names of containers for which nobody keeps any CPU."""
        found = (
            name
            for pod in self.workload.pods
            if not pod.pod.resources.requests
            for name, applied in pod.applied.items()
            if applied.request_millicores is None and applied.limit_millicores is None
        )
        return list(dict.fromkeys(found))

    def by_policy(self) -> tuple[list[LivePod], list[LivePod]]:
        """Return pods that could have CPUs of their own: with a static CPU manager, and without.

        None of those on nodes of which the settings are not known.
        """
        nodes = {} if isinstance(self.facts.nodes, Missing) else self.facts.nodes
        found: tuple[list[LivePod], list[LivePod]] = ([], [])
        for pod in self.workload.pods:
            node = nodes.get(pod.node)
            if node is None or isinstance(node.configuration, Missing):
                continue
            if self._may_be_exclusive(pod):
                is_static = node.configuration.by_path.get("cpuManagerPolicy") == STATIC
                found[not is_static].append(pod)
        return found

    @staticmethod
    def _may_be_exclusive(pod: LivePod) -> bool:
        amounts = pod.applied.values()
        return pod.qos_class == "Guaranteed" and any(
            is_whole(a.request_millicores) for a in amounts
        )

    @derived
    def added_limits(self) -> tuple[tuple[str, int], ...]:
        """Containers whose limit the owner does not ask for, with the limit in millicores."""
        template = self.workload.template
        if isinstance(template, Missing):
            return ()
        found: dict[str, int] = {}
        for pod in self.workload.pods:
            for name, applied in pod.applied.items():
                asked = template.get(name)
                is_added = asked is not None and asked.limit_millicores is None
                # What a resize did is not admission's doing.
                if is_added and applied.limit_millicores and pod.generation <= 1:
                    found.setdefault(name, applied.limit_millicores)
        return tuple(found.items())

    def counts_from_limit(self) -> Iterator[tuple[LivePod, str, str]]:
        """Yield pods that were resized, with container and variable taken from its CPU limit."""
        for pod in self.workload.pods:
            if pod.generation <= 1:
                continue
            for container in pod.pod.containers:
                for name, value in container.env.items():
                    if isinstance(value, ResourceRef) and value.resource == "limits.cpu":
                        yield pod, container.name, name
