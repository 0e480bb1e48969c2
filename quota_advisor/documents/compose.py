"""Compose files: services with what bears on their CPU, ``extends`` in the same file resolved."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import chain

from quota_advisor.documents.tree import (
    Mapping,
    Node,
    as_scalar,
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
    ComposeService,
    DocumentNote,
    NoteKind,
    Scalar,
    WrongShape,
)
from quota_advisor.model.suppression import Suppression

_SERVICE_KEYS = frozenset(
    (
        "build", "command", "container_name", "cpu_count", "cpu_percent", "cpu_period",
        "cpu_quota", "cpu_shares", "cpus", "cpuset", "depends_on", "deploy", "entrypoint",
        "environment", "env_file", "expose", "extends", "healthcheck", "image", "mem_limit",
        "networks", "ports", "profiles", "restart", "volumes",
    )
)  # fmt: skip

_SETTINGS = (
    "cpus",
    "cpu_quota",
    "cpu_period",
    "cpu_shares",
    "cpuset",
    "cpu_count",
    "cpu_percent",
)
_MERGED = frozenset(("environment", "deploy", "resources", "limits", "reservations"))
"""Mappings that ``extends`` joins; every other key of the extending service replaces the other."""

_MAX_EXTENDS = 32
_VARIABLE = re.compile(r"(?<!\$)(?:\$\$)*\$[{A-Za-z_]")


def is_compose(root: Node) -> bool:
    """Whether a document is a compose file, judged by what its services look like."""
    if type(root) is not dict or "apiVersion" in root or "kind" in root:
        return False
    services = root.get("services")
    if type(services) is not dict:
        return False
    known = [node for _, node in pairs(services) if type(node) is dict]
    return any(not _SERVICE_KEYS.isdisjoint(node) for node in known)


def read_compose(
    file: str, root: Mapping, suppressions: tuple[Suppression, ...]
) -> Iterator[ComposeService | DocumentNote]:
    """Yield the services of a compose file, and what of them stands in other files."""
    services: Mapping = root["services"]
    for name, node in pairs(services):
        resolved, other_file = _extended(services, name)
        if other_file is not None:
            reason = f"the service {name!r} extends one in {other_file.text}, which is not read"
            yield DocumentNote(file, NoteKind.SKIPPED, reason, other_file.line, other_file.column)
        if type(node) is not dict:
            resolved = {}
        yield _Service(file, services, name).read(resolved, node, suppressions)


def _extended(services: Mapping, name: str) -> tuple[Mapping, Scalar | None]:
    """Return a service with what it extends, and the name of another file that it needs."""
    layers: list[Mapping] = []
    seen: set[str] = set()
    other_file: Scalar | None = None
    while name not in seen and len(seen) < _MAX_EXTENDS:
        seen.add(name)
        node = services.get(name)
        if type(node) is not dict:
            break
        layers.append(node)
        extends = node.get("extends")
        if type(extends) is dict:
            other_file = scalar(extends.get("file"))
            if other_file is not None:
                break
            extends = extends.get("service")
        name = text(extends)
    merged: Mapping = {}
    for layer in reversed(layers):
        merged = _merge(merged, layer)
    return merged, other_file


def _merge(base: Mapping, over: Mapping) -> Mapping:
    """Lay one service over another; places stay with the values."""
    merged = {**base, **over}
    for key in _MERGED & base.keys() & over.keys():
        if type(base[key]) is dict and type(over[key]) is dict:
            merged[key] = _merge(base[key], over[key])
    return merged


class _Service:
    def __init__(self, file: str, services: Mapping, name: str) -> None:
        self.file = file
        self.name = name
        self.where = key_place(services, name)
        self.wrong: list[WrongShape] = []

    def read(
        self, resolved: Mapping, node: Node, suppressions: tuple[Suppression, ...]
    ) -> ComposeService:
        if type(node) is not dict:
            self._wrong(f"services.{self.name}", "a mapping", node)
        settings = dict(self._settings(resolved))
        words = chain(self._words(resolved, "entrypoint"), self._words(resolved, "command"))
        return ComposeService(
            file=self.file,
            name=self.name,
            image=text(resolved.get("image")),
            settings=settings,
            environment=dict(self._environment(resolved.get("environment"))),
            command=tuple(words),
            suppressions=suppressions,
            wrong_shapes=tuple(self.wrong),
            place=self.where,
        )

    def _settings(self, service: Mapping) -> Iterator[tuple[str, Scalar]]:
        for key in _SETTINGS:
            yield from self._setting(service, key, key)
        deploy = self._mapping(service, "deploy", "deploy")
        yield from self._setting(deploy, "replicas", "deploy.replicas")
        resources = self._mapping(deploy, "resources", "deploy.resources")
        for kind in ("limits", "reservations"):
            path = f"deploy.resources.{kind}"
            amounts = self._mapping(resources, kind, path)
            yield from self._setting(amounts, "cpus", f"{path}.cpus")

    def _setting(self, holder: Mapping, key: str, path: str) -> Iterator[tuple[str, Scalar]]:
        node = holder.get(key)
        if is_null(node):
            return
        value = scalar(node)
        if value is None:
            self._wrong(self._path(path), "a scalar", node)
        elif not _VARIABLE.search(value.text):
            # A value from a variable is for whoever runs the file to know.
            yield path, value

    def _mapping(self, holder: Mapping, key: str, path: str) -> Mapping:
        node = holder.get(key)
        if type(node) is dict:
            return node
        if not is_null(node):
            self._wrong(self._path(path), "a mapping", node)
        return {}

    def _environment(self, node: Node) -> Iterator[tuple[str, Scalar]]:
        if type(node) is dict:
            for name, value in pairs(node):
                if name and (held := scalar(value)):
                    yield name, held
        elif is_list(node):
            for item in node[2:]:
                entry = scalar(item)
                name, equals, value = entry.text.partition("=") if entry else ("", "", "")
                if entry and equals:
                    yield name, _inside(entry, value, len(name) + 1)
        elif not is_null(node):
            self._wrong(self._path("environment"), "a mapping", node)

    def _words(self, service: Mapping, key: str) -> Iterator[Scalar]:
        node = service.get(key)
        if is_list(node):
            for item in node[2:]:
                if is_scalar(item):
                    yield as_scalar(item)
        elif written := scalar(node):
            yield from _split(written)
        elif not is_null(node):
            self._wrong(self._path(key), "a list", node)

    def _path(self, path: str) -> str:
        return f"services.{self.name}.{path}"

    def _wrong(self, path: str, expected: str, node: Node) -> None:
        line, column = place(node)
        self.wrong.append(WrongShape(path, expected, what(node), line, column))


def _inside(whole: Scalar, part: str, offset: int) -> Scalar:
    """Return a part of a scalar; its column is right unless escapes stand before it."""
    quote = 0 if whole.plain else 1
    return Scalar(part, whole.plain, whole.line, whole.column + quote + offset)


def _split(written: Scalar) -> Iterator[Scalar]:
    """Split a command line as a shell would; every word has the place of the whole."""
    try:
        words = shlex.split(written.text)
    except ValueError:
        words = written.text.split()
    for word in words:
        yield Scalar(word, False, written.line, written.column)
