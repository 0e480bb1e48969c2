"""Resource requirements of containers that an operator makes: there is no container around them.

``resources`` with ``requests`` and ``limits`` of CPU means the same wherever it stands, because
operators hand it on as it is. Whatever else stands there means what the operator means by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from quota_advisor.documents.kubernetes.keys import AMOUNTS, SIDES
from quota_advisor.documents.kubernetes.pods import (
    PodReading,
    Reader,
    Source,
    generated_name,
    is_windows,
)
from quota_advisor.documents.kubernetes.quantity import CpuQuantity, parse_cpu
from quota_advisor.documents.templates import is_placeholder
from quota_advisor.documents.yaml.tree import (
    Mapping,
    Node,
    as_mapping,
    emptied,
    is_null,
    is_scalar,
    place,
    scalar,
    text,
)
from quota_advisor.model.manifest import Amounts, Container, Pod, Resources, Role, Scalar

_RESOURCES = "resources"


class PartReader(Reader):
    """Reads pods of which an object says only a part: nothing is missing in them."""

    def partial_pod(self, containers: tuple[Container, ...], holder: Mapping) -> PodReading:
        """Return a pod of some containers.

        Args:
            containers: What is known of its containers.
            holder: The mapping whose metadata, if it has any, is the pod's.
        """
        metadata = self._metadata(self.root)
        annotations = self._annotations(metadata, holder)
        spec = self.root.get("spec")
        pod = Pod(
            file=self.source.file,
            api_version=text(self.root.get("apiVersion")),
            kind=text(self.root.get("kind")),
            name=text(metadata.get("name")) or generated_name(metadata),
            namespace=text(metadata.get("namespace")),
            path=self.path,
            containers=containers,
            resources=Resources({}, {}, place(holder), present=False),
            volume_refs={},
            annotations=annotations,
            windows=is_windows(holder) or (type(spec) is dict and is_windows(spec)),
            partial=True,
            suppressions=self._suppressions(annotations),
            wrong_shapes=tuple(self.wrong),
            misplaced=tuple(self.misplaced),
            place=place(self.root),
        )
        return PodReading(pod, self.unrendered)

    @property
    def unrendered(self) -> Scalar | None:
        """A quantity that a template engine has yet to write; Argo and Tekton write their own."""
        own = text(self.root.get("apiVersion")).startswith(("argoproj.io/", "tekton.dev/"))
        return None if own else self.template

    def requirements(self, node: Mapping) -> Resources:
        """Return those amounts under ``resources`` that can be read."""
        requests, limits = (self._readable(node.get(side)) for side in SIDES)
        return Resources(requests, limits, place(node), present=True)

    def _readable(self, node: Node) -> Amounts:
        amounts = as_mapping(node)
        found: dict[str, Scalar] = {}
        for name in AMOUNTS:
            value = scalar(amounts.get(name))
            if value is not None and is_placeholder(value.text):
                self.template = self.template or value
            elif value is not None and isinstance(parse_cpu(value), CpuQuantity):
                found[name] = value
        return found


class RequirementsReader(PartReader):
    """Gathers the resource requirements in one object.

    Args:
        source: The document.
        root: The object.
        divided: Keys of mappings in which the requests are for several containers together.
    """

    def __init__(self, source: Source, root: Mapping, divided: frozenset[str]) -> None:
        super().__init__(source, root, "")
        self._divided = divided
        self._found: list[Container] = []

    def look(self, key: str, node: Mapping, path: str) -> None:
        """Take in a mapping if it holds the resource requirements of a container.

        Args:
            key: Under which it stands.
            node: The mapping.
            path: Where it is in the object.
        """
        around = path.rpartition(".")[0]
        key_around = around.rpartition(".")[2].partition("[")[0]
        if not (_is_their_name(key) or key_around == _RESOURCES) or not is_requirements(node):
            return
        resources = self.requirements(node)
        if key_around in self._divided:
            resources = resources._replace(requests={})
        if "cpu" in resources.requests or "cpu" in resources.limits:
            container = Container(Role.MADE, path, "", (), {}, resources, resources.place, around)
            self._found.append(container)

    def pods(self) -> Iterator[PodReading]:
        """Yield one pod of the containers that they are for, if there are any."""
        if self._found or self.unrendered is not None:
            yield self.partial_pod(tuple(self._found), emptied(self.root))


def _is_their_name(key: str) -> bool:
    """Whether a key says that the resources of a container follow."""
    return key == _RESOURCES or key.endswith("Resources")


def is_requirements(node: Node) -> TypeGuard[Mapping]:
    """Whether a mapping can be nothing but the resources of a container."""
    if type(node) is not dict:
        return False
    sides = [node.get(side) for side in SIDES]
    if not all(type(side) is dict or is_null(side) for side in sides):
        return False
    return any(type(side) is dict and is_scalar(side.get("cpu")) for side in sides)
