"""Nodes, autoscalers and the settings of namespaces, as the API gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from quota_advisor.collect.cluster.pages import Object
from quota_advisor.collect.cluster.pods import millicores
from quota_advisor.collect.cluster.shape import mapping, maps
from quota_advisor.documents.kubernetes.objects import read_objects
from quota_advisor.documents.kubernetes.pods import Source
from quota_advisor.documents.yaml.plain_tree import mapping_of
from quota_advisor.model.cluster import Autoscaler, ClusterNode, Owner
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import LimitRange, ResourceQuota

_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)")
_VIRTUAL = ("type", "virtual-kubelet")


def version_of(text: object) -> tuple[int, int] | Missing:
    """Return major and minor of ``v1.33.2-gke.100``."""
    match = _VERSION.match(text) if isinstance(text, str) else None
    if match is None:
        return Missing(reason="the version cannot be read")
    return int(match[1]), int(match[2])


def read_node(root: Object) -> ClusterNode:
    """Return a node."""
    metadata, status = mapping(root, "metadata"), mapping(root, "status")
    info, labels = mapping(status, "nodeInfo"), mapping(metadata, "labels")
    return ClusterNode(
        name=str(metadata.get("name", "")),
        allocatable_millicores=_cpu(status, "allocatable"),
        capacity_millicores=_cpu(status, "capacity"),
        os=str(info.get("operatingSystem") or labels.get("kubernetes.io/os") or ""),
        kernel=str(info.get("kernelVersion", "")),
        runtime=str(info.get("containerRuntimeVersion", "")),
        kubelet=version_of(info.get("kubeletVersion")),
        is_virtual=_VIRTUAL in labels.items(),
    )


def read_setting(kind: str, root: Object) -> LimitRange | ResourceQuota | None:
    """Return a LimitRange or ResourceQuota if it is about CPU; items of a list name no kind."""
    named = {"apiVersion": "v1", "kind": kind, **_without_status(root)}
    for found in read_objects(Source(""), mapping_of(named)):
        if isinstance(found, LimitRange | ResourceQuota) and found.is_about_cpu:
            return found
    return None


def read_hpa(root: Object) -> Autoscaler | None:
    """Return a HorizontalPodAutoscaler that aims at a share of the CPU request, else None."""
    spec = mapping(root, "spec")
    percent = spec.get("targetCPUUtilizationPercentage")
    for metric in maps(spec, "metrics"):
        resource = mapping(metric, "resource") or mapping(metric, "containerResource")
        if resource.get("name") == "cpu":
            percent = mapping(resource, "target").get("averageUtilization") or percent
    if not isinstance(percent, int):
        return None
    return _autoscaler(
        "HorizontalPodAutoscaler", root, mapping(spec, "scaleTargetRef"), percent, ""
    )


def read_vpa(root: Object) -> Autoscaler | None:
    """Return a VerticalPodAutoscaler that may set CPU, else None."""
    spec = mapping(root, "spec")
    policies = maps(mapping(spec, "resourcePolicy"), "containerPolicies")
    everywhere = [p for p in policies if p.get("containerName") == "*"]
    for policy in everywhere:
        controlled = policy.get("controlledResources")
        if policy.get("mode") == "Off" or (
            isinstance(controlled, list) and "cpu" not in controlled
        ):
            return None
    mode = str(mapping(spec, "updatePolicy").get("updateMode") or "Auto")
    return _autoscaler("VerticalPodAutoscaler", root, mapping(spec, "targetRef"), None, mode)


def _autoscaler(
    kind: str, root: Object, target: Mapping[str, Any], percent: int | None, mode: str
) -> Autoscaler:
    metadata = mapping(root, "metadata")
    owner = Owner(
        namespace=str(metadata.get("namespace", "")),
        kind=str(target.get("kind", "")),
        name=str(target.get("name", "")),
    )
    name = str(metadata.get("name", ""))
    return Autoscaler(kind=kind, name=name, target=owner, utilization_percent=percent, mode=mode)


def _cpu(status: Mapping[str, Any], key: str) -> int | Missing:
    amount = millicores(mapping(status, key).get("cpu"))
    return Missing(reason=f"the node says no {key} CPU") if amount is None else amount


def _without_status(root: Object) -> dict[str, Any]:
    return {key: root[key] for key in ("metadata", "spec") if key in root}
