"""What pods belong to in the end: the Deployment behind the ReplicaSet, a Job's CronJob."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from quota_advisor.collect.cluster.pages import Object
from quota_advisor.collect.cluster.shape import mapping, maps, text
from quota_advisor.model.cluster import Owner
from quota_advisor.records import NamedTuple

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of the API's image of a static pod, which a file on its node describes."""


class Between(NamedTuple):
    """A ReplicaSet or Job: what stands between a pod and what somebody wrote.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        above: Kind and name of what controls it, None for nothing.
    """

    namespace: str
    name: str
    above: tuple[str, str] | None


def read_between(root: Object) -> Between:
    """Return a ReplicaSet or Job, of which the metadata is enough."""
    metadata = mapping(root, "metadata")
    return Between(text(metadata, "namespace"), text(metadata, "name"), _controller(metadata))


class Owners:
    """Follows ``ownerReferences`` up.

    Args:
        between: ReplicaSets and Jobs by kind; what is not among them is taken for the owner itself.
    """

    def __init__(self, between: Mapping[str, Iterable[Between]]) -> None:
        self._above = {
            (found.namespace, kind, found.name): found.above
            for kind, some in between.items()
            for found in some
        }

    def of(self, root: Object) -> Owner:
        """Return what a pod belongs to; itself where nothing controls it."""
        metadata = mapping(root, "metadata")
        namespace, name = text(metadata, "namespace"), text(metadata, "name")
        kind, seen = "Pod", 0
        is_static = MIRROR in mapping(metadata, "annotations")
        found = None if is_static else _controller(metadata)
        # Two steps are the most that Kubernetes makes by itself; operators add few.
        while found is not None and seen < _MOST_STEPS:
            kind, name = found
            found, seen = self._above.get((namespace, kind, name)), seen + 1
        return Owner(namespace=namespace, kind=kind, name=name)


_MOST_STEPS = 8


def _controller(metadata: Mapping[str, Any]) -> tuple[str, str] | None:
    for reference in maps(metadata, "ownerReferences"):
        if reference.get("controller"):
            return text(reference, "kind"), text(reference, "name")
    return None
