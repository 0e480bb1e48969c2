"""Kubernetes objects in a tree: those that hold a pod template, and those that bear on CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from quota_advisor.documents.pods import POD_PATHS, PodReading, Source, read_misshapen, read_pod
from quota_advisor.documents.tree import (
    Mapping,
    Node,
    is_list,
    is_scalar,
    pairs,
    place,
    scalar,
    text,
)
from quota_advisor.model.manifest import (
    KubeletConfig,
    LimitRange,
    ResourceQuota,
    Scalar,
)

KubeObject = PodReading | LimitRange | ResourceQuota | KubeletConfig

_SKIPPED_KINDS = frozenset(
    ("CustomResourceDefinition", "ConfigMap", "Secret", "Kustomization", "Component")
)
_POLICY_GROUPS = ("kyverno.io", "gatekeeper.sh")
"""Groups whose objects hold patterns of pods, not pods."""

_SPEC_LISTS = frozenset(("containers", "initContainers", "ephemeralContainers"))


class _Spot(NamedTuple):
    """A mapping or a list in the object that is being searched."""

    node: Node
    key: str
    path: str
    parent: Mapping


def read_objects(source: Source, root: Node) -> Iterator[KubeObject]:
    """Yield what is of interest in a document, lists of objects included."""
    if type(root) is dict and _is_object(root) and text(root["kind"]) in POD_PATHS:
        # Most documents are such, and their pod can be in one place only.
        if reading := _read_known(source, root, text(root["kind"])):
            yield reading
        return
    waiting = [root]
    # Aliases can lead to one object twice; its places are the same.
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if type(node) is not dict:
            waiting.extend(reversed(node[2:]) if is_list(node) else ())
        elif _is_object(node):
            yield from _read_object(source, node, waiting)
        else:
            waiting.extend(node[key] for key in reversed(node) if key)


def _is_object(node: Mapping) -> bool:
    return "kind" in node and "apiVersion" in node and is_scalar(node["kind"])


def _read_object(source: Source, root: Mapping, waiting: list[Node]) -> Iterator[KubeObject]:
    """Read one object and leave the objects inside it to the caller."""
    kind = text(root["kind"])
    api_version = text(root["apiVersion"])
    if kind in _SKIPPED_KINDS or api_version.partition("/")[0].endswith(_POLICY_GROUPS):
        return
    if kind == "LimitRange":
        yield _limit_range(source.file, root)
    elif kind == "ResourceQuota":
        yield _resource_quota(source.file, root)
    elif kind == "KubeletConfiguration":
        settings = dict(_settings(root))
        yield KubeletConfig(source.file, settings, source.suppressions, place(root))
    elif kind in POD_PATHS:
        if reading := _read_known(source, root, kind):
            yield reading
    else:
        yield from _find_pods(source, root, waiting)


# ---- pods


def _read_known(source: Source, root: Mapping, kind: str) -> PodReading | None:
    """Read the pod of one of the API's own kinds, which is in one place or nowhere."""
    path = POD_PATHS[kind]
    template = root
    node: Node = root
    for depth, key in enumerate(path, start=1):
        template, node = node, node.get(key)
        if type(node) is not dict:
            if node is None:
                return None
            return read_misshapen(source, root, ".".join(path[:depth]), node)
    if _SPEC_LISTS.isdisjoint(node):
        return None
    return read_pod(source, root, template, node, ".".join(path))


def _find_pods(source: Source, root: Mapping, waiting: list[Node]) -> Iterator[PodReading]:
    """Find the pods in an object of any kind by their shape."""
    spots = [_Spot(root, "", "", root)]
    inner: list[Node] = []
    seen: set[int] = set()
    while spots:
        spot = spots.pop()
        node = spot.node
        if id(node) in seen:
            continue
        seen.add(id(node))
        if type(node) is not dict:
            spots.extend(_entries(spot))
        elif node is not root and _is_object(node):
            inner.append(node)
        elif _is_pod_spec(spot):
            yield read_pod(source, root, spot.parent, node, spot.path)
        else:
            spots.extend(_children(spot))
    waiting.extend(reversed(inner))


def _entries(spot: _Spot) -> list[_Spot]:
    """Return the collections in a list, last first."""
    return [
        _Spot(node, spot.key, f"{spot.path}[{index}]", spot.parent)
        for index, node in reversed(list(enumerate(spot.node[2:])))
        if not is_scalar(node)
    ]


def _children(spot: _Spot) -> list[_Spot]:
    """Return the collections in a mapping, last first."""
    prefix = f"{spot.path}." if spot.path else ""
    found = [
        _Spot(node, key, prefix + key, spot.node)
        for key, node in pairs(spot.node)
        if type(node) is dict or not is_scalar(node)
    ]
    found.reverse()
    return found


def _is_pod_spec(spot: _Spot) -> bool:
    """Whether a mapping is a pod's spec: by its key, or because it can be nothing else."""
    node = spot.node
    if _SPEC_LISTS.isdisjoint(node):
        return False
    if spot.key == "spec" or spot.key.endswith("odSpec"):
        return True
    containers = node.get("containers")
    if not is_list(containers) or len(containers) == len(("line", "column")):
        return False
    return all(type(c) is dict and "image" in c and "name" in c for c in containers[2:])


# ---- the rest


def _names(root: Mapping) -> tuple[str, str]:
    metadata = root.get("metadata")
    if type(metadata) is not dict:
        return "", ""
    return text(metadata.get("namespace")), text(metadata.get("name"))


def _limit_range(file: str, root: Mapping) -> LimitRange:
    namespace, name = _names(root)
    limit: Scalar | None = None
    request: Scalar | None = None
    least = most = ratio = limit
    spec = root.get("spec")
    items = spec.get("limits") if type(spec) is dict else None
    for item in items[2:] if is_list(items) else ():
        if type(item) is dict and text(item.get("type")) == "Container":
            limit = limit or _cpu(item, "default") or _cpu(item, "max")
            request = request or _cpu(item, "defaultRequest") or limit or _cpu(item, "min")
            least = least or _cpu(item, "min")
            most = most or _cpu(item, "max")
            ratio = ratio or _cpu(item, "maxLimitRequestRatio")
    return LimitRange(file, namespace, name, limit, request, place(root), least, most, ratio)


def _cpu(item: Mapping, key: str) -> Scalar | None:
    amounts = item.get(key)
    return scalar(amounts.get("cpu")) if type(amounts) is dict else None


def _resource_quota(file: str, root: Mapping) -> ResourceQuota:
    namespace, name = _names(root)
    spec = root.get("spec")
    hard = spec.get("hard") if type(spec) is dict else None
    keys = set(hard) if type(hard) is dict else set()
    return ResourceQuota(
        file,
        namespace,
        name,
        "limits.cpu" in keys,
        "requests.cpu" in keys or "cpu" in keys,
        place(root),
    )


def _settings(root: Mapping) -> Iterator[tuple[str, Scalar]]:
    """Yield every scalar that has a value by its dotted path."""
    waiting: list[tuple[str, Node]] = [("", root)]
    while waiting:
        path, node = waiting.pop()
        prefix = f"{path}." if path else ""
        if type(node) is dict:
            waiting.extend((prefix + key, node[key]) for key in reversed(node) if key)
        elif is_list(node):
            items = enumerate(node[2:])
            waiting.extend(reversed([(f"{path}[{index}]", item) for index, item in items]))
        elif value := scalar(node):
            yield path, value
