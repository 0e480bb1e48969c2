"""The files that lint reads: found below what the user named, told apart by name and content.

What was named and cannot be read is a problem. What merely lies in a directory and is no file
to judge (a socket, a link, a file of another kind) is passed over.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from quota_advisor.checkout.ignored import IgnoreFiles, Patterns
from quota_advisor.model.manifest import QUADLET_SECTIONS
from quota_advisor.model.problem import Problem
from quota_advisor.model.unit_kind import UNIT_SECTIONS
from quota_advisor.patterns import pattern
from quota_advisor.records import dataclass

MAX_FILE_BYTES = 1 << 30
"""More is not read: no file under version control that people write comes near it."""

MAX_STREAM_BYTES = 256 << 20
"""A stream is held in memory while it is read."""

MAX_UNIT_BYTES = 4 << 20

STDIN = "-"

_UNIT_TYPES = "|".join(UNIT_SECTIONS)
_UNIT = pattern(rf"[^/]+\.(?:{_UNIT_TYPES})")
_DROP_IN_DIRECTORY = pattern(rf"(?:[^/]+\.)?(?:{_UNIT_TYPES})\.d")
_QUADLET_TYPES = "|".join(QUADLET_SECTIONS).lower()
_QUADLET = pattern(rf"[^/]+\.(?:{_QUADLET_TYPES})")
_QUADLET_DIRECTORY = pattern(rf"(?:[^/]+\.)?(?:{_QUADLET_TYPES})\.d")
_KUBELET_DIRECTORY = pattern(r"(?:.*/)?(?:[^/]*kubelet[^/]*|kubelet/[^/]+)\.d")
_MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
_SECTION = pattern(rb"(?:[ \t]*(?:[#;][^\n]*)?\r?\n)*[ \t]*\[([A-Za-z][A-Za-z0-9-]*)\][ \t\r]*\n")
_STREAMS = pattern(r"/dev/stdin|/dev/fd/[0-9]+|/proc/self/fd/[0-9]+")


class FileKind(StrEnum):
    """How a file is read."""

    MANIFEST = "manifest"
    UNIT = "unit"
    QUADLET = "quadlet"


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to judge.

    Attributes:
        path: As shown in messages: the way the user named it, and always printable.
        kind: How to read it.
        size: Bytes.
        real: What to open; empty where ``data`` holds the content.
        data: Content of a stream.
    """

    path: str
    kind: FileKind
    size: int
    real: str = ""
    data: bytes | None = None


