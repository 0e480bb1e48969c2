"""One compose document: what is written in it about each service, before anything is merged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from quota_advisor.documents.compose.keys import LIMITS, READ_KEYS, RESERVATIONS
from quota_advisor.documents.compose.unknown_keys import unknown_keys
from quota_advisor.documents.yaml import tree
from quota_advisor.documents.yaml.tree import (
    EMPTY,
    Node,
    Tree,
    Value,
    as_mapping,
    as_scalar,
    is_list,
    is_null,
    is_scalar,
    key_place,
    pairs,
    place,
    placed_pairs,
    scalar,
    text,
    what,
)
from quota_advisor.model.manifest import (
    FileScalar,
    Place,
    Scalar,
    UnknownKey,
    UnresolvedExtends,
    WrongShape,
)
from quota_advisor.model.suppression import Suppression
from quota_advisor.records import NamedTuple, dataclass

RESET, OVERRIDE = "!reset", "!override"
"""Tags of compose: nothing counts here any more; only what stands here counts."""

_VARIABLE = re.compile(r"(?<!\$)(?:\$\$)*\$[{A-Za-z_]")


class Extends(NamedTuple):
    """The ``extends`` of a service.

    Attributes:
        service: The other service; empty where none is named.
        other: The file that it stands in, as written; empty for the same document.
        at: The value to blame where it cannot be found.
    """

    service: str
    other: str
    at: FileScalar

    @property
    def is_variable(self) -> bool:
        """Whether a variable has a part in it."""
        return any(_VARIABLE.search(written) for written in (self.service, self.other))


class Definition(NamedTuple):
    """What is known of a service: what one document says, or several laid over each other.

    Attributes:
        file: The file that defines it.
        place: Of its key.
        settings: As in ``ComposeService``; None for what only the one who runs it knows.
        environment: Likewise.
        words: ``entrypoint`` and ``command``, where they are written.
        extends: What it extends, while that is not resolved.
        is_null: Its key has no value.
        cleared: Paths below which nothing else counts that this is laid over; an empty path is the
            whole service.
    """

    file: str
    name: str
    place: Place
    image: str
    settings: Mapping[str, FileScalar | None]
    environment: Mapping[str, FileScalar | None]
    words: Mapping[str, tuple[FileScalar, ...]]
    extends: Extends | None
    is_null: bool
    suppressions: tuple[Suppression, ...]
    cleared: tuple[str, ...] = ()
    wrong_shapes: tuple[WrongShape, ...] = ()
    unresolved: tuple[UnresolvedExtends, ...] = ()
    unknown_keys: tuple[UnknownKey, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The services of a compose document, or of a whole file; each object is a thing of its own.

    Attributes:
        file: Path as given by the user.
        services: By name; None for one that the document takes away.
        is_all: No service counts that it is laid over.
    """

    file: str
    services: Mapping[str, Definition | None]
    is_all: bool = False

    @property
    def other_files(self) -> frozenset[str]:
        """The files that its services extend others of, as written."""
        extends = (d.extends for d in self.services.values() if d and d.extends)
        return frozenset(e.other for e in extends if e.other)


def read_layer(file: str, document: Tree, suppressions: tuple[Suppression, ...]) -> Layer:
    """Return what a compose document says of its services."""
    tags = {Place(tag.line, tag.column): tag.tag for tag in document.tags}
    services = as_mapping(as_mapping(document.root).get("services"))
    read = {}
    for name, where, node in placed_pairs(services):
        taken_away = tags.get(place(node)) == RESET
        service = _Service(file, name, tags)
        read[name] = None if taken_away else service.read(node, where, suppressions)
    tag = tags.get(place(services))
    return Layer(file, {} if tag == RESET else read, tag in (RESET, OVERRIDE))


