"""Keys and kinds of Kubernetes objects that are read: whatever else a document holds is dropped.

Most of a manifest says nothing about CPU, and keeping it costs more time than reading it. So the
readers of YAML and JSON, the native one among them, drop every key that no table here names. A key
that a module of this folder asks for must be in one of them, or it is never there;
``tests/documents/test_every_field_survives.py`` notices, and says which table lacks it.
"""

from __future__ import annotations

# ---- kinds

LIMIT_RANGE = "LimitRange"
RESOURCE_QUOTA = "ResourceQuota"
KUBELET_CONFIGURATION = "KubeletConfiguration"
CONFIG_MAP = "ConfigMap"

ABOUT_NAMESPACES = (LIMIT_RANGE, RESOURCE_QUOTA)
"""Kinds that say something about the pods of their namespace."""

WITHOUT_PODS = ("CustomResourceDefinition", "Secret")
"""Kinds that hold no pod template, whatever their contents look like."""

WITH_SELECTOR = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
"""Kinds whose objects the API refuses without ``spec.selector``."""

_TEMPLATE = ("spec", "template", "spec")

POD_PATHS = {
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
    **dict.fromkeys((*WITH_SELECTOR, "Job", "ReplicationController"), _TEMPLATE),
}
"""Where the kinds of the API itself hold a pod's spec."""

# ---- keys

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
"""Keys of a pod's spec that hold its containers, in the order in which these start."""

SPEC_LISTS = frozenset(CONTAINER_LISTS)

SIDES = ("requests", "limits")
"""Keys of ``resources`` that hold amounts."""

AMOUNTS = ("cpu", "memory")
"""Resources that any rule asks for."""

MISSPELT_CPU = frozenset(("cpus", "CPU", "CPUs", "Cpu"))
"""Names that the API refuses in requests and limits; names of resources are case-sensitive."""

OS_LABELS = ("kubernetes.io/os", "beta.kubernetes.io/os")
"""Labels of a node that name its operating system."""

OBJECT_KEYS = (
    "apiVersion", "kind", "metadata", "selector",
    "name", "namespace", "generateName", "annotations",
)  # fmt: skip
"""Keys of an object, its metadata included; those on the way to a pod are in :data:`POD_PATHS`."""

POD_KEYS = ("nodeSelector", "os", "resources", *OS_LABELS)
"""Keys of a pod's spec besides :data:`CONTAINER_LISTS`."""

CONTAINER_KEYS = ("args", "command", "env", "image", "restartPolicy", "value")
"""Keys of a container and of its variables, besides ``name`` and ``resources``."""

REFERENCE_KEYS = ("containerName", "divisor", "path", "resource")
"""Keys of what takes an amount from the downward API."""

WORKFLOW_KEYS = ("podSpecPatch", "script")
"""Keys of workflow engines."""

# ---- what the readers of YAML and JSON keep

STRONG_KEYS = SPEC_LISTS | {*SIDES, "cpu", *MISSPELT_CPU, "resourceFieldRef"}
"""Keys that make everything around them worth keeping."""

WEAK_KEYS = frozenset(
    (
        *OBJECT_KEYS,
        *(key for path in POD_PATHS.values() for key in path),
        *POD_KEYS,
        *CONTAINER_KEYS,
        *AMOUNTS,
        *REFERENCE_KEYS,
        *WORKFLOW_KEYS,
    )
).difference(STRONG_KEYS)
"""Keys that are kept wherever the mapping around them is."""

OPEN_KEYS = frozenset(("annotations",))
"""Keys of mappings in which every scalar is kept."""
