"""Live pods: spec and status as JSON, made into what the rules about pods judge.

What runs counts: the amounts in ``status.containerStatuses[].resources`` stand before those of the
spec, which a resize may ask for and not get (KEP-1287).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from quota_advisor.collect.cluster.owners import Owners
from quota_advisor.collect.cluster.pages import Object
from quota_advisor.collect.cluster.shape import mapping, maps, text
from quota_advisor.documents.kubernetes.keys import POD_PATHS
from quota_advisor.documents.kubernetes.pods import Source, read_pod
from quota_advisor.documents.kubernetes.quantity import CpuQuantity, parse_cpu
from quota_advisor.documents.yaml.plain_tree import mapping_of
from quota_advisor.documents.yaml.tree import as_mapping
from quota_advisor.model.cluster import Applied, LivePod, LiveWorkload, Owner
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import Pod, Scalar

NOT_READ = Missing(reason="its owner was not read")

FINISHED = ("Succeeded", "Failed")
"""Phases of pods that use no CPU any more."""

_STATUSES = ("containerStatuses", "initContainerStatuses")
_CONTAINERS = ("initContainers", "containers")
_RESIZING = ("PodResizePending", "PodResizeInProgress")
_ABOUT_US = "quota-advisor.io/"


class PodReader:
    """Reads pods; those of one owner that ask for the same share one spec.

    Args:
        owners: What pods belong to.
    """

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        self._specs: dict[tuple[Owner, str], Pod] = {}

    def read(self, root: Object) -> tuple[Owner, LivePod] | None:
        """Return a pod that runs or waits to, with its owner; None for one that is done."""
        status = mapping(root, "status")
        if status.get("phase") in FINISHED:
            return None
        owner = self._owners.of(root)
        return owner, self._live(root, status, owner)

    def _live(self, root: Object, status: Mapping[str, Any], owner: Owner) -> LivePod:
        metadata, spec = mapping(root, "metadata"), mapping(root, "spec")
        statuses = {s.get("name"): s for key in _STATUSES for s in maps(status, key)}
        in_force = _in_force(spec, statuses)
        return LivePod(
            pod=self._spec(root, in_force, owner),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            node=text(spec, "nodeName"),
            phase=text(status, "phase"),
            qos_class=text(status, "qosClass"),
            applied=dict(_applied(in_force, statuses)),
            resize=_resize(spec, status, statuses),
            generation=_number(metadata.get("generation")),
        )

    def _spec(self, root: Object, spec: Mapping[str, Any], owner: Owner) -> Pod:
        """Return the spec as lint reads it, under the name of the owner."""
        metadata = mapping(root, "metadata")
        told = {
            key: value
            for key, value in mapping(metadata, "annotations").items()
            if key.startswith(_ABOUT_US)
        }
        seen = (spec.get(key) for key in ("containers", "initContainers", "resources", "os"))
        mark = json.dumps([*seen, spec.get("nodeSelector"), _downward(spec), told], sort_keys=True)
        known = self._specs.get((owner, mark))
        if known is None:
            about = {"name": owner.name, "namespace": owner.namespace, "annotations": told}
            tree = mapping_of({"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec})
            read = read_pod(Source(""), tree, tree, as_mapping(tree["spec"]), "spec")
            known = read.pod._replace(kind=owner.kind, partial=False)
            self._specs[owner, mark] = known
        return known


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


Template = Mapping[str, Applied]
"""CPU of containers by their names, as an owner asks for it."""


def read_template(kind: str, root: Object) -> tuple[Owner, Template]:
    """Return what an object asks for the pods that it makes."""
    metadata, spec = mapping(root, "metadata"), root
    for key in POD_PATHS[kind]:
        spec = mapping(spec, key)
    owner = Owner(namespace=text(metadata, "namespace"), kind=kind, name=text(metadata, "name"))
    return owner, dict(_applied(spec, {}))


def by_owner(
    pods: Iterable[tuple[Owner, LivePod] | None], templates: Mapping[Owner, Template]
) -> tuple[LiveWorkload, ...]:
    """Return pods as workloads, by owner; each pod once, though a list may name it twice."""
    found: dict[Owner, dict[str, LivePod]] = {}
    for owner, pod in filter(None, pods):
        found.setdefault(owner, {})[pod.name] = pod
    return tuple(
        LiveWorkload(
            owner=owner,
            pods=tuple(pods[name] for name in sorted(pods)),
            template=templates.get(owner, NOT_READ),
        )
        for owner, pods in sorted(found.items())
    )


def _in_force(spec: Mapping[str, Any], statuses: Mapping[Any, Object]) -> dict[str, Any]:
    """Return a spec with the amounts that the kubelet holds in place of those asked for."""

    def held(container: Object) -> Object:
        resources = statuses.get(container.get("name"), {}).get("resources")
        return {**container, "resources": resources} if isinstance(resources, dict) else container

    lists = {key: [held(c) for c in maps(spec, key)] for key in _CONTAINERS if spec.get(key)}
    return {**spec, **lists}


def _applied(
    spec: Mapping[str, Any], statuses: Mapping[Any, Object]
) -> Iterator[tuple[str, Applied]]:
    for key in _CONTAINERS:
        for container in maps(spec, key):
            resources, name = mapping(container, "resources"), text(container, "name")
            yield (
                name,
                Applied(
                    request_millicores=millicores(mapping(resources, "requests").get("cpu")),
                    limit_millicores=millicores(mapping(resources, "limits").get("cpu")),
                    stated=isinstance(statuses.get(name, {}).get("resources"), dict),
                ),
            )


def millicores(amount: object) -> int | None:
    """Return an amount of CPU as the API writes it, rounded up as the API does; None for none."""
    if not isinstance(amount, str | int | float):
        return None
    parsed = parse_cpu(Scalar(str(amount), False, 0, 0))
    return parsed.millicores if isinstance(parsed, CpuQuantity) else None


def _resize(
    spec: Mapping[str, Any], status: Mapping[str, Any], statuses: Mapping[Any, Object]
) -> str:
    """Return what became of a resize; empty where the wanted size is the one in force.

    Conditions tell since Kubernetes 1.33, ``status.resize`` before.
    """
    for condition in maps(status, "conditions"):
        kind = condition.get("type")
        if (
            kind in ("PodResizePending", "PodResizeInProgress")
            and condition.get("status") == "True"
        ):
            reason, message = text(condition, "reason"), text(condition, "message")
            word = reason if kind == "PodResizePending" else "in progress"
            return ": ".join(filter(None, (word.lower(), message)))
    if status.get("resize"):
        return text(status, "resize").lower()
    for container in maps(spec, "containers"):
        held = statuses.get(container.get("name"), {}).get("resources")
        wanted = mapping(container, "resources", "limits").get("cpu")
        if isinstance(held, dict):
            limit = mapping(held, "limits").get("cpu")
            if wanted and millicores(limit) != millicores(wanted):
                return f"{container.get('name')} runs with a CPU limit of {limit or 'none'}"
    return ""


def _downward(spec: Mapping[str, Any]) -> list[Any]:
    return [v["downwardAPI"] for v in maps(spec, "volumes") if "downwardAPI" in v]
