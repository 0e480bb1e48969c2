"""Kubernetes objects in a tree: those that hold a pod template, and those that bear on CPU."""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.documents.kubernetes.keys import (
    CONFIG_MAP,
    KUBELET_CONFIGURATION,
    LIMIT_RANGE,
    POD_PATHS,
    RESOURCE_QUOTA,
    SPEC_LISTS,
    WITHOUT_PODS,
)
from quota_advisor.documents.kubernetes.kubelets import KubeletText, read_configuration, read_held
from quota_advisor.documents.kubernetes.pods import (
    PodReading,
    Source,
    read_misshapen,
    read_pod,
)
from quota_advisor.documents.yaml.tree import (
    Mapping,
    Node,
    as_mapping,
    is_list,
    is_object,
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

KubeObject = PodReading | LimitRange | ResourceQuota | KubeletConfig | KubeletText

_SKIPPED_KINDS = frozenset((*WITHOUT_PODS, "Kustomization", "Component"))
_POLICY_GROUPS = ("kyverno.io", "gatekeeper.sh")
"""Groups whose objects hold patterns of pods, not pods."""


def read_objects(source: Source, root: Node) -> Iterator[KubeObject]:
    """Yield what is of interest in a document, lists of objects included."""
    if type(root) is dict and is_object(root) and text(root["kind"]) in POD_PATHS:
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
        elif is_object(node):
            yield from _read_object(source, node, waiting)
        else:
            waiting.extend(node[key] for key in reversed(node) if key)


def _read_object(source: Source, root: Mapping, waiting: list[Node]) -> Iterator[KubeObject]:
    """Read one object and leave the objects inside it to the caller."""
    kind = text(root["kind"])
    api_version = text(root["apiVersion"])
    if kind in _SKIPPED_KINDS or api_version.partition("/")[0].endswith(_POLICY_GROUPS):
        return
    if kind == LIMIT_RANGE:
        yield _limit_range(source.file, root)
    elif kind == RESOURCE_QUOTA:
        yield _resource_quota(source.file, root)
    elif kind == KUBELET_CONFIGURATION:
        yield read_configuration(source, root)
    elif kind == CONFIG_MAP:
        # Texts that look like objects are not what the cluster holds, but for one of the kubelet.
        yield from read_held(source, root)
    elif kind in POD_PATHS:
        if reading := _read_known(source, root, kind):
            yield reading
    else:
        yield from read_held(source, root)
        yield from _find_pods(source, root, waiting)


# ---- pods


def _find_pods(source: Source, root: Mapping, waiting: list[Node]) -> Iterator[PodReading]:
    # Most input holds nothing but the API's own kinds, and need not wait for this.
    from quota_advisor.documents.kubernetes.custom import find_pods  # noqa: PLC0415

    yield from find_pods(source, root, waiting)


def _read_known(source: Source, root: Mapping, kind: str) -> PodReading | None:
    """Read the pod of one of the API's own kinds, which is in one place or nowhere."""
    path = POD_PATHS[kind]
    template = spec = root
    for depth, key in enumerate(path, start=1):
        node = spec.get(key)
        if type(node) is not dict:
            if node is None:
                return None
            return read_misshapen(source, root, ".".join(path[:depth]), node)
        template, spec = spec, node
    if SPEC_LISTS.isdisjoint(spec):
        return None
    return read_pod(source, root, template, spec, ".".join(path))


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
    least = most = ratio = pod_least = pod_most = limit
    spec = root.get("spec")
    items = spec.get("limits") if type(spec) is dict else None
    for item in map(as_mapping, items[2:] if is_list(items) else ()):
        kind = text(item.get("type"))
        if kind == "Container":
            limit = limit or _cpu(item, "default") or _cpu(item, "max")
            request = request or _cpu(item, "defaultRequest") or limit or _cpu(item, "min")
            least = least or _cpu(item, "min")
            most = most or _cpu(item, "max")
            ratio = ratio or _cpu(item, "maxLimitRequestRatio")
        elif kind == "Pod":
            pod_least = pod_least or _cpu(item, "min")
            pod_most = pod_most or _cpu(item, "max")
    bounds = (least, most, ratio, pod_least, pod_most)
    return LimitRange(file, namespace, name, limit, request, place(root), *bounds)


def _cpu(item: Mapping, key: str) -> Scalar | None:
    amounts = item.get(key)
    return scalar(amounts.get("cpu")) if type(amounts) is dict else None


def _resource_quota(file: str, root: Mapping) -> ResourceQuota:
    namespace, name = _names(root)
    spec = root.get("spec")
    limit = request = None
    # With scopes it counts some pods of the namespace only, and which is not said here.
    if type(spec) is dict and not {"scopes", "scopeSelector"} & spec.keys():
        hard = spec.get("hard")
        if type(hard) is dict:
            limit = scalar(hard.get("limits.cpu"))
            request = scalar(hard.get("requests.cpu")) or scalar(hard.get("cpu"))
    return ResourceQuota(file, namespace, name, limit, request, place(root))
