"""Pods in objects of kinds that are not the API's own: found by their shape, or put together.

An operator, a workflow engine or a chart makes the pods of such an object. Some hold a whole pod
template, some single containers (:mod:`~quota_advisor.documents.kubernetes.workflows`), and some no
more than the resources of a container (:mod:`~quota_advisor.documents.kubernetes.requirements`).
"""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.documents.kubernetes.keys import SPEC_LISTS
from quota_advisor.documents.kubernetes.pods import PodReading, Source, read_pod
from quota_advisor.documents.kubernetes.requirements import RequirementsReader
from quota_advisor.documents.kubernetes.workflows import Engine, engine_of
from quota_advisor.documents.yaml.tree import (
    PLACES,
    ListNode,
    Mapping,
    Node,
    is_list,
    is_object,
    is_scalar,
    pairs,
    text,
)
from quota_advisor.records import NamedTuple

_OWN_GROUP = ".k8s.io"
_MAX_PATH = 250
"""Longer paths are cut at their beginning: hostile input has many nodes, deep below long keys."""

_NOTHING: frozenset[str] = frozenset()
_STATUS = frozenset(("status",))
"""Keys of an object under which a controller writes what it found."""


class NodePath(NamedTuple):
    """A mapping or a list in the object that is being searched.

    Attributes:
        node: The mapping or list.
        key: Under which it stands; an entry of a list has the list's.
        path: Where in the object.
        parent: The mapping around it, or around the list that it is an entry of.
    """

    node: ListNode | Mapping
    key: str
    path: str
    parent: Mapping


def find_pods(source: Source, root: Mapping, inner: list[Node]) -> Iterator[PodReading]:
    """Yield the pods of an object; objects inside it are left to the caller.

    Args:
        source: The document.
        root: The object.
        inner: Receives the objects inside it, last first.
    """
    search = _Search(source, root)
    yield from search.pods()
    inner.extend(reversed(search.inner))


class _Search:
    def __init__(self, source: Source, root: Mapping) -> None:
        self._source = source
        self._root = root
        self.inner: list[Node] = []
        group, slash, _ = text(root["apiVersion"]).partition("/")
        self._requirements: RequirementsReader | None = None
        self._engine: Engine | None = None
        if slash and "." in group and not group.endswith(_OWN_GROUP):
            self._engine = engine_of(group, source, root)
            divided = self._engine.divided if self._engine else _NOTHING
            self._requirements = RequirementsReader(source, root, divided)

    def pods(self) -> Iterator[PodReading]:
        waiting = [NodePath(self._root, "", "", self._root)]
        # Aliases can lead to one node twice, and some readers copy what they lead to.
        seen: set[tuple[int, int]] = set()
        while waiting:
            at = waiting.pop()
            node = at.node
            if type(node) is dict:
                line, column = node[PLACES][:2]
                if (line, column) not in seen:
                    seen.add((line, column))
                    if reading := self._look(at, node, waiting):
                        yield reading
            elif is_list(node) and (node[0], node[1]) not in seen:
                seen.add((node[0], node[1]))
                waiting.extend(_entries(at, node))
        if self._requirements is not None:
            yield from self._requirements.pods()

    def _look(self, at: NodePath, node: Mapping, waiting: list[NodePath]) -> PodReading | None:
        """Return the pod that a mapping is; add what in it is to be looked at to what waits."""
        done = _STATUS if node is self._root else _NOTHING
        reading: PodReading | None = None
        if not done and is_object(node):
            self.inner.append(node)
            return None
        if _is_pod_spec(at, node):
            reading = read_pod(self._source, self._root, at.parent, node, at.path)
            if at.path != "spec":
                return reading
            # An operator has more to say than the containers that it adds to its own.
            done = SPEC_LISTS
        elif self._engine is not None and self._engine.makes_pod(at.key, node):
            if self._engine.is_overruled(node):
                return None
            reading = self._engine.pod(node, at.parent, at.path)
            done = self._engine.parts
        elif self._requirements is not None and ("limits" in node or "requests" in node):
            self._requirements.look(at.key, node, at.path)
        waiting.extend(_children(at, node, done))
        return reading


def _entries(at: NodePath, items: ListNode) -> list[NodePath]:
    """Return the collections in a list, last first."""
    return [
        NodePath(node, at.key, f"{at.path}[{index}]"[-_MAX_PATH:], at.parent)
        for index, node in reversed(list(enumerate(items[2:])))
        if not is_scalar(node)
    ]


def _children(at: NodePath, mapping: Mapping, done: frozenset[str]) -> list[NodePath]:
    """Return the collections in a mapping, last first, without those that are read."""
    prefix = f"{at.path}." if at.path else ""
    found = [
        NodePath(node, key, (prefix + key)[-_MAX_PATH:], mapping)
        for key, node in pairs(mapping)
        if (type(node) is dict or not is_scalar(node)) and key not in done
    ]
    found.reverse()
    return found


def _is_pod_spec(at: NodePath, node: Mapping) -> bool:
    """Whether a mapping is a pod's spec: by its key, or because it can be nothing else."""
    if SPEC_LISTS.isdisjoint(node):
        return False
    if at.path == "spec":
        # What an operator means by such a key is its own, unless it is what the API means by it.
        return any(is_list(node.get(key)) for key in SPEC_LISTS)
    if at.key == "spec" or at.key.endswith("odSpec"):
        return True
    containers = node.get("containers")
    if not is_list(containers) or len(containers) == len(("line", "column")):
        return False
    return all(type(c) is dict and "image" in c and "name" in c for c in containers[2:])
