"""Services of compose files: ``extends`` resolved, documents laid over each other.

Where two speak of the same, a value replaces a value unless it is null, mappings and variables are
joined, ``command`` and ``entrypoint`` are replaced whole. First comes what a service extends, then
what its own document says, then what later documents and files say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from quota_advisor.documents.compose.layer import Definition, Layer
from quota_advisor.documents.yaml.tree import MAX_NODES
from quota_advisor.model.manifest import (
    ComposeService,
    ExtendsFault,
    FileScalar,
    UnresolvedExtends,
)
from quota_advisor.records import NamedTuple

MAX_EXTENDS = 32
"""Services that extend each other in a row; more are not followed."""


class NotFound(NamedTuple):
    """Why a service, or the file that it should stand in, is not known.

    Attributes:
        reason: The end of a sentence.
        fault: What sort of reason.
    """

    reason: str
    fault: ExtendsFault


Find = Callable[[str, str], Layer | NotFound]
"""Gives the services of another file: asked with the file that names it, and the name written."""


def no_other_file(_file: str, _other: str) -> NotFound:
    """Find nothing: where a file is read alone."""
    return NotFound("that file is not read", ExtendsFault.NOT_READ)


class _Located(NamedTuple):
    """A service of a document, and what that document says of it."""

    layer: Layer
    definition: Definition

    @property
    def key(self) -> tuple[Layer, str]:
        return self.layer, self.definition.name


class _Budget:
    """How much may still be copied from one service to another: files can be hostile."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def allows(self, below: Definition) -> bool:
        """Count a service that is taken over; whether there was budget for it."""
        words = sum(len(words) for words in below.words.values())
        told = len(below.suppressions) + len(below.wrong_shapes) + len(below.unresolved)
        told += len(below.unknown_keys)
        self._left -= len(below.settings) + len(below.environment) + words + told
        return self._left >= 0


class _Resolved(NamedTuple):
    """A service with what it extends, and how many were laid over each other for it."""

    definition: Definition
    depth: int


class ExtendsResolver:
    """Resolves ``extends``, each service once.

    Args:
        find: Gives the services of other files.
    """

    def __init__(self, find: Find) -> None:
        self._find = find
        self._known: dict[tuple[Layer, str], _Resolved] = {}
        self._budget = _Budget()

    def resolved(self, layer: Layer, name: str) -> Definition | None:
        """Return a service of a document with what it extends; None for one taken away."""
        definition = layer.services[name]
        if definition is None:
            return None
        chain, below = self._chain(_Located(layer, definition))
        for located in reversed(chain):
            below = self._known[located.key] = self._extended(below, located.definition)
        return self._known[layer, name].definition

    def _chain(self, located: _Located) -> tuple[list[_Located], _Resolved | NotFound | None]:
        """Return services of which each extends the next, and what the last of them extends."""
        chain = {located.key: located}
        while located.key not in self._known:
            following = self._following(located)
            if following is None or isinstance(following, NotFound):
                return list(chain.values()), following
            if following.key in chain:
                loop = NotFound("they extend each other", ExtendsFault.REFUSED)
                return list(chain.values()), loop
            located = chain[following.key] = following
        chain.popitem()
        return list(chain.values()), self._known[located.key]

    def _following(self, located: _Located) -> _Located | NotFound | None:
        """Return what a service extends, without what that extends."""
        extends = located.definition.extends
        if extends is None:
            return None
        if not extends.service:
            return NotFound("it does not say which", ExtendsFault.REFUSED)
        if extends.is_variable:
            return NotFound("that is for a variable to say", ExtendsFault.NOT_READ)
        other = self._find(located.layer.file, extends.other) if extends.other else located.layer
        if isinstance(other, NotFound):
            return other
        definition = other.services.get(extends.service)
        if definition is None:
            return NotFound("there is no such service", ExtendsFault.REFUSED)
        return _Located(other, definition)

    def _extended(self, below: _Resolved | NotFound | None, over: Definition) -> _Resolved:
        """Lay a service over what it extends, or note why that is not known."""
        if isinstance(below, _Resolved):
            below = self._too_much(below) or below
        if below is None:
            return _Resolved(over, 1)
        if isinstance(below, NotFound):
            return _Resolved(_unresolved(over, below), 1)
        # A service that replaces one of another file whole still has what it extends itself.
        within = over._replace(cleared=tuple(path for path in over.cleared if path))
        merged = _laid_over(below.definition, within)
        own = merged._replace(
            file=over.file, name=over.name, place=over.place, cleared=over.cleared
        )
        return _Resolved(own, below.depth + 1)

    def _too_much(self, below: _Resolved) -> NotFound | None:
        """Return why a service is not taken over although it is known."""
        if below.depth >= MAX_EXTENDS:
            reason = f"more than {MAX_EXTENDS} services extend each other in a row"
        elif not self._budget.allows(below.definition):
            reason = f"more than {MAX_NODES:,} values have been taken over"
        else:
            return None
        return NotFound(reason, ExtendsFault.NOT_READ)