@dataclass(slots=True)
class Inputs:
    """What was found.

    Attributes:
        files: In the order in which they are reported: as named, then by path; each once.
        problems: What was asked for and cannot be read.
        notes: What was passed over although it looks like something to judge.
        excluded: Files never to read.
        of_others: Directories that were not entered because of their name: :data:`OF_OTHERS`.
    """

    files: list[InputFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    excluded: Sequence[Patterns] = ()
    of_others: list[str] = field(default_factory=list)


def discover(
    names: Sequence[str],
    *,
    exclude: Sequence[Patterns] = (),
    stdin: bytes | None = None,
    stdin_name: str = "",
) -> Inputs:
    """Return the files to judge.

    Args:
        names: Files, directories, patterns, ``-``.
        exclude: Files never to read.
        stdin: Content of standard input where a name is ``-``.
        stdin_name: What to call it; its suffix decides how it is read.
    """
    search = _Search(exclude)
    for name in names:
        if name == STDIN:
            search.add_stream(stdin_name or "<stdin>", stdin or b"")
        else:
            search.add(name)
    return search.found


def kind_by_name(path: str) -> FileKind | None:
    """Return how a file with this name is read; None for one that is not looked at."""
    if path.endswith(_MANIFEST_SUFFIXES):
        return FileKind.MANIFEST
    directory, _, name = path.rpartition("/")
    if _UNIT.fullmatch(name):
        return FileKind.UNIT
    if _QUADLET.fullmatch(name):
        return FileKind.QUADLET
    if name.endswith(".conf") and not name.startswith("."):
        return _kind_of_drop_in(directory)
    return None


def _kind_of_drop_in(directory: str) -> FileKind | None:
    parent = directory.rpartition("/")[2]
    if _DROP_IN_DIRECTORY.fullmatch(parent):
        return FileKind.UNIT
    if _QUADLET_DIRECTORY.fullmatch(parent):
        return FileKind.QUADLET
    return FileKind.MANIFEST if _KUBELET_DIRECTORY.fullmatch(directory) else None


def kind_by_content(head: bytes) -> FileKind:
    """Return how a file of unknown name is read, from its first bytes."""
    match = _SECTION.match(head.removeprefix(b"\xef\xbb\xbf"))
    if match is None:
        return FileKind.MANIFEST
    return FileKind.QUADLET if match[1].decode() in QUADLET_SECTIONS else FileKind.UNIT


def read_input(file: InputFile) -> bytes:
    """Return a file's content.

    Raises:
        OSError: It cannot be read, or is no longer a regular file.
    """
    if file.data is not None:
        return file.data
    # Without blocking: what was a file when it was found may be a named pipe by now.
    descriptor = os.open(file.real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no regular file")
        if status.st_size > _limit(file.kind):
            raise OSError(0, _too_large(_limit(file.kind)))
        # One call reads a regular file whole, up to 2 GiB; a shorter answer is its end.
        return os.read(descriptor, status.st_size)
    finally:
        os.close(descriptor)


def read_stream(stream: BinaryIO) -> bytes:
    """Return all of a stream.

    Raises:
        OSError: It cannot be read, or is too large to be held in memory.
    """
    chunks: list[bytes] = []
    size = 0
    while chunk := stream.read(1 << 20):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_STREAM_BYTES:
            raise OSError(0, _too_large(MAX_STREAM_BYTES))
    return b"".join(chunks)


def _limit(kind: FileKind) -> int:
    return MAX_FILE_BYTES if kind is FileKind.MANIFEST else MAX_UNIT_BYTES


def _too_large(limit: int) -> str:
    return f"it is larger than {limit >> 20} MiB"


class _Search:
    def __init__(self, excluded: Sequence[Patterns]) -> None:
        self.found = Inputs(excluded=excluded)
        self._excluded = excluded
        self._seen: set[tuple[int, int] | str] = set()

    def add(self, name: str) -> None:
        """Add what one argument names."""
        try:
            status = os.stat(name)  # noqa: PTH116 - a name is kept as the user wrote it
        except FileNotFoundError:
            self._expand(name)
        except (OSError, ValueError) as error:
            self._problem(name, reason(error))
        else:
            self._add_named(name, status)

    def add_stream(self, name: str, data: bytes) -> None:
        """Add standard input, or another stream."""
        kind = kind_by_name(name) or kind_by_content(data[:65536])
        self.found.files.append(InputFile(shown(name), kind, len(data), data=data))

    def _expand(self, name: str) -> None:
        """Add what a pattern matches: one that no shell has expanded."""
        matches = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []  # noqa: PTH207
        if not matches:
            what = "no file matches" if glob.has_magic(name) else "no such file or directory"
            self._problem(name, what)
        for match in matches:
            try:
                self._add_named(match, os.stat(match))  # noqa: PTH116 - as above
            except OSError as error:
                self._problem(match, reason(error))

    def _add_named(self, name: str, status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode):
            self._add_directory(name)
        elif _STREAMS.fullmatch(name) and not stat.S_ISREG(status.st_mode):
            self._add_descriptor(name)
        elif not stat.S_ISREG(status.st_mode):
            self._problem(
                name, f"it is {_what(status.st_mode)}, not a file", "lint - reads a stream"
            )
        elif not self._is_excluded(name, directory=False):
            kind = kind_by_name(os.path.abspath(name)) or self._kind_of(name)  # noqa: PTH100
            if kind is not None:
                self._add_file(name, kind, status)

    def _kind_of(self, name: str) -> FileKind | None:
        try:
            # Without blocking: by now it may be a named pipe.
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                return kind_by_content(file.read(65536))
        except OSError as error:
            self._problem(name, reason(error))
            return None

    def _add_descriptor(self, name: str) -> None:
        try:
            with open(name, "rb") as file:  # noqa: PTH123 - as above
                self.add_stream(name, read_stream(file))
        except OSError as error:
            self._problem(name, reason(error))

    def _add_file(self, name: str, kind: FileKind, status: os.stat_result) -> None:
        identity = (status.st_dev, status.st_ino)
        if identity in self._seen:
            return
        self._seen.add(identity)
        if status.st_size > _limit(kind):
            self._problem(name, _too_large(_limit(kind)))
            return
        self.found.files.append(InputFile(shown(name), kind, status.st_size, real=name))

    # ---- directories

    def _add_directory(self, name: str) -> None:
        ignored = IgnoreFiles(Path(name))
        waiting = [os.path.normpath(name)]
        while waiting:
            top = waiting.pop()
            folders = []
            for entry in self._entries(top):
                path = entry.name if top == "." else os.path.join(top, entry.name)  # noqa: PTH118
                # By now it may be gone, or something else.
                try:
                    if self._wanted(entry, path, ignored):
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(path)
                        else:
                            self._add_entry(entry, path)
                except OSError as error:
                    self._problem(path, reason(error))
            waiting += reversed(folders)
        for file, why in ignored.unread:
            self.found.notes.append(f"{shown(os.path.relpath(file))}: passed over: {why}")

    def _entries(self, top: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(top) as entries:
                return sorted(entries, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            self._problem(top, reason(error))
            return []

    def _wanted(self, entry: os.DirEntry[str], path: str, ignored: IgnoreFiles) -> bool:
        """Whether to look at an entry at all: no link, not ignored, of a kind that is judged."""
        if entry.is_symlink() and not _is_mask(path):
            return False
        directory = entry.is_dir(follow_symlinks=False)
        if directory and entry.name in _NEVER_ENTERED:
            return False
        if not directory and kind_by_name(path) is None and not entry.name.endswith(".conf"):
            return False
        if self._is_excluded(path, directory=directory) or ignored.covers(
            path, directory=directory
        ):
            return False
        if directory and entry.name in OF_OTHERS:
            self.found.of_others.append(shown(path))
            return False
        return True

    def _add_entry(self, entry: os.DirEntry[str], path: str) -> None:
        kind = kind_by_name(path) or kind_by_name(os.path.abspath(path))  # noqa: PTH100
        if kind is None:
            return
        if entry.is_symlink():
            self.found.files.append(InputFile(shown(path), kind, 0, data=b""))
            return
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            self._add_file(path, kind, status)
        else:
            self.found.notes.append(f"{shown(path)}: passed over, it is {_what(status.st_mode)}")

    # ---- both

    def _is_excluded(self, path: str, *, directory: bool) -> bool:
        return any(patterns.covers(path, directory=directory) for patterns in self._excluded)

    def _problem(self, name: str, reason: str, hint: str = "") -> None:
        self.found.problems.append(Problem(subject=shown(name), reason=reason, hint=hint))


def _is_mask(path: str) -> bool:
    """Whether a link makes systemd take a unit for one that cannot be started."""
    return kind_by_name(path) is FileKind.UNIT and os.readlink(path) == os.devnull  # noqa: PTH115 - a name is kept as found


OF_OTHERS = frozenset({"node_modules", "testdata", "third_party", "vendor"})
"""Directories of what others wrote, or what is wrong on purpose: entered only if named."""

_NEVER_ENTERED = frozenset({".git", ".hg", ".svn"})

_SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _what(mode: int) -> str:
    return next((text for test, text in _SPECIAL if test(mode)), "something special")


def reason(error: OSError | ValueError) -> str:
    """Return why something could not be read, as the end of a sentence."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


def shown(name: str) -> str:
    """Return a path that every terminal and file format can hold."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return text.removeprefix("./")
