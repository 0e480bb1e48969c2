"""A file of YAML or JSON as model objects: what lint reads, in the order of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quota_advisor.documents.compose import is_compose, read_compose
from quota_advisor.documents.json_tree import NotJsonError, read_json
from quota_advisor.documents.native_tree import native_reader
from quota_advisor.documents.objects import read_objects
from quota_advisor.documents.pods import PodReading, Source
from quota_advisor.documents.split import (
    Interest,
    Part,
    documents,
    interest,
    may_hold_amounts,
    whole,
)
from quota_advisor.documents.suppressions import MARK, from_comments
from quota_advisor.documents.text import to_utf8, without_marks
from quota_advisor.documents.tree import BrokenDocumentError, Node, PlaceWantedError, Tree
from quota_advisor.model.manifest import (
    ComposeService,
    DocumentNote,
    KubeletConfig,
    LimitRange,
    NoteKind,
    Pod,
    ResourceQuota,
)
from quota_advisor.model.suppression import Suppression

Document = Pod | LimitRange | ResourceQuota | ComposeService | KubeletConfig | DocumentNote

_JSON_START = re.compile(rb"\s*(\{\s*[\"}]|\[\s*[\[{\]])")
_WORTH_PARSING = (b"ontainers", b'"services"', b"LimitRange", b"ResourceQuota", b"KubeletConf")
_HEAD_BYTES = 8192
_PATCH = b"$patch"


def read_manifest(name: str, data: bytes) -> Iterator[Document]:
    """Yield everything of interest in YAML or JSON, whatever the file is called."""
    try:
        text = to_utf8(data)
    except UnicodeDecodeError as error:
        yield DocumentNote(name, NoteKind.UNREADABLE, f"the text is not {error.encoding}", 1, 1)
        return
    if 0 in text[:_HEAD_BYTES]:
        if any(word in text for word in _WORTH_PARSING):
            yield DocumentNote(name, NoteKind.UNREADABLE, "the file is binary", 1, 1)
        return
    yield from read_part(name, text, whole(text))


def read_part(name: str, data: bytes, part: Part) -> Iterator[Document]:
    """Yield everything of interest in some documents of a file.

    Args:
        name: Path as given by the user.
        data: The whole file as :func:`to_utf8` returns it.
        part: Which documents: ``whole(data)``, or a run of them that begins at a ``---``.
    """
    yield from _File(name, data).read(part)


def _roots(data: bytes, part: Part) -> Iterator[tuple[Part, Node]]:
    """Yield the documents of a part, with what the fast way made of them; None for a closer look.

    What that way passes over is left out.
    """
    native = native_reader()
    found = None if native is None else native.read(data, part)
    if found is None:
        yield from ((document, None) for document in documents(data, part))
    else:
        yield from ((Part(start, end, line), root) for start, end, line, root in found)


class _File:
    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data
        self._templates = False
        self._patch = _PATCH in data
        self._comments = MARK in data

    def read(self, part: Part) -> Iterator[Document]:
        if _JSON_START.match(self.data, part.start, part.end):
            try:
                yield from self._json(part)
            except NotJsonError:
                pass
            else:
                return
        for document, root in _roots(self.data, part):
            if root is not None:
                try:
                    yield from self._objects(self._source(document), root)
                except PlaceWantedError:
                    # Something is where it does not belong; the exact way knows every place.
                    pass
                else:
                    continue
            wanted = interest(self.data, document)
            if wanted is not Interest.NOTHING:
                yield from self._document(document, wanted)

    # ---- JSON

    def _json(self, part: Part) -> Iterator[Document]:
        raw = self.data[part.start : part.end]
        worth = any(word in raw for word in _WORTH_PARSING)
        if not worth and not may_hold_amounts(raw, 0, len(raw)):
            # JSON or not, it is skipped as cheaply as any other text.
            raise NotJsonError
        patch = _PATCH in raw
        prune = not any(word in raw for word in _WORTH_PARSING[1:])
        native = native_reader() if prune else None
        found = None if native is None else native.read_json(self.data, part)
        if found is not None:
            for *_, root in found:
                yield from self._objects(Source(self.name, (), patch), root)
            return
        try:
            trees = list(read_json(raw.decode("utf-8"), prune=prune))
        except UnicodeDecodeError:
            raise NotJsonError from None
        except BrokenDocumentError as error:
            yield self._broken(error)
            return
        for tree in trees:
            yield from self._tree(tree, Source(self.name, (), patch))

    # ---- YAML

    def _document(self, part: Part, wanted: Interest) -> Iterator[Document]:
        try:
            tree = self._exact(part, prune=wanted is Interest.PODS)
        except BrokenDocumentError as error:
            yield from self._cannot_read(error)
        else:
            yield from self._tree(tree, self._source(part))

    def _exact(self, part: Part, *, prune: bool) -> Tree:
        # The parser takes longer to import than most files take to read the other way.
        from quota_advisor.documents.yaml_tree import read_yaml  # noqa: PLC0415

        data = without_marks(self.data[part.start : part.end])
        tree = read_yaml(data, part.line, prune=prune)
        if is_compose(tree.root) and (prune or b"<<" in data):
            return read_yaml(data, part.line, prune=False, written_wins=True)
        return tree

    def _source(self, part: Part) -> Source:
        """Return what is known of a document that could be read."""
        patch = self._patch and self.data.find(_PATCH, part.start, part.end) >= 0
        comments: tuple[Suppression, ...] = ()
        if self._comments and self.data.find(MARK, part.start, part.end) >= 0:
            data = without_marks(self.data[part.start : part.end])
            comments = from_comments(self.name, data, part.line)
        return Source(self.name, comments, patch)

    def _tree(self, tree: Tree, source: Source) -> Iterator[Document]:
        compose = is_compose(tree.root)
        for key, line, column in tree.duplicates:
            text = f"the key {key!r} is written twice; the later one counts"
            yield DocumentNote(self.name, NoteKind.DUPLICATE_KEY, text, line, column)
        if tree.tags and not compose:
            tag, line, column = tree.tags[0]
            yield DocumentNote(
                self.name, NoteKind.SKIPPED, f"the tag {tag} is not one of YAML's", line, column
            )
        elif compose:
            yield from read_compose(self.name, tree.root, source.suppressions)
        elif tree.root is not None:
            yield from self._objects(source, tree.root)

    def _objects(self, source: Source, root: Node) -> Iterator[Document]:
        # All of them before the first is handed on: reading may have to begin again.
        for found in list(read_objects(source, root)):
            if not isinstance(found, PodReading):
                yield found
                continue
            if found.template is not None:
                yield from self._render_first(found.template.line, found.template.column)
            yield found.pod

    # ---- what cannot be read

    def _cannot_read(self, error: BrokenDocumentError) -> Iterator[DocumentNote]:
        if error.template:
            yield from self._render_first(error.line, error.column)
        else:
            yield self._broken(error)

    def _render_first(self, line: int, column: int) -> Iterator[DocumentNote]:
        if not self._templates:
            self._templates = True
            text = "a template: render it and lint what comes out"
            yield DocumentNote(self.name, NoteKind.RENDER_FIRST, text, line, column)

    def _broken(self, error: BrokenDocumentError) -> DocumentNote:
        kind = NoteKind.UNREADABLE if error.limit else NoteKind.BROKEN
        return DocumentNote(self.name, kind, error.reason, error.line, error.column)
