"""Settings of the kubelet: whole configurations, parts of one, and what other objects hold.

Sources: KEP-3983 (drop-ins); kubeadm's patches (``target[suffix][+patchtype].extension``); for the
objects the Go types of their own APIs.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator

from quota_advisor.documents.kubernetes.keys import CONFIG_MAP, KUBELET_CONFIGURATION
from quota_advisor.documents.kubernetes.pods import Source
from quota_advisor.documents.yaml.tree import Mapping, Node, is_list, place, scalar, text
from quota_advisor.model.finding import Subject
from quota_advisor.model.manifest import KubeletConfig, Scalar, qualified
from quota_advisor.records import NamedTuple

# Compiled when first met: few files have such names.
_DROP_IN = r"(?:.*/)?[^/]+\.d/[^/]+\.conf"
_PATCH = r"(?:.*/)?kubeletconfiguration(?![^/.+]*\+json)[^/]*\.(?:yaml|json)"
"""Of any type but JSON patches, which are lists of operations."""

_EACH = ""
"""Step of a path: every entry of a list."""

_KARPENTER = (("spec", "kubelet"),)
_HELD: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("machineconfiguration.openshift.io", "KubeletConfig"): (("spec", "kubeletConfig"),),
    ("eksctl.io", "ClusterConfig"): (("nodeGroups", _EACH, "kubeletExtraConfig"),),
    ("node.eks.aws", "NodeConfig"): (("spec", "kubelet", "config"),),
    ("kops.k8s.io", "Cluster"): (
        ("spec", "kubelet"),
        ("spec", "masterKubelet"),
        ("spec", "controlPlaneKubelet"),
    ),
    ("kops.k8s.io", "InstanceGroup"): (("spec", "kubelet"),),
    ("core.gardener.cloud", "Shoot"): (
        ("spec", "kubernetes", "kubelet"),
        ("spec", "provider", "workers", _EACH, "kubernetes", "kubelet"),
    ),
    ("karpenter.k8s.aws", "EC2NodeClass"): _KARPENTER,
    ("karpenter.azure.com", "AKSNodeClass"): _KARPENTER,
    ("karpenter.sh", "NodePool"): (("spec", "template", "spec", "kubelet"),),
}
"""Where objects hold fields of a KubeletConfiguration under their own names."""

_TEXTS: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("kind.x-k8s.io", "Cluster"): (
        ("kubeadmConfigPatches", _EACH),
        ("nodes", _EACH, "kubeadmConfigPatches", _EACH),
    ),
    ("v1", CONFIG_MAP): (("data", "kubelet"),),
}
"""Where objects hold a KubeletConfiguration as a text."""


class KubeletText(NamedTuple):
    """A text in an object that names a KubeletConfiguration.

    Attributes:
        at: The text.
        source: The document around it.
    """

    at: Scalar
    source: Source


def is_kubeadm_patch(path: str) -> bool:
    """Whether a file is a patch that kubeadm lays over the kubelet's configuration."""
    return "kubeletconfiguration" in path and re.fullmatch(_PATCH, path) is not None


def is_drop_in(path: str) -> bool:
    """Whether what a file says of the kubelet is laid over the rest of its configuration."""
    # Within the directory its name shows in the full path only.
    return path.endswith(".conf") and re.fullmatch(_DROP_IN, os.path.abspath(path)) is not None  # noqa: PTH100


def read_configuration(source: Source, root: Mapping) -> KubeletConfig:
    """Return a KubeletConfiguration; it is a part of one where the document is a patch."""
    settings = dict(_settings(root))
    return KubeletConfig(source.file, settings, source.suppressions, place(root), source.patch)


def read_held(source: Source, root: Mapping) -> Iterator[KubeletConfig | KubeletText]:
    """Yield what an object of another kind holds of a kubelet's configuration."""
    object_type = (text(root["apiVersion"]).partition("/")[0], text(root["kind"]))
    for node in _nodes(root, _HELD.get(object_type, ())):
        if type(node) is dict:
            config = read_configuration(source, node)
            yield config._replace(partial=True, holder=_subject(source, root))
    for node in _nodes(root, _TEXTS.get(object_type, ())):
        if KUBELET_CONFIGURATION in text(node) and (at := scalar(node)):
            yield KubeletText(at, source)


def _subject(source: Source, root: Mapping) -> Subject:
    metadata = root.get("metadata")
    name = namespace = ""
    if type(metadata) is dict:
        namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
    return Subject(kind=text(root["kind"]), name=qualified(namespace, name) or source.file)


def _nodes(root: Node, paths: Iterable[tuple[str, ...]]) -> Iterable[Node]:
    """Return the nodes that paths lead to, each once: aliases can lead to one of them often."""
    found: dict[int, Node] = {}
    for path in paths:
        nodes = [root]
        for step in path:
            if step == _EACH:
                nodes = [entry for node in nodes if is_list(node) for entry in node[2:]]
            else:
                nodes = [node[step] for node in nodes if type(node) is dict and step in node]
        found.update((id(node), node) for node in nodes)
    return found.values()


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
