"""A file of YAML or JSON as model objects: what lint reads, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quota_advisor.documents.claims import claims_to_be_ours
from quota_advisor.documents.compose.recognise import is_compose, is_compose_name
from quota_advisor.documents.kubernetes.helm_values import as_object, is_values
from quota_advisor.documents.kubernetes.kubelets import (
    KubeletText,
    is_drop_in,
    is_kubeadm_patch,
    read_configuration,
)
from quota_advisor.documents.kubernetes.objects import KubeObject, read_objects
from quota_advisor.documents.kubernetes.pods import PodReading, Source
from quota_advisor.documents.templates import YTT, place_on_line
from quota_advisor.documents.text import to_utf8, without_marks
from quota_advisor.documents.yaml.json_tree import NotJsonError, read_json
from quota_advisor.documents.yaml.native_tree import native_reader
from quota_advisor.documents.yaml.split import (
    EXACT_WORDS,
    JSON_SERVICES,
    POD_WORDS,
    Interest,
    Part,
    documents,
    has_amount_key,
    interest,
    may_hold_amounts,
    whole,
)
from quota_advisor.documents.yaml.suppressions import MARK, from_comments
from quota_advisor.documents.yaml.tree import (
    BrokenDocumentError,
    Node,
    PlaceWantedError,
    Tree,
    is_object,
)
from quota_advisor.model.manifest import (
    ComposeService,
    DocumentNote,
    KubeletConfig,
    LimitRange,
    NoteKind,
    Place,
    Pod,
    ResourceQuota,
)
from quota_advisor.model.suppression import Suppression
from quota_advisor.patterns import pattern

if TYPE_CHECKING:
    from quota_advisor.documents.compose.layer import Layer

Document = Pod | LimitRange | ResourceQuota | ComposeService | KubeletConfig | DocumentNote

_JSON_START = pattern(rb"\s*(\{\s*[\"}]|\[\s*[\[{\]])")
_WORTH_READING_IN_FULL = (JSON_SERVICES, *EXACT_WORDS)
_WORTH_PARSING = (*POD_WORDS, *_WORTH_READING_IN_FULL)
_HEAD_BYTES = 8192
_PATCH = b"$patch"


def read_manifest(name: str, data: bytes) -> Iterator[Document]:
    """Yield everything of interest in YAML or JSON, whatever the file is called."""
    file = _File(name, compose=False)
    yield from file.read_whole(data)
    yield from _services(file.layers)


def read_part(name: str, data: bytes, part: Part) -> Iterator[Document]:
    """Yield everything of interest in some documents of a file.

    Args:
        name: Path as given by the user.
        data: The whole file as :func:`to_utf8` returns it.
        part: Which documents: ``whole(data)``, or a run of them that begins at a ``---``.
    """
    file = _File(name, compose=False)
    yield from file.read(data, part)
    yield from _services(file.layers)


def read_compose(name: str, data: bytes) -> tuple[list[Document], list[Layer]]:
    """Return a file that is known to hold compose documents: what else is in it, and these.

    Their services are as written: what stands in other files is the caller's to find and merge.
    """
    file = _File(name, compose=True)
    return list(file.read_whole(data)), file.layers


def _services(layers: Sequence[Layer]) -> Iterator[ComposeService]:
    """Yield the services of a file that has no others beside it."""
    if layers:
        # Few inputs hold any: most need none of this.
        from quota_advisor.documents.compose.merge import (  # noqa: PLC0415
            ExtendsResolver,
            no_other_file,
            services,
        )

        yield from services(layers, ExtendsResolver(no_other_file))


class _File:
    """A file that is read.

    Args:
        name: Path as given by the user.
        compose: It is known to hold compose documents.

    Attributes:
        layers: Its compose documents, once it is read.
    """

    def __init__(self, name: str, *, compose: bool) -> None:
        self.name = name
        self.data = b""
        self.layers: list[Layer] = []
        self._compose = compose
        self._templates = False
        self._patch = self._comments = self._ytt = False
        self._values = is_values(name)
        self._part = whole(b"")
        self._ours: bool | None = None
        self._lines: list[bytes] = []
        self._kubeadm = is_kubeadm_patch(name)
        self._patch_file = self._kubeadm or is_drop_in(name)

    def read_whole(self, data: bytes) -> Iterator[Document]:
        """Yield what is in a file except its compose documents."""
        try:
            text = to_utf8(data)
        except UnicodeDecodeError as error:
            yield self._unreadable(f"the text is not {error.encoding}")
            return
        if 0 not in text[:_HEAD_BYTES]:
            yield from self.read(text, whole(text))
        elif any(word in text for word in _WORTH_PARSING):
            yield self._unreadable("the file is binary")

    def read(self, data: bytes, part: Part) -> Iterator[Document]:
        """Yield what is in some documents except those of compose."""
        self.data, self._part = data, part
        self._patch, self._comments, self._ytt = _PATCH in data, MARK in data, YTT in data
        if _JSON_START.match(self.data, part.start, part.end):
            try:
                yield from self._json(part)
            except NotJsonError:
                pass
            else:
                return
        for document, root in self._roots(part):
            if root is not None:
                try:
                    yield from self._objects(self._source(document), root)
                except PlaceWantedError:
                    # A finding needs the place of a key; only the exact reader keeps those.
                    pass
                else:
                    continue
            wanted = Interest.ANYTHING if self._compose else interest(self.data, document)
            if (
                wanted is Interest.NOTHING
                and self._values
                and has_amount_key(self.data, document.start, document.end)
            ):
                wanted = Interest.PODS
            if wanted is not Interest.NOTHING:
                yield from self._document(document, wanted)

    def _roots(self, part: Part) -> Iterator[tuple[Part, Node]]:
        """Yield documents, each with the tree that the native reader made of it.

        The tree is None where an exact reader has to read the document; documents that the native
        reader passes over are left out.
        """
        native = None if self._compose else native_reader()
        found = None if native is None else native.read(self.data, part)
        if found is None:
            yield from ((document, None) for document in documents(self.data, part))
        else:
            yield from ((Part(start, end, line), root) for start, end, line, root in found)

    def _unreadable(self, reason: str) -> DocumentNote:
        return DocumentNote(self.name, NoteKind.UNREADABLE, reason, 1, 1)

    # ---- JSON

    def _json(self, part: Part) -> Iterator[Document]:
        raw = self.data[part.start : part.end]
        worth = any(word in raw for word in _WORTH_PARSING)
        if not worth and not may_hold_amounts(raw, 0, len(raw)):
            # Nothing in it can matter, so whether it is JSON is not worth finding out.
            raise NotJsonError
        patch = self._patch_file or _PATCH in raw
        prune = not any(word in raw for word in _WORTH_READING_IN_FULL)
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
            if error.template:
                # The parser complains behind the template that confused it, not at it.
                error.column = (
                    place_on_line(self.data, part.start, error.line - part.line) or error.column
                )
            yield from self._cannot_read(error)
        else:
            yield from self._tree(tree, self._source(part))

    def _exact(self, part: Part, *, prune: bool) -> Tree:
        # The parser takes longer to import than most files take to read the other way.
        from quota_advisor.documents.yaml.exact_tree import read_yaml  # noqa: PLC0415

        data = without_marks(self.data[part.start : part.end])
        tree = read_yaml(data, part.line, prune=prune)
        if self._is_compose(tree) and (prune or b"<<" in data):
            return read_yaml(data, part.line, prune=False, written_wins=True)
        return tree

    def _is_compose(self, tree: Tree) -> bool:
        if self._compose:
            return is_compose(tree.root, known=True)
        # Values of a chart may well have a key "services".
        return not self._values and is_compose(tree.root, named=is_compose_name(self.name))

    def _source(self, part: Part) -> Source:
        """Return what is known of a document that could be read."""
        patch = self._patch and self.data.find(_PATCH, part.start, part.end) >= 0
        patch = patch or self._patch_file
        comments: tuple[Suppression, ...] = ()
        if self._comments and self.data.find(MARK, part.start, part.end) >= 0:
            data = without_marks(self.data[part.start : part.end])
            comments = from_comments(self.name, data, part.line)
        return Source(self.name, comments, patch, self._unwritten(part) if self._ytt else None)

    def _unwritten(self, part: Part) -> Place | None:
        mark = self.data.find(YTT, part.start, part.end)
        if mark < 0:
            return None
        before = self.data[part.start : mark + YTT.index(b"#")].decode("utf-8", "replace")
        return Place(part.line + before.count("\n"), len(before) - before.rfind("\n"))

    def _tree(self, tree: Tree, source: Source) -> Iterator[Document]:
        compose = self._is_compose(tree)
        for key, line, column, first in tree.duplicates:
            text = f"the key {key!r} is written twice; the later one counts"
            yield DocumentNote(self.name, NoteKind.DUPLICATE_KEY, text, line, column, first)
        if tree.tags and not compose:
            tag, line, column = tree.tags[0]
            yield DocumentNote(
                self.name, NoteKind.SKIPPED, f"the tag {tag} is not one of YAML's", line, column
            )
        elif compose:
            from quota_advisor.documents.compose.layer import read_layer  # noqa: PLC0415

            self.layers.append(read_layer(self.name, tree, source.suppressions))
        elif tree.root is not None:
            yield from self._objects(source, tree.root)

    def _objects(self, source: Source, root: Node) -> Iterator[Document]:
        values = as_object(root) if self._values else None
        # Read all before yielding any: a PlaceWantedError makes the exact reader start over.
        for found in list(self._found(source, root if values is None else values)):
            if isinstance(found, PodReading):
                open_at = source.unwritten or found.template
                if open_at is not None:
                    yield from self._render_first(open_at.line, open_at.column)
                # A text may contain "#@" by chance, so what is wrong in the pod is reported, too.
                yield found.pod._replace(partial=True) if source.unwritten else found.pod
            elif isinstance(found, KubeletText):
                yield from self._kubelet_text(found)
            else:
                yield found

    def _found(self, source: Source, root: Node) -> Iterator[KubeObject]:
        if self._kubeadm and type(root) is dict and not is_object(root):
            # Such a patch need not say of what kind it is.
            yield read_configuration(source, root)
        else:
            yield from read_objects(source, root)

    def _kubelet_text(self, held: KubeletText) -> Iterator[Document]:
        # Hardly any input holds such texts.
        from quota_advisor.documents.kubernetes.kubelet_texts import read_text  # noqa: PLC0415

        if not self._lines:
            self._lines = self.data[self._part.start : self._part.end].split(b"\n")
        found = read_text(held, self._lines, self._part.line)
        if isinstance(found, str):
            place = (held.at.line, held.at.column)
            yield DocumentNote(self.name, NoteKind.SKIPPED, found, *place)
        elif found is not None:
            yield found

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
        if self._ours is None and kind is NoteKind.BROKEN:
            # Half of all files that no parser takes are other programs' dialects.
            named = self._compose or self._values or self._patch_file
            self._ours = named or claims_to_be_ours(self.name, self.data)
        if self._ours is False:
            text = "it cannot be parsed, and nothing in it is about CPUs of a workload"
            return DocumentNote(self.name, NoteKind.SKIPPED, text, error.line, error.column)
        return DocumentNote(self.name, kind, error.reason, error.line, error.column)
