"""A pod template, wherever in an object it stands, as a :class:`Pod`."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AbstractMapping
from functools import partial

from quota_advisor.documents.kubernetes.keys import (
    AMOUNTS,
    CONTAINER_LISTS,
    MISSPELT_CPU,
    OS_LABELS,
    POD_PATHS,
    SIDES,
    WITH_SELECTOR,
)
from quota_advisor.documents.templates import is_placeholder
from quota_advisor.documents.yaml.suppressions import from_annotations
from quota_advisor.documents.yaml.tree import (
    EMPTY,
    PLACES,
    Mapping,
    Node,
    Value,
    as_mapping,
    as_scalar,
    emptied,
    is_list,
    is_null,
    is_scalar,
    key_place,
    pairs,
    place,
    scalar,
    text,
    what,
)
from quota_advisor.model.manifest import (
    Amounts,
    Container,
    Misplaced,
    Place,
    Pod,
    ResourceRef,
    Resources,
    Role,
    Scalar,
    WrongShape,
)
from quota_advisor.model.suppression import Suppression
from quota_advisor.records import NamedTuple

_MAPPING = "a mapping"
_LIST = "a list"
_SCALAR = "a scalar"
_NO_AMOUNTS: Amounts = {}

_PLACED_WRONG = frozenset((*SIDES, "cpu"))
_WRONG_IN_CONTAINER = frozenset((*SIDES, *AMOUNTS))
_READ_ELSEWHERE = _WRONG_IN_CONTAINER | {"resources"}
_WRONG_ABOVE = _PLACED_WRONG | {"resources"}
_IN_RESOURCES = frozenset((*SIDES, PLACES))

# As fast as tuples are made; the classes' own constructors take three times as long.
_as_place: Callable[[list[int]], Place] = partial(tuple.__new__, Place)
_as_resources: Callable[[tuple[object, ...]], Resources] = partial(tuple.__new__, Resources)
_as_container: Callable[[tuple[object, ...]], Container] = partial(tuple.__new__, Container)

_LISTS = tuple(zip(CONTAINER_LISTS, (Role.INIT, Role.APP, Role.EPHEMERAL), strict=True))


class Source(NamedTuple):
    """What is known of the document that an object stands in.

    Attributes:
        file: Path as given by the user.
        suppressions: Its suppression comments.
        patch: It is a patch by its directives, or by the name of its file.
        unwritten: Place of a comment that seems to stand for a value, None where there is none.
    """

    file: str
    suppressions: tuple[Suppression, ...] = ()
    patch: bool = False
    unwritten: Place | None = None


class PodReading(NamedTuple):
    """A pod, and a quantity in it that a template engine has yet to write."""

    pod: Pod
    template: Scalar | None


def read_pod(
    source: Source, root: Mapping, template: Mapping, spec: Mapping, path: str
) -> PodReading:
    """Return the pod whose spec was found.

    Args:
        source: The document.
        root: The object.
        template: The mapping around the spec; the object itself for a Pod.
        spec: The pod's spec.
        path: Where the spec is in the object.
    """
    return Reader(source, root, path).pod(template, spec)


def read_misshapen(source: Source, root: Mapping, path: str, found: Value) -> PodReading:
    """Return a pod without containers, because something else stands where its spec should be."""
    reader = Reader(source, root, path)
    reader.wrong_shape(path, _MAPPING, found)
    return reader.pod(root, emptied(root))


class Reader:
    """Reads the pod that stands at one place of an object.

    Args:
        source: The document.
        root: The object.
        path: Where in it the pod is.
    """

    def __init__(self, source: Source, root: Mapping, path: str) -> None:
        self.source = source
        self.root = root
        self.path = path
        self.wrong: list[WrongShape] = []
        self.misplaced: list[Misplaced] = []
        self.template: Scalar | None = None

    def pod(self, template: Mapping, spec: Mapping) -> PodReading:
        """Return the pod of a spec, with the mapping around it."""
        root = self.root
        metadata = self._metadata(root)
        kind, api_version = text(root.get("kind")), text(root.get("apiVersion"))
        containers = self._containers(spec)
        annotations = self._annotations(metadata, template)
        # An operator's object has containers of its own beside the resources of those it makes.
        is_pod = kind == "Pod" or self.path != "spec"
        resources = self._resources(spec if is_pod else emptied(spec), self.path)
        self._misplaced_in_object(kind, template, spec)
        pod = Pod(
            self.source.file,
            api_version,
            kind,
            text(metadata.get("name")) or generated_name(metadata),
            text(metadata.get("namespace")),
            self.path,
            containers,
            resources,
            self._volume_refs(spec) if "volumes" in spec else {},
            annotations,
            is_windows(spec),
            self.template is not None or self._is_partial(kind, api_version, containers),
            self._suppressions(annotations),
            tuple(self.wrong),
            tuple(self.misplaced),
            _as_place(root[""][:2]),
            text(spec["restartPolicy"]) if "restartPolicy" in spec else "",
        )
        return PodReading(pod, self.template)

    # ---- around the containers

    def _metadata(self, root: Mapping) -> Mapping:
        metadata = root.get("metadata")
        if type(metadata) is dict:
            return metadata
        if metadata is not None and not is_null(metadata):
            self.wrong_shape("metadata", _MAPPING, metadata)
        return EMPTY

    def _annotations(self, metadata: Mapping, template: Mapping) -> AbstractMapping[str, Scalar]:
        inner = template.get("metadata")
        if "annotations" not in metadata and (
            type(inner) is not dict or "annotations" not in inner
        ):
            return {}
        found: dict[str, Scalar] = {}
        for holder in (metadata, as_mapping(inner)):
            annotations = holder.get("annotations")
            if type(annotations) is dict:
                for key, node in pairs(annotations):
                    if value := scalar(node):
                        found[key] = value
        return found

    def _suppressions(self, annotations: AbstractMapping[str, Scalar]) -> tuple[Suppression, ...]:
        shared = self.source.suppressions
        own = tuple(from_annotations(self.source.file, annotations)) if annotations else ()
        return (*shared, *own) if own else shared

    def _is_partial(self, kind: str, api_version: str, containers: tuple[Container, ...]) -> bool:
        """Whether this is a patch: the API would refuse it as an object of its own."""
        for container in containers:
            if not container.image:
                return True
        root = self.root
        spec = root.get("spec")
        if kind in WITH_SELECTOR and api_version.startswith("apps/"):
            return type(spec) is dict and is_null(spec.get("selector"))
        if self.path == "spec" and kind != "Pod":
            # An operator lays such containers over those that it makes.
            return True
        return not containers or self.source.patch

    # ---- containers

    def _containers(self, spec: Mapping) -> tuple[Container, ...]:
        found: list[Container] = []
        for key, role in _LISTS:
            nodes = spec.get(key)
            if nodes is None:
                continue
            path = f"{self.path}.{key}"
            if not is_list(nodes):
                if key == "containers" or not is_null(nodes):
                    self.wrong_shape(path, _LIST, nodes)
                continue
            for index, node in enumerate(nodes[2:]):
                if type(node) is dict:
                    found.append(self._container(role, node, f"{path}[{index}]"))
                else:
                    self.wrong_shape(f"{path}[{index}]", _MAPPING, node)
        return tuple(found)

    def _container(self, role: Role, node: Mapping, path: str) -> Container:
        if role is Role.INIT and text(node.get("restartPolicy")) == "Always":
            role = Role.SIDECAR
        self._misplaced_in_container(node, path)
        return _as_container(
            (
                role,
                text(node.get("name")) or path.rpartition(".")[2],
                text(node.get("image")),
                self._command(node, path) if "command" in node or "args" in node else (),
                self._env(node["env"], path) if "env" in node else {},
                self._resources(node, path),
                _as_place(node[""][:2]),
                path,
            )
        )

    def _command(self, node: Mapping, path: str) -> tuple[Scalar, ...]:
        words: list[Scalar] = []
        for key in ("command", "args"):
            items = node.get(key)
            if items is None or is_null(items):
                continue
            if not is_list(items):
                self.wrong_shape(f"{path}.{key}", _LIST, items)
                continue
            for index, item in enumerate(items[2:]):
                if is_scalar(item):
                    words.append(as_scalar(item))
                else:
                    self.wrong_shape(f"{path}.{key}[{index}]", _SCALAR, item)
        return tuple(words)

    def _env(self, node: Node, path: str) -> dict[str, Scalar | ResourceRef]:
        found: dict[str, Scalar | ResourceRef] = {}
        if not is_list(node):
            if node is not None and not is_null(node):
                self.wrong_shape(f"{path}.env", _LIST, node)
            return found
        for index, item in enumerate(node[2:]):
            if type(item) is not dict:
                self.wrong_shape(f"{path}.env[{index}]", _MAPPING, item)
            elif name := text(item.get("name")):
                value = item.get("value")
                held = scalar(value) if value is not None else _from(item.get("valueFrom"))
                if held is not None:
                    found[name] = held
        return found

    # ---- resources

    def _resources(self, holder: Mapping, path: str) -> Resources:
        node = holder.get("resources")
        if type(node) is not dict:
            if node is not None:
                self.wrong_shape(f"{path}.resources", _MAPPING, node)
            return _as_resources((_NO_AMOUNTS, _NO_AMOUNTS, _as_place(holder[""][:2]), False))
        path = f"{path}.resources"
        self._misplaced_in_resources(node, path)
        return _as_resources(
            (
                self._amounts(node["requests"], f"{path}.requests") if "requests" in node else {},
                self._amounts(node["limits"], f"{path}.limits") if "limits" in node else {},
                _as_place(node[""][:2]),
                True,
            )
        )

    def _amounts(self, node: Value, path: str) -> Amounts:
        if type(node) is not dict:
            self.wrong_shape(path, _MAPPING, node)
            return _NO_AMOUNTS
        found: dict[str, Scalar] = {}
        for name in AMOUNTS:
            if name not in node:
                continue
            value = node[name]
            if not is_scalar(value):
                self.wrong_shape(f"{path}.{name}", _SCALAR, value)
            elif is_placeholder(value[0]):
                self.template = self.template or as_scalar(value)
            elif not is_null(value):
                found[name] = as_scalar(value)
        if not MISSPELT_CPU.isdisjoint(node):
            for name in sorted(MISSPELT_CPU.intersection(node)):
                self._misplace(node, name, path, f"{path}.cpu")
        return found

    def _misplaced_in_resources(self, node: Mapping, path: str) -> None:
        if node.keys() <= _IN_RESOURCES:
            return
        for key, value in pairs(node):
            if key in _IN_RESOURCES:
                continue
            if key in AMOUNTS:
                self._misplace(node, key, path, _limit_or_request(path, key))
            elif type(value) is dict and ("cpu" in value or "memory" in value):
                right = "requests" if "req" in key.lower() else "limits"
                self._misplace(node, key, path, f"{path}.{right}")

    def _misplaced_in_container(self, node: Mapping, path: str) -> None:
        if not _WRONG_IN_CONTAINER.isdisjoint(node):
            for key in sorted(_WRONG_IN_CONTAINER.intersection(node)):
                right = f"{path}.resources"
                is_amount = key in AMOUNTS
                belongs = _limit_or_request(right, key) if is_amount else f"{right}.{key}"
                self._misplace(node, key, path, belongs)
        for key, value in node.items():
            if (
                type(value) is dict
                and key not in _READ_ELSEWHERE
                and not _WRONG_ABOVE.isdisjoint(value)
            ):
                for inner in sorted(_WRONG_ABOVE.intersection(value)):
                    right = path if inner == "resources" else f"{path}.resources"
                    self._misplace(value, inner, f"{path}.{key}", f"{right}.{inner}")

    def _misplaced_in_object(self, kind: str, template: Mapping, spec: Mapping) -> None:
        """Look above the containers; what a custom resource means by such keys is its own."""
        belongs = f"{self.path}.containers[]"
        if not _PLACED_WRONG.isdisjoint(spec) and (kind in POD_PATHS or self.path != "spec"):
            for key in sorted(_PLACED_WRONG.intersection(spec)):
                self._misplace(spec, key, self.path, f"{belongs}.resources.{key}")
        if kind in POD_PATHS:
            self._misplaced_above(belongs, "", self.root)
            self._misplaced_above(belongs, "metadata", self.root.get("metadata"))
            if template is not self.root:
                self._misplaced_above(belongs, self.path.rpartition(".")[0], template)
                if self.path != "template.spec":
                    self._misplaced_above(belongs, "spec", self.root.get("spec"))

    def _misplaced_above(self, belongs: str, path: str, holder: Node) -> None:
        if type(holder) is dict and not _WRONG_ABOVE.isdisjoint(holder):
            for key in sorted(_WRONG_ABOVE.intersection(holder)):
                right = belongs if key == "resources" else f"{belongs}.resources"
                self._misplace(holder, key, path, f"{right}.{key}")

    # ---- volumes

    def _volume_refs(self, spec: Mapping) -> dict[str, ResourceRef]:
        """Return files of the downward API that hold resources."""
        found: dict[str, ResourceRef] = {}
        for volume in _mappings(spec["volumes"]):
            sources = [volume]
            if type(projected := volume.get("projected")) is dict:
                sources += _mappings(projected.get("sources"))
            for source in sources:
                if type(downward := source.get("downwardAPI")) is dict:
                    for item in _mappings(downward.get("items")):
                        if ref := _from(item):
                            found[text(item.get("path"))] = ref
        return found

    # ---- what is wrong

    def wrong_shape(self, path: str, expected: str, node: Value) -> None:
        """Note that something else stands where a type is expected."""
        line, column = place(node)
        self.wrong.append(WrongShape(path, expected, what(node), line, column))

    def _misplace(self, holder: Mapping, key: str, path: str, belongs: str) -> None:
        line, column = key_place(holder, key)
        where = f"{path}.{key}" if path else key
        self.misplaced.append(Misplaced(key, where, belongs, line, column))


def _limit_or_request(path: str, name: str) -> str:
    """Return where an amount belongs that could be either."""
    return f"{path}.limits.{name} or {path}.requests.{name}"


def _from(node: Node) -> ResourceRef | None:
    """Return the resource that an environment variable or a file takes its value from."""
    ref = node.get("resourceFieldRef") if type(node) is dict else None
    if type(ref) is not dict or (resource := scalar(ref.get("resource"))) is None:
        return None
    container = text(ref.get("containerName")) or None
    divisor = scalar(ref.get("divisor"))
    return ResourceRef(resource.text, divisor, container, resource.line, resource.column)


def _mappings(node: Node) -> list[Mapping]:
    return [item for item in node[2:] if type(item) is dict] if is_list(node) else []


def generated_name(metadata: Mapping) -> str:
    """Return the name of an object that the API gives one, as far as it is known."""
    prefix = text(metadata.get("generateName"))
    return f"{prefix}*" if prefix else ""


def is_windows(spec: Mapping) -> bool:
    """Whether a pod with such a spec runs on Windows."""
    if "os" not in spec and "nodeSelector" not in spec:
        return False
    system = spec.get("os")
    if type(system) is dict and text(system.get("name")).lower() == "windows":
        return True
    selector = spec.get("nodeSelector")
    if type(selector) is not dict:
        return False
    return any(text(selector.get(label)).lower() == "windows" for label in OS_LABELS)