def services(
    layers: Sequence[Layer], resolver: ExtendsResolver, judged: Collection[str] | None = None
) -> Iterator[ComposeService]:
    """Yield the services of documents that are laid over each other.

    Args:
        layers: The documents; the last one counts most.
        resolver: Resolves what they extend.
        judged: Files: only services that one of them speaks of. None for all services.
    """
    budget = _Budget()
    for name, speaking in _by_name(layers).items():
        if judged is None or any(layer.file in judged for layer in speaking):
            merged: Definition | None = None
            for layer in speaking:
                merged = _over(merged, resolver.resolved(layer, name), budget)
            if merged is not None:
                yield _service(merged)


def joined(layers: Sequence[Layer]) -> Layer:
    """Return the documents of one file as one document; what they extend is not resolved."""
    if len(layers) == 1:
        return layers[0]
    budget = _Budget()
    found: dict[str, Definition | None] = {}
    for name, speaking in _by_name(layers).items():
        merged: Definition | None = None
        for layer in speaking:
            merged = _over(merged, layer.services[name], budget)
        found[name] = merged
    return Layer(layers[0].file, found)


def _by_name(layers: Sequence[Layer]) -> dict[str, list[Layer]]:
    """Return for each service the documents that speak of it."""
    found: dict[str, list[Layer]] = {}
    for layer in layers:
        if layer.is_all:
            found.clear()
        for name in layer.services:
            found.setdefault(name, []).append(layer)
    return found


def _over(below: Definition | None, over: Definition | None, budget: _Budget) -> Definition | None:
    """Return what counts where a later document may take a service away, or define it anew."""
    if below is None or over is None or not budget.allows(below):
        return over
    return _laid_over(below, over)


def _service(merged: Definition) -> ComposeService:
    return ComposeService(
        file=merged.file,
        name=merged.name,
        image=merged.image,
        settings=_known_of(merged.settings),
        environment=_known_of(merged.environment),
        command=(*merged.words.get("entrypoint", ()), *merged.words.get("command", ())),
        suppressions=merged.suppressions,
        wrong_shapes=merged.wrong_shapes,
        unresolved=merged.unresolved,
        unknown_keys=merged.unknown_keys,
        place=merged.place,
    )


def _laid_over(below: Definition, over: Definition) -> Definition:
    """Return what counts where two documents, or a service and what it extends, say something."""
    if over.is_null:
        return below
    if "" in over.cleared:
        return over
    cleared = over.cleared
    return below._replace(
        image=over.image or below.image,
        settings={**_left(below.settings, cleared), **over.settings},
        environment={**_left(below.environment, cleared, "environment."), **over.environment},
        words={**_left(below.words, cleared), **over.words},
        cleared=cleared,
        extends=over.extends or below.extends,
        suppressions=_both(below.suppressions, over.suppressions),
        wrong_shapes=_both(below.wrong_shapes, over.wrong_shapes),
        unresolved=_both(below.unresolved, over.unresolved),
        unknown_keys=_both(below.unknown_keys, over.unknown_keys),
    )


T = TypeVar("T")


def _left(values: Mapping[str, T], cleared: Sequence[str], above: str = "") -> Mapping[str, T]:
    """Return the values whose path is not cleared, nor a path above it.

    Args:
        values: By their path.
        cleared: Paths.
        above: What the paths of the values begin with.
    """
    if not cleared:
        return values
    gone = tuple(f"{path}." for path in cleared)
    return {p: value for p, value in values.items() if not f"{above}{p}.".startswith(gone)}


def _both(first: tuple[T, ...], second: tuple[T, ...]) -> tuple[T, ...]:
    """Return what is in either, once."""
    return tuple(dict.fromkeys((*first, *second))) if first and second else first or second


def _known_of(values: Mapping[str, FileScalar | None]) -> dict[str, FileScalar]:
    return {name: value for name, value in values.items() if value is not None}


def _unresolved(service: Definition, not_found: NotFound) -> Definition:
    """Return a service with a remark that what it extends is not known."""
    extends = service.extends
    if extends is None:
        return service
    other = extends.service or "a service"
    where = f" of {extends.other}" if extends.other else ""
    text = f"{service.name} extends {other}{where}: {not_found.reason}"
    at = extends.at
    remark = UnresolvedExtends(text, not_found.fault, at.line, at.column, at.file)
    return service._replace(unresolved=(*service.unresolved, remark))
