"""Pods that workflow engines make: of a template with one container, of a task with steps.

Each template and each task becomes one pod. The engine adds containers of its own and fills in
what its configuration and its defaults say, so a container counts only with what it says itself.
Defaults (``templateDefaults``, ``stepTemplate``) count where they stand.

Source: Argo Workflows ``docs/fields.md`` (Template, ScriptTemplate, UserContainer, ContainerNode)
and ``docs/template-defaults.md``; Tekton ``docs/compute-resources.md``, ``pkg/apis/pipeline``
(container types of v1 and v1beta1, ``merge.go``) and ``pkg/internal/computeresources/tasklevel``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeGuard

from quota_advisor.documents.kubernetes.keys import SIDES
from quota_advisor.documents.kubernetes.pods import PodReading, Source
from quota_advisor.documents.kubernetes.requirements import PartReader, is_requirements
from quota_advisor.documents.yaml.tree import Mapping, Node, as_mapping, is_list, place, text
from quota_advisor.model.manifest import Container, Resources, Role

_SIZES = frozenset((*SIDES, "cpu"))


class Engine(Protocol):
    """How a workflow engine writes down its pods.

    Attributes:
        parts: Keys of a template or task under which its containers stand, or could be meant to.
        divided: Keys of mappings whose ``computeResources`` are for several containers at once.
    """

    parts: frozenset[str]
    divided: frozenset[str]

    def makes_pod(self, key: str, node: Mapping) -> bool:
        """Whether a mapping under this key becomes a pod."""
        ...

    def is_overruled(self, node: Mapping) -> bool:
        """Whether amounts in such a mapping need not be those that come into force."""
        ...

    def pod(self, node: Mapping, parent: Mapping, path: str) -> PodReading | None:
        """Return the pod of such a mapping, None where it has no amounts.

        Args:
            node: The mapping.
            parent: The mapping around it.
            path: Where it is in the object.
        """
        ...


def engine_of(group: str, source: Source, root: Mapping) -> Engine | None:
    """Return the engine whose object this is, None for any other object."""
    if group == "argoproj.io":
        return _Argo(source, root)
    return _Tekton(source, root) if group == "tekton.dev" else None


# ---- Argo


class _Argo:
    parts = frozenset(
        ("container", "script", "containerSet", "initContainers", "sidecars", "resources")
    )
    divided: frozenset[str] = frozenset()
    _holders = frozenset(("templates", "templateDefaults", "inline"))

    def __init__(self, source: Source, root: Mapping) -> None:
        self._source = source
        self._root = root
        spec = as_mapping(root.get("spec"))
        self._spec = as_mapping(spec.get("workflowSpec")) or spec
        self._defaults = as_mapping(self._spec.get("templateDefaults"))
        self._is_overruled = any(map(_patches_resources, (self._spec, self._defaults)))

    def makes_pod(self, key: str, node: Mapping) -> bool:
        return key in self._holders and not self.parts.isdisjoint(node)

    def is_overruled(self, node: Mapping) -> bool:
        return self._is_overruled or _patches_resources(node)

    def pod(self, node: Mapping, parent: Mapping, path: str) -> PodReading | None:
        reader = _ArgoReader(self._source, self._root, path)
        if node is self._defaults:
            return reader.read(node, "templateDefaults")
        return reader.read(node, text(node.get("name")) or text(parent.get("name")))


def _patches_resources(node: Mapping) -> bool:
    """Whether a patch, which is a text, can change amounts; parameters can hold anything."""
    patch = text(node.get("podSpecPatch"))
    return "resources" in patch or "{{" in patch


class _ArgoReader(PartReader):
    def read(self, node: Mapping, name: str) -> PodReading | None:
        in_set = as_mapping(node.get("containerSet")).get("containers")
        found = (
            *self._listed(node.get("initContainers"), Role.INIT, "initContainers"),
            *self._single(node, "container"),
            *self._single(node, "script"),
            *self._listed(in_set, Role.APP, "containerSet.containers"),
            *self._listed(node.get("sidecars"), Role.SIDECAR, "sidecars"),
        )
        if not _SIZES.isdisjoint(as_mapping(node.get("resources"))):
            main = "script" if "script" in node else "container"
            self._misplace(node, "resources", self.path, f"{self.path}.{main}.resources")
        if not found and not self.misplaced:
            return None
        return self.partial_pod(_within(name, found), node)

    def _single(self, node: Mapping, key: str) -> Iterator[Container]:
        main = as_mapping(node.get(key))
        if _is_sized(main):
            yield self._container(Role.APP, main, f"{self.path}.{key}")._replace(name="main")

    def _listed(self, nodes: Node, role: Role, key: str) -> Iterator[Container]:
        for index, node in enumerate(nodes[2:] if is_list(nodes) else ()):
            if _is_sized(node):
                yield self._container(role, node, f"{self.path}.{key}[{index}]")


def _is_sized(node: Node) -> TypeGuard[Mapping]:
    """Whether a container says anything of its amounts, be it in the right place or not."""
    if type(node) is not dict:
        return False
    return not _SIZES.isdisjoint(node) or not _SIZES.isdisjoint(as_mapping(node.get("resources")))


# ---- Tekton


class _Tekton:
    parts = frozenset(("steps", "sidecars"))
    divided = frozenset(("spec", "taskRunSpecs"))
    _holders = frozenset(("spec", "taskSpec"))
    _overruling = frozenset(
        (
            "computeResources",
            "sidecarOverrides",
            "sidecarSpecs",
            "stepOverrides",
            "stepSpecs",
            "taskRunSpecs",
        )
    )
    """Keys of a run that lay amounts over those of its task."""

    def __init__(self, source: Source, root: Mapping) -> None:
        self._source = source
        self._root = root
        self._is_overruled = not self._overruling.isdisjoint(as_mapping(root.get("spec")))

    def makes_pod(self, key: str, node: Mapping) -> bool:
        return key in self._holders and not self.parts.isdisjoint(node)

    def is_overruled(self, node: Mapping) -> bool:  # noqa: ARG002 - of an engine
        return self._is_overruled

    def pod(self, node: Mapping, parent: Mapping, path: str) -> PodReading | None:
        name = "" if parent is self._root else text(parent.get("name"))
        return _TektonReader(self._source, self._root, path).read(node, name)


class _TektonReader(PartReader):
    def __init__(self, source: Source, root: Mapping, path: str) -> None:
        super().__init__(source, root, path)
        is_v1 = text(root["apiVersion"]).endswith("/v1")
        self._key = "computeResources" if is_v1 else "resources"
        self._other = "resources" if is_v1 else "computeResources"

    def read(self, node: Mapping, name: str) -> PodReading | None:
        found = (
            *self._listed(node, "steps", Role.APP),
            *self._listed(node, "sidecars", Role.SIDECAR),
        )
        if not found and not self.misplaced:
            return None
        return self.partial_pod(_within(name, found), node)

    def _listed(self, node: Mapping, key: str, role: Role) -> Iterator[Container]:
        steps = node.get(key)
        for index, step in enumerate(steps[2:] if is_list(steps) else ()):
            path = f"{self.path}.{key}[{index}]"
            if type(step) is not dict:
                continue
            if is_requirements(step.get(self._other)):
                self._misplace(step, self._other, path, f"{path}.{self._key}")
            if is_requirements(resources := step.get(self._key)):
                yield self._step(role, step, self.requirements(resources), path)

    def _step(self, role: Role, step: Mapping, resources: Resources, path: str) -> Container:
        return Container(
            role,
            text(step.get("name")) or path.rpartition(".")[2],
            text(step.get("image")),
            self._command(step, path),
            self._env(step.get("env"), path),
            resources,
            place(step),
            path,
        )


# ---- both


def _within(name: str, containers: tuple[Container, ...]) -> tuple[Container, ...]:
    """Return containers named within their template: most of Argo's are called the same."""
    if not name:
        return containers
    return tuple(c._replace(name=f"{name}/{c.name}") for c in containers)
