"""Objects of a cluster as its API server would list them, made into facts as the collector does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from quota_advisor.collect.cluster.kubelets import flattened
from quota_advisor.collect.cluster.objects import read_hpa, read_node, read_setting, read_vpa
from quota_advisor.collect.cluster.owners import Owners, read_between
from quota_advisor.collect.cluster.pods import PodReader, by_owner, read_template
from quota_advisor.model.cluster import Autoscaler, ClusterFacts, KubeletSettings
from quota_advisor.model.manifest import LimitRange, ResourceQuota

_BETWEEN = ("ReplicaSet", "Job")
_WITH_TEMPLATES = ("Deployment", "StatefulSet", "DaemonSet")
_SETTINGS = ("LimitRange", "ResourceQuota")


def read_cluster(path: Path) -> ClusterFacts:
    """Return the facts in a file of YAML documents, one object of the API each.

    A KubeletConfiguration is named for its node here.
    """
    objects = [root for root in yaml.safe_load_all(path.read_text(encoding="utf-8")) if root]

    def of(kind: str) -> list[dict[str, Any]]:
        return [root for root in objects if root["kind"] == kind]

    owners = Owners({kind: [read_between(root) for root in of(kind)] for kind in _BETWEEN})
    templates = dict(read_template(kind, root) for kind in _WITH_TEMPLATES for root in of(kind))
    reader = PodReader(owners)
    nodes = {node.name: node for node in map(read_node, of("Node"))}
    for config in of("KubeletConfiguration"):
        name = config["metadata"]["name"]
        nodes[name] = replace(
            nodes[name], configuration=KubeletSettings(by_path=dict(flattened(config)))
        )
    namespaces = [read_setting(kind, root) for kind in _SETTINGS for root in of(kind)]
    return ClusterFacts(
        context="test",
        version=(1, 35),
        taken_at="2026-12-01T00:00:00+00:00",
        workloads=by_owner([reader.read(root) for root in of("Pod")], templates),
        nodes=nodes,
        limit_ranges=tuple(s for s in namespaces if isinstance(s, LimitRange)),
        resource_quotas=tuple(s for s in namespaces if isinstance(s, ResourceQuota)),
        autoscalers=tuple(_autoscalers(of("HorizontalPodAutoscaler"), of("VerticalPodAutoscaler"))),
    )


def _autoscalers(out: list[dict[str, Any]], up: list[dict[str, Any]]) -> Iterator[Autoscaler]:
    found = (*map(read_hpa, out), *map(read_vpa, up))
    yield from (scaler for scaler in found if scaler is not None)
