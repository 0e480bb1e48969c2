"""What was decided about workloads, as patches for somebody to look at and apply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from quota_advisor.collect.cluster.connection import Connection
from quota_advisor.derive.kubernetes.running import WHOLE
from quota_advisor.errors import CollectError
from quota_advisor.files.writing import write_file
from quota_advisor.model.advice import Advice, Decision, Need
from quota_advisor.model.cluster import AdvisedContainer, Cluster, Owner, RequestAdvice
from quota_advisor.records import NamedTuple

MILLI = 1000

RESOURCES = {
    "Deployment": ("apps/v1", "deployments"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "DaemonSet": ("apps/v1", "daemonsets"),
}
"""Kinds whose pods a patch can change, with their place in the API. A Job's pods are made once, and
what an operator makes, its own object describes."""


class Patch(NamedTuple):
    """A strategic merge patch of one workload.

    Attributes:
        owner: The workload.
        body: The patch.
        formulas: Where each number comes from.
    """

    owner: Owner
    body: dict[str, Any]
    formulas: tuple[str, ...]

    @property
    def file_name(self) -> str:
        """Name of its file: of namespace, kind and name, which the API allows no slashes in."""
        parts = (self.owner.namespace, self.owner.kind.lower(), self.owner.name)
        return re.sub(r"[^a-z0-9.-]", "_", "-".join(parts)) + ".yaml"

    @property
    def path(self) -> str:
        """Where the API server has the workload."""
        version, resource = RESOURCES[self.owner.kind]
        return f"/apis/{version}/namespaces/{self.owner.namespace}/{resource}/{self.owner.name}"


def patches(cluster: Cluster) -> list[Patch]:
    """Return a patch for each workload of which something should change, by owner."""
    by_owner: dict[Owner, list[AdvisedContainer]] = {}
    for container in cluster.containers:
        by_owner.setdefault(container.owner, []).append(container)
    found = (_patch(owner, some) for owner, some in sorted(by_owner.items()))
    return [patch for patch in found if patch is not None]


def _patch(owner: Owner, containers: Sequence[AdvisedContainer]) -> Patch | None:
    if owner.kind not in RESOURCES:
        return None
    changed = {c.name: dict(_resources(c)) for c in containers if c.name != WHOLE}
    changed = {name: resources for name, resources in changed.items() if resources}
    if not changed:
        return None
    version, _ = RESOURCES[owner.kind]
    spec = [{"name": name, "resources": resources} for name, resources in changed.items()]
    body = {
        "apiVersion": version,
        "kind": owner.kind,
        "metadata": {"name": owner.name, "namespace": owner.namespace},
        "spec": {"template": {"spec": {"containers": spec}}},
    }
    formulas = tuple(text for c in containers if c.name in changed for text in _formulas(c))
    return Patch(owner, body, formulas)


def _resources(container: AdvisedContainer) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what of a container should change, so that its request stays within its limit."""
    limit = _limit(container.limit)
    request = _request(container.request)
    most = limit or container.limit_millicores
    if request is not None and most is not None:
        request = min(request, most)
    if request is not None and request != container.request_millicores:
        yield "requests", {"cpu": f"{request}m"}
    if limit is not None and limit != container.limit_millicores:
        yield "limits", {"cpu": f"{limit}m"}


def _limit(advice: object) -> int | None:
    quota = advice.quota if isinstance(advice, Advice) else None
    return None if quota is None else round(quota.cores * MILLI)


def _request(advice: object) -> int | None:
    if not isinstance(advice, RequestAdvice) or advice.decision is Decision.KEEP:
        return None
    return advice.millicores


def _formulas(container: AdvisedContainer) -> Iterator[str]:
    limit = container.limit
    if _limit(limit) is not None and isinstance(limit, Advice) and isinstance(limit.need, Need):
        at_least = " at least" if limit.need.lower_bound else ""
        yield f"{container.name}: limit{at_least}: {limit.need.formula}"
    if _request(container.request) is not None and isinstance(container.request, RequestAdvice):
        yield f"{container.name}: request: {container.request.formula}"


def write_patches(found: Sequence[Patch], directory: Path) -> None:
    """Write each patch into a file, and a kustomization that names them.

    Raises:
        CollectError: A file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for patch in found:
        head = "".join(f"# {line}\n" for line in patch.formulas)
        text = yaml.safe_dump(patch.body, sort_keys=False)
        write_file(directory / patch.file_name, f"{head}{text}")
    listed = [{"path": patch.file_name} for patch in found]
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": listed,
    }
    write_file(directory / "kustomization.yaml", yaml.safe_dump(kustomization, sort_keys=False))


def admission_of(connection: Connection, patch: Patch) -> str:
    """Return why the API server would refuse a patch; empty where it would take it.

    Nothing is changed: the request is a dry run.
    """
    body = json.dumps(patch.body).encode()
    kind = "application/strategic-merge-patch+json"
    try:
        connection.send("PATCH", patch.path, body, kind, "dryRun=All")
    except CollectError as error:
        return error.what
    return ""