class _Service:
    def __init__(self, file: str, name: str, tags: Mapping[Place, str]) -> None:
        self._file = file
        self._name = name
        self._tags = tags
        self._wrong: list[WrongShape] = []
        self._cleared: list[str] = []
        self._unknown: list[UnknownKey] = []

    def read(self, node: Value, where: Place, suppressions: tuple[Suppression, ...]) -> Definition:
        service = self._mapping(node, "")
        if is_null(node):
            self._misshapen("", "a mapping", node)
        return Definition(
            file=self._file,
            name=self._name,
            place=where,
            image=text(service.get("image")),
            settings=dict(self._settings(service)),
            environment=dict(self._environment(service)),
            words=dict(self._words(service)),
            extends=self._extends(service.get("extends")),
            is_null=is_null(node),
            suppressions=suppressions,
            cleared=tuple(self._cleared),
            wrong_shapes=tuple(self._wrong),
            unknown_keys=tuple(self._unknown),
        )

    def _settings(self, service: tree.Mapping) -> Iterator[tuple[str, FileScalar | None]]:
        self._look_at_keys(service, "")
        for key in READ_KEYS:
            yield from self._setting(service.get(key), key)
        deploy = self._mapping(service.get("deploy"), "deploy")
        self._look_at_keys(deploy, "deploy")
        yield from self._setting(deploy.get("replicas"), "deploy.replicas")
        resources = self._mapping(deploy.get("resources"), "deploy.resources")
        self._look_at_keys(resources, "deploy.resources")
        for path in (LIMITS, RESERVATIONS):
            amounts = self._mapping(resources.get(path.rpartition(".")[2]), path)
            self._look_at_keys(amounts, path)
            yield from self._setting(amounts.get("cpus"), f"{path}.cpus")

    def _setting(self, node: Node, path: str) -> Iterator[tuple[str, FileScalar | None]]:
        node = self._untagged(node, path)
        if node is None or is_null(node):
            return
        value = self._scalar(node)
        if value is None:
            self._misshapen(path, "a scalar", node)
        else:
            # A value from a variable is for whoever runs the file to know.
            yield path, None if _VARIABLE.search(value.text) else value

    def _environment(self, service: tree.Mapping) -> Iterator[tuple[str, FileScalar | None]]:
        node = self._untagged(service.get("environment"), "environment")
        if type(node) is dict:
            for name, value in pairs(node):
                held = self._untagged(value, f"environment.{name}")
                if name and held is not None:
                    yield name, self._scalar(held)
        elif is_list(node):
            for item in node[2:]:
                entry = self._scalar(item)
                name, equals, part = entry.text.partition("=") if entry else ("", "", "")
                if entry and name:
                    yield name, _inside(entry, part, len(name) + 1) if equals else None
        elif node is not None and not is_null(node):
            self._misshapen("environment", "a mapping", node)

    def _words(self, service: tree.Mapping) -> Iterator[tuple[str, tuple[FileScalar, ...]]]:
        for key in ("entrypoint", "command"):
            node = self._untagged(service.get(key), key)
            if node is not None:
                yield key, tuple(self._split(node, key))

    def _split(self, node: Value, key: str) -> Iterator[FileScalar]:
        if is_list(node):
            words = (as_scalar(item) for item in node[2:] if is_scalar(item))
            yield from (FileScalar.of(word, self._file) for word in words)
        elif written := self._scalar(node):
            yield from _split(written)
        elif not is_null(node):
            self._misshapen(key, "a list", node)

    def _extends(self, node: Node) -> Extends | None:
        node = self._untagged(node, "extends")
        if node is None:
            return None
        at = FileScalar.of(Scalar("", False, *place(node)), self._file)
        if is_scalar(node):
            return Extends(text(node), "", at)
        if type(node) is not dict:
            self._misshapen("extends", "a mapping", node)
            return None
        service, other = node.get("service"), node.get("file")
        at = self._scalar(other) or self._scalar(service) or at
        return Extends(text(service), text(other), at)

    # ---- values

    def _mapping(self, node: Node, path: str) -> tree.Mapping:
        node = self._untagged(node, path)
        if type(node) is dict:
            return node
        if node is not None and not is_null(node):
            self._misshapen(path, "a mapping", node)
        return EMPTY

    def _scalar(self, node: Node) -> FileScalar | None:
        value = scalar(node)
        return value and FileScalar.of(value, self._file)

    def _untagged(self, node: Node, path: str) -> Node:
        """Note what a tag says about a value, and return the value unless it is taken away."""
        tag = self._tags.get(place(node)) if self._tags and node is not None else None
        if tag not in (RESET, OVERRIDE):
            return node
        self._cleared.append(path)
        return None if tag == RESET else node

    def _look_at_keys(self, mapping: tree.Mapping, path: str) -> None:
        """Note the keys about CPU of a mapping that compose does not know."""
        for key, belongs in unknown_keys(path, mapping):
            if self._tags and self._tags.get(place(mapping[key])) == RESET:
                continue
            renamed = [there.rpartition(".")[0] for there in belongs] == [path]
            at = key_place(mapping, key)
            self._unknown.append(UnknownKey(key, path, belongs, renamed, *at, self._file))

    def _misshapen(self, path: str, expected: str, node: Value) -> None:
        path = f"services.{self._name}.{path}".removesuffix(".")
        shape = WrongShape(path, expected, what(node), *place(node), self._file)
        self._wrong.append(shape)


def _inside(whole: FileScalar, part: str, offset: int) -> FileScalar:
    """Return a part of a scalar; its column is right unless escapes stand before it."""
    quote = 0 if whole.plain else 1
    return whole.part(part, plain=whole.plain, offset=quote + offset)


def _split(written: FileScalar) -> Iterator[FileScalar]:
    """Split a command line as a shell would; every word has the place of the whole."""
    try:
        words = shlex.split(written.text)
    except ValueError:
        words = written.text.split()
    for word in words:
        yield written.part(word, plain=False)
