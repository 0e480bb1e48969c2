"""Everything about CPU that one cluster tells, and what it refused to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from quota_advisor.collect.cluster.connection import Connection, RefusedError
from quota_advisor.collect.cluster.kubelets import with_settings
from quota_advisor.collect.cluster.metrics_server import GROUP, PodUse, read_pod_metrics
from quota_advisor.collect.cluster.objects import (
    read_hpa,
    read_node,
    read_setting,
    read_vpa,
    version_of,
)
from quota_advisor.collect.cluster.owners import Owners, read_between
from quota_advisor.collect.cluster.pages import METADATA_ONLY, Object, list_all
from quota_advisor.collect.cluster.pods import PodReader, by_owner, read_template
from quota_advisor.collect.cluster.shape import mapping
from quota_advisor.errors import CollectError
from quota_advisor.model.cluster import (
    Autoscaler,
    ClusterFacts,
    ClusterNode,
    KubeletSettings,
    LivePod,
    Owner,
)
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import LimitRange, ResourceQuota
from quota_advisor.model.problem import Problem
from quota_advisor.records import dataclass

_WITH_TEMPLATES = (
    ("Deployment", "/apis/apps/v1", "deployments"),
    ("StatefulSet", "/apis/apps/v1", "statefulsets"),
    ("DaemonSet", "/apis/apps/v1", "daemonsets"),
)
T = TypeVar("T")

_SETTINGS = (("LimitRange", "limitranges"), ("ResourceQuota", "resourcequotas"))
_BETWEEN = (("ReplicaSet", "/apis/apps/v1", "replicasets"), ("Job", "/apis/batch/v1", "jobs"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which part of a cluster to look at.

    Attributes:
        namespaces: These; all where there is none.
        excluded: Not these.
        selector: Pods with these labels, in kubectl's notation; all where empty.
        ask_kubelets: Ask each node for the settings of its kubelet, through the API server.
        kubelet_settings: Those of all nodes, where somebody knows them.
        ask_metrics: Ask metrics-server for the use of the last moments.
    """

    namespaces: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    selector: str = ""
    ask_kubelets: bool = False
    kubelet_settings: KubeletSettings | None = None
    ask_metrics: bool = True


class _Reading:
    """One look at a cluster; what could not be read is kept.

    Args:
        connection: To its API server.
        part: Of it to look at.
    """

    def __init__(self, connection: Connection, part: Part) -> None:
        self.connection = connection
        self.problems: list[Problem] = []
        self._part = part

    def namespaced(
        self,
        base: str,
        resource: str,
        read: Callable[[Object], T | None],
        *,
        accept: str = "",
        selector: str = "",
    ) -> list[T]:
        """Return what is read of objects in the namespaces that are looked at."""
        excluded = self._part.excluded

        def wanted(root: Object) -> T | None:
            return None if mapping(root, "metadata").get("namespace") in excluded else read(root)

        named = [f"namespaces/{quote(name, safe='')}/" for name in self._part.namespaces]
        found: list[T | None] = []
        for namespace in named or [""]:
            path = f"{base}/{namespace}{resource}"
            found += self.listed(path, wanted, accept=accept, selector=selector) or ()
        return [one for one in found if one is not None]

    def listed(
        self, path: str, read: Callable[[Object], T], *, accept: str = "", selector: str = ""
    ) -> list[T] | None:
        """Return what is read of the objects of a list; None where it is refused, which is kept."""
        try:
            return list_all(self.connection, path, read, selector=selector, accept=accept)
        except CollectError as error:
            self.problems.append(Problem(subject=path, reason=error.what, hint=error.hint))
            return None

    def has(self, group_version: str) -> bool:
        """Whether the server has a group of the API in a version."""
        try:
            self.connection.get(f"/apis/{group_version}")
        except RefusedError:
            return False
        return True


def collect(connection: Connection, part: Part) -> ClusterFacts:
    """Read one cluster.

    Args:
        connection: To its API server.
        part: Of it to look at.

    Raises:
        CollectError: The server cannot be reached or does not know who asks.
    """
    reading = _Reading(connection, part)
    # The first question shows whether there is anybody to ask.
    answer = connection.get("/version")
    if not isinstance(answer, dict):
        raise CollectError(f"{connection.context}: what answers there is no API server")
    version = version_of(answer.get("gitVersion"))
    owners = Owners(
        {
            kind: reading.namespaced(base, resource, read_between, accept=METADATA_ONLY)
            for kind, base, resource in _BETWEEN
        }
    )
    templates = {
        owner: template
        for kind, base, resource in _WITH_TEMPLATES
        for owner, template in reading.namespaced(base, resource, partial(read_template, kind))
    }
    read = PodReader(owners).read
    pods = reading.namespaced("/api/v1", "pods", read, selector=part.selector)
    if part.ask_metrics and reading.has(GROUP):
        uses = reading.namespaced(f"/apis/{GROUP}", "pods", read_pod_metrics)
        pods = list(_with_use(pods, uses))
    nodes = _nodes(reading, part)
    settings = [
        found
        for kind, resource in _SETTINGS
        for found in reading.namespaced("/api/v1", resource, partial(read_setting, kind))
    ]
    return ClusterFacts(
        context=connection.context,
        version=version,
        taken_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        workloads=by_owner(pods, templates),
        nodes=nodes,
        limit_ranges=tuple(s for s in settings if isinstance(s, LimitRange)),
        resource_quotas=tuple(s for s in settings if isinstance(s, ResourceQuota)),
        autoscalers=tuple(_autoscalers(reading)),
        problems=tuple(reading.problems),
    )


def _with_use(
    pods: Iterable[tuple[Owner, LivePod]], uses: Iterable[PodUse]
) -> Iterator[tuple[Owner, LivePod]]:
    """Yield pods with what metrics-server says of them."""
    known = {(namespace, name): found for namespace, name, found in uses}
    for owner, pod in pods:
        found = known.get((owner.namespace, pod.name))
        yield owner, replace(pod, use=found) if found else pod


def _nodes(reading: _Reading, part: Part) -> Mapping[str, ClusterNode] | Missing:
    found = reading.listed("/api/v1/nodes", read_node)
    if found is None:
        return Missing(reason="nodes may not be listed")
    nodes = {node.name: node for node in found}
    if part.kubelet_settings is not None:
        known = part.kubelet_settings
        return {name: replace(node, configuration=known) for name, node in nodes.items()}
    return with_settings(reading.connection, nodes) if part.ask_kubelets else nodes


def _autoscalers(reading: _Reading) -> Iterator[Autoscaler]:
    # v2 came with Kubernetes 1.23.
    hpa = "v2" if reading.has("autoscaling/v2") else "v1"
    groups = [(f"autoscaling/{hpa}", "horizontalpodautoscalers", read_hpa)]
    if reading.has("autoscaling.k8s.io/v1"):
        groups.append(("autoscaling.k8s.io/v1", "verticalpodautoscalers", read_vpa))
    for group, resource, read in groups:
        yield from reading.namespaced(f"/apis/{group}", resource, read)
