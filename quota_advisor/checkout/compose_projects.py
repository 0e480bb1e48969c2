"""Compose files that bear on each other: by ``extends``, and as a file with its override file.

Only what compose does by default is followed. Files that are not in the input are read where one
of the input needs them, even if git ignores them; they are not judged for themselves.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from quota_advisor.checkout.chunks import MAX_DOCUMENT_BYTES, Chunk, read_chunk
from quota_advisor.checkout.compose_files import ComposeFiles
from quota_advisor.checkout.inputs import InputFile, Inputs, reason
from quota_advisor.documents.compose.layer import Layer
from quota_advisor.documents.compose.merge import ExtendsResolver, NotFound, joined, services
from quota_advisor.documents.compose.recognise import BASE_NAMES, OVERRIDE_NAMES
from quota_advisor.documents.reader import Document, read_compose
from quota_advisor.model.manifest import ComposeService, DocumentNote, ExtendsFault, NoteKind
from quota_advisor.records import NamedTuple

MAX_OTHER_BYTES = 32 << 20
"""Of all files together that are read although they are not in the input."""

Named = Mapping[str, Iterable[str]]
"""Files of the input by path, each with the other files that it names in ``extends``."""

_Links = Mapping[tuple[str, str], str | NotFound]
"""Paths of files by the file that names them and the name it gives them."""

_NO_SERVICES = NotFound("there are no services in that file", ExtendsFault.REFUSED)
_TEMPLATE = NotFound("that file is a template", ExtendsFault.NOT_READ)
_NOT_READ = NotFound("that file is not read", ExtendsFault.NOT_READ)
_TOO_MANY = NotFound(
    f"more than {MAX_OTHER_BYTES >> 20} MiB of files outside of the input would be read",
    ExtendsFault.UNREADABLE,
)


class _Content(NamedTuple):
    """What was read of a file.

    Attributes:
        layers: Its compose documents.
        whole: All of them as one, or why there are none.
    """

    layers: Sequence[Layer]
    whole: Layer | NotFound


class Project(NamedTuple):
    """Compose files of which each bears on another.

    Attributes:
        files: Those of the input, in its order.
        merges: Paths of files that are laid over each other, the last of which counts most.
        links: What the files call each other.
        others: Files that are read besides, by path.
    """

    files: Sequence[InputFile]
    merges: Sequence[Sequence[str]]
    links: _Links
    others: Mapping[str, _Content]


class ProjectReader:
    """Reads a project and merges its services."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._contents = dict(project.others)

    def read(self, file: InputFile, data: bytes) -> list[Document]:
        """Take in a file of the input, and return what it holds besides compose documents."""
        documents, layers = read_compose(file.path, data)
        self._contents[file.path] = _content(documents, layers)
        return documents

    def services(self) -> Iterator[ComposeService]:
        """Yield every service that a file of the input speaks of, once they all are read."""
        judged = {file.path for file in self._project.files}
        resolver = ExtendsResolver(self._find)
        for paths in self._project.merges:
            contents = [self._contents[path] for path in paths if path in self._contents]
            layers = [layer for content in contents for layer in content.layers]
            yield from services(layers, resolver, judged)

    def _find(self, file: str, other: str) -> Layer | NotFound:
        found = self._project.links.get((file, other), _NOT_READ)
        if isinstance(found, NotFound):
            return found
        return self._contents[found].whole if found in self._contents else _NOT_READ


def _content(documents: Sequence[Document], layers: Sequence[Layer]) -> _Content:
    return _Content(layers, joined(layers) if layers else _why_no_services(documents))


def _why_no_services(documents: Sequence[Document]) -> NotFound:
    """Return why a file has no services to extend."""
    for note in documents:
        if isinstance(note, DocumentNote):
            if note.kind is NoteKind.RENDER_FIRST:
                return _TEMPLATE
            if note.kind is NoteKind.BROKEN:
                return NotFound(f"that file is broken: {note.text}", ExtendsFault.REFUSED)
            if note.kind is NoteKind.UNREADABLE:
                why = f"that file cannot be read: {note.text}"
                return NotFound(why, ExtendsFault.UNREADABLE)
    return _NO_SERVICES


def projects(inputs: Inputs, named: Named) -> list[Project]:
    """Return the compose files of an input that bear on each other, each in one project.

    Args:
        inputs: The input.
        named: What its files name in ``extends``.
    """
    search = _ProjectSearch(inputs, named)
    for base, override in _pairs(inputs.files, search.lookup):
        search.lay_over(base, override)
    for file in inputs.files:
        if file.path in named and file.size <= MAX_DOCUMENT_BYTES:
            search.add(file)
    search.follow()
    return list(search.projects())


