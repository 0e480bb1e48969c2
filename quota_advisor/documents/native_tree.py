"""Plain YAML to a tree, fast: a reader in C that refuses whatever is not plain.

It is a shared library beside the package. Where it is missing, everything is read the exact way.
"""

from __future__ import annotations

import ctypes
import json
import os
from functools import cache
from pathlib import Path
from threading import local

import quota_advisor
from quota_advisor.documents.tree import OPEN_KEYS, STRONG_KEYS, WEAK_KEYS, Node, Tree

NAME = "libquota_manifest.so"
OVERRIDE = "QUOTA_ADVISOR_READER"
"""Environment variable: path of the library, or ``off``."""

_VERSION = 2
_MARKS = ((1, WEAK_KEYS), (2, STRONG_KEYS), (4, OPEN_KEYS))

_decode = json.JSONDecoder().raw_decode


class NativeReader:
    """A reader with its buffers; one thread may use it at a time.

    Args:
        library: The shared library.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._read = library.quota_manifest_read
        self._text = library.quota_manifest_text
        self._reader = ctypes.c_void_p(library.quota_manifest_new())
        if not self._reader:
            raise MemoryError
        for key in STRONG_KEYS | WEAK_KEYS | OPEN_KEYS:
            marks = sum(mark for mark, keys in _MARKS if key in keys)
            if library.quota_manifest_key(self._reader, key.encode(), marks):
                raise ValueError(f"the reader has no room for the key {key!r}")

    def __del__(self) -> None:
        self._library.quota_manifest_free(self._reader)

    def read(self, data: bytes, start: int, end: int, line: int) -> Tree | None:
        """Return the pruned tree of one document, or None for what the reader refuses.

        Args:
            data: The file.
            start: Offset of the document's first byte.
            end: Offset after its last one.
            line: Number of its first line.
        """
        size = self._read(self._reader, data, start, end, line)
        if size < 0:
            return None
        text = ctypes.string_at(self._text(self._reader), size).decode()
        root: Node = _decode(text)[0]
        return Tree(root)


_readers = local()


def native_reader() -> NativeReader | None:
    """Return this thread's reader, or None where there is no library."""
    reader: NativeReader | None
    try:
        reader = _readers.reader
    except AttributeError:
        library = _library()
        reader = _readers.reader = NativeReader(library) if library else None
    return reader


@cache
def _library() -> ctypes.CDLL | None:
    override = os.environ.get(OVERRIDE)
    if override == "off":
        return None
    directories = [] if override else quota_advisor.__path__
    for path in (Path(override or ""), *(Path(d) / "_native" / NAME for d in directories)):
        if path.is_file() and (library := load(path)):
            return library
    return None


def load(path: Path) -> ctypes.CDLL | None:
    """Return the library with its functions declared, or None if it is not the one we know."""
    try:
        # Calls are short: keeping the interpreter's lock is cheaper than giving it back.
        library = ctypes.PyDLL(str(path))
        version = library.quota_manifest_version()
    except (OSError, AttributeError):
        # Built for another machine, or something else of that name: the exact way remains.
        return None
    if version != _VERSION:
        return None
    _declare(library)
    return library


def _declare(library: ctypes.CDLL) -> None:
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    library.quota_manifest_new.argtypes = []
    library.quota_manifest_new.restype = pointer
    library.quota_manifest_key.argtypes = [pointer, text, ctypes.c_int]
    library.quota_manifest_read.argtypes = [pointer, text, size, size, ctypes.c_uint]
    library.quota_manifest_read.restype = ctypes.c_long
    library.quota_manifest_text.argtypes = [pointer]
    library.quota_manifest_text.restype = pointer
    library.quota_manifest_free.argtypes = [pointer]
    library.quota_manifest_free.restype = None
