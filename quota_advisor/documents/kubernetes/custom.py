"""Pods in objects of kinds that are not the API's own: found by their shape, or put together.

An operator, a workflow engine or a chart makes the pods of such an object. Some hold a whole pod
template, some single containers (:mod:`~quota_advisor.documents.kubernetes.workflows`), and some no
more than the resources of a container (:mod:`~quota_advisor.documents.kubernetes.stanzas`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from quota_advisor.documents.kubernetes.keys import SPEC_LISTS
from quota_advisor.documents.kubernetes.pods import PodReading, Source, read_pod
from quota_advisor.documents.kubernetes.stanzas import StanzaReader
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

_OWN_GROUP = ".k8s.io"
_MAX_PATH = 250
"""Longer paths are cut at their beginning: hostile input has many nodes, deep below long keys."""

_NOTHING: frozenset[str] = frozenset()
_WHAT_IS = frozenset(("status",))
"""Keys of an object under which a controller writes what it found."""


class Spot(NamedTuple):
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
        self._stanzas: StanzaReader | None = None
        self._engine: Engine | None = None
        if slash and "." in group and not group.endswith(_OWN_GROUP):
            self._engine = engine_of(group, source, root)
            divided = self._engine.divided if self._engine else _NOTHING
            self._stanzas = StanzaReader(source, root, divided)

    def pods(self) -> Iterator[PodReading]:
        spots = [Spot(self._root, "", "", self._root)]
        # Aliases can lead to one node twice, and some readers copy what they lead to.
        seen: set[tuple[int, int]] = set()
        while spots:
            spot = spots.pop()
            node = spot.node
            start = node if is_list(node) else node[PLACES]
            at = (start[0], start[1])
            if at in seen:
                continue
            seen.add(at)
            if is_list(node):
                spots.extend(_entries(spot, node))
            elif reading := self._look(spot, node, spots):
                yield reading
        if self._stanzas is not None:
            yield from self._stanzas.pods()

    def _look(self, spot: Spot, node: Mapping, spots: list[Spot]) -> PodReading | None:
        """Return the pod that a mapping is, and add the spots in it that are to be looked at."""
        done = _WHAT_IS if node is self._root else _NOTHING
        reading: PodReading | None = None
        if not done and is_object(node):
            self.inner.append(node)
            return None
        if _is_pod_spec(spot, node):
            reading = read_pod(self._source, self._root, spot.parent, node, spot.path)
            if spot.path != "spec":
                return reading
            # An operator has more to say than the containers that it adds to its own.
            done = SPEC_LISTS
        elif self._engine is not None and self._engine.makes_pod(spot.key, node):
            if self._engine.is_overruled(node):
                return None
            reading = self._engine.pod(node, spot.parent, spot.path)
            done = self._engine.parts
        elif self._stanzas is not None and ("limits" in node or "requests" in node):
            self._stanzas.look(spot.key, node, spot.path)
        spots.extend(_children(spot, node, done))
        return reading


def _entries(spot: Spot, items: ListNode) -> list[Spot]:
    """Return the collections in a list, last first."""
    return [
        Spot(node, spot.key, f"{spot.path}[{index}]"[-_MAX_PATH:], spot.parent)
        for index, node in reversed(list(enumerate(items[2:])))
        if not is_scalar(node)
    ]


def _children(spot: Spot, mapping: Mapping, done: frozenset[str]) -> list[Spot]:
    """Return the collections in a mapping, last first, without those that are read."""
    prefix = f"{spot.path}." if spot.path else ""
    found = [
        Spot(node, key, (prefix + key)[-_MAX_PATH:], mapping)
        for key, node in pairs(mapping)
        if (type(node) is dict or not is_scalar(node)) and key not in done
    ]
    found.reverse()
    return found


def _is_pod_spec(spot: Spot, node: Mapping) -> bool:
    """Whether a mapping is a pod's spec: by its key, or because it can be nothing else."""
    if SPEC_LISTS.isdisjoint(node):
        return False
    if spot.path == "spec":
        # What an operator means by such a key is its own, unless it is what the API means by it.
        return any(is_list(node.get(key)) for key in SPEC_LISTS)
    if spot.key == "spec" or spot.key.endswith("odSpec"):
        return True
    containers = node.get("containers")
    if not is_list(containers) or len(containers) == len(("line", "column")):
        return False
    return all(type(c) is dict and "image" in c and "name" in c for c in containers[2:])