def _pairs(
    files: Iterable[InputFile], elsewhere: ComposeFiles
) -> Iterator[tuple[InputFile, InputFile]]:
    """Yield each override file of the input that compose would read by default, after its base."""
    directories: dict[str, dict[str, InputFile]] = {}
    for file in files:
        directory, name = os.path.split(file.real)
        if name in (*BASE_NAMES, *OVERRIDE_NAMES) and file.size <= MAX_DOCUMENT_BYTES:
            directories.setdefault(os.path.abspath(directory), {})[name] = file  # noqa: PTH100
    for found in directories.values():
        override = next((found[name] for name in OVERRIDE_NAMES if name in found), None)
        if override is not None:
            base = next((found[name] for name in BASE_NAMES if name in found), None)
            base = base or _base_of(override, elsewhere)
            if base is not None:
                yield base, override


def _base_of(override: InputFile, elsewhere: ComposeFiles) -> InputFile | None:
    """Return what an override file is laid over, where that is not in the input."""
    found = (elsewhere.find(override, name) for name in BASE_NAMES)
    return next((file for file in found if isinstance(file, InputFile)), None)


class _ProjectSearch:
    """Follows files to those that they name, and these to others."""

    def __init__(self, inputs: Inputs, named: Named) -> None:
        self.lookup = ComposeFiles(inputs)
        self._order = {file.path: index for index, file in enumerate(inputs.files)}
        self._named = named
        self._members: dict[str, InputFile] = {}
        self._related: dict[str, set[str]] = {}
        self._links: dict[tuple[str, str], str | NotFound] = {}
        self._overrides: dict[str, str] = {}
        self._laid_over: set[str] = set()
        self._contents: dict[str, _Content] = {}
        self._waiting: deque[InputFile] = deque()
        self._bytes_left = MAX_OTHER_BYTES

    def add(self, file: InputFile) -> None:
        """Take in a file."""
        if file.path not in self._members:
            self._members[file.path] = file
            self._related[file.path] = set()
            self._waiting.append(file)

    def lay_over(self, base: InputFile, override: InputFile) -> None:
        """Take in a file and its override file."""
        self._relate(base, override)
        self._overrides[base.path] = override.path
        self._laid_over.add(override.path)

    def follow(self) -> None:
        """Take in what the files name, until there is nothing new."""
        while self._waiting:
            file = self._waiting.popleft()
            for name in self._names_in(file):
                other = self.lookup.find(file, name)
                if isinstance(other, InputFile):
                    self._relate(file, other)
                self._links[file.path, name] = other if isinstance(other, NotFound) else other.path

    def projects(self) -> Iterator[Project]:
        """Yield the projects, in the order of the input."""
        seen: set[str] = set()
        for path in sorted(self._members, key=self._place):
            if path not in seen:
                members = self._related_to(path)
                seen |= members
                yield self._project(sorted(members, key=self._place))

    def _relate(self, file: InputFile, other: InputFile) -> None:
        self.add(file)
        self.add(other)
        self._related[file.path].add(other.path)
        self._related[other.path].add(file.path)

    def _names_in(self, file: InputFile) -> Iterable[str]:
        """Return the files that a file names; one that is not in the input is read for it."""
        if file.path in self._order:
            return sorted(self._named.get(file.path, ()))
        content = self._contents[file.path] = self._read(file)
        return sorted({name for layer in content.layers for name in layer.other_files})

    def _read(self, file: InputFile) -> _Content:
        if file.size > self._bytes_left:
            return _Content((), _TOO_MANY)
        self._bytes_left -= file.size
        try:
            data = read_chunk(Chunk(file, 0, file.size, 1))
        except OSError as error:
            why = f"that file cannot be read: {reason(error)}"
            return _Content((), NotFound(why, ExtendsFault.UNREADABLE))
        return _content(*read_compose(file.path, data))

    def _related_to(self, path: str) -> set[str]:
        """Return a file with all that bear on it, directly or through others."""
        members, waiting = {path}, [path]
        while waiting:
            new = self._related[waiting.pop()] - members
            members |= new
            waiting += new
        return members

    def _project(self, members: Sequence[str]) -> Project:
        files = [self._members[path] for path in members if path in self._order]
        return Project(
            files=files,
            merges=list(self._merges(members)),
            links=self._links,
            others={p: self._contents[p] for p in members if p in self._contents},
        )

    def _merges(self, members: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield what is laid over each other, those first whose services others take over.

        Of findings that agree the first is reported: about the service that has the value itself.
        """
        for path in sorted(members, key=lambda path: path in self._named):
            if path in self._overrides:
                yield path, self._overrides[path]
            elif path in self._order and path not in self._laid_over:
                yield (path,)

    def _place(self, path: str) -> tuple[int, str]:
        return self._order.get(path, len(self._order)), path
