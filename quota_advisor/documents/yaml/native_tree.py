"""The native reader: makes trees of plain YAML and JSON, leaves the rest to the exact readers.

It is a shared library in C beside the package; without it the exact readers read everything.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from threading import local
from typing import Any

from quota_advisor.documents.kubernetes.keys import OPEN_KEYS, STRONG_KEYS, WEAK_KEYS
from quota_advisor.documents.yaml.split import (
    AMOUNT_KEYS,
    KNOWN_KINDS,
    KUBELET_KIND,
    OTHER_WORDS,
    POD_WORDS,
    TEMPLATE_WORDS,
    WITH_TEXTS,
    Interest,
    Part,
)
from quota_advisor.documents.yaml.tree import Node
from quota_advisor.shipped import native_files

NAME = "libquota_manifest.so"
OVERRIDE = "QUOTA_ADVISOR_READER"
"""Environment variable: path of the library, or ``off``."""

_VERSION = 4
_MARKS = ((1, WEAK_KEYS), (2, STRONG_KEYS), (4, OPEN_KEYS))
_ASK, _READ_KEY, _READ, _LEAVE, _KIND_SKIP, _KIND_READ = range(1, 7)

READ_ALL = ((b"", _READ),)
"""Words that are in every document."""

_KINDS = {
    kind: _KIND_READ if held is Interest.PODS else _KIND_SKIP for kind, held in KNOWN_KINDS.items()
}
_WORDS = (
    *((kind, use) for kind, use in _KINDS.items() if kind != WITH_TEXTS),
    # The order matters: the reader stops at the first kind that fits and at the first _LEAVE. So
    # a ConfigMap that mentions a kubelet's configuration is left, any other one is skipped.
    (KUBELET_KIND, _LEAVE),
    (WITH_TEXTS, _KINDS[WITH_TEXTS]),
    *((word, _READ) for word in POD_WORDS),
    *((word, _READ_KEY) for word in AMOUNT_KEYS),
    *((word, _LEAVE) for word in OTHER_WORDS if word != KUBELET_KIND),
    *((word, _ASK) for word in TEMPLATE_WORDS),
)

LITTLE_BYTES = 200_000
"""Less than this is decoded sooner than a faster decoder is imported."""


class NativeReader:
    """A reader with its buffers; one thread may use it at a time.

    Args:
        library: The shared library.
        words: What becomes of documents with these words in them; by default those that can hold
            a pod are read.
    """

    def __init__(self, library: ctypes.CDLL, words: Iterable[tuple[bytes, int]] = _WORDS) -> None:
        self._library = library
        self._read = library.quota_manifest_read
        self._read_json = library.quota_manifest_read_json
        self._text = library.quota_manifest_text
        self._reader = ctypes.c_void_p(library.quota_manifest_new())
        if not self._reader:
            raise MemoryError
        self._decode: Callable[[bytes], Any] = json.loads
        self._decoded = 0
        for key in STRONG_KEYS | WEAK_KEYS | OPEN_KEYS:
            marks = sum(mark for mark, keys in _MARKS if key in keys)
            if library.quota_manifest_key(self._reader, key.encode(), marks):
                raise ValueError(f"the reader has no room for the key {key!r}")
        for word, use in words:
            if library.quota_manifest_word(self._reader, word, use):
                raise ValueError(f"the reader has no room for the word {word!r}")

    def __del__(self) -> None:
        self._library.quota_manifest_free(self._reader)

    def read(self, data: bytes, part: Part) -> list[tuple[int, int, int, Node]] | None:
        """Return the documents of a part of a file that are of interest, with their pruned trees.

        Args:
            data: The file.
            part: Which documents.

        Returns:
            For each document start, end and line as in :class:`Part`, then its tree, or None if
            an exact reader has to read it. None instead of a list if they are too many.
        """
        return self._answer(self._read(self._reader, data, *part))

    def read_json(self, data: bytes, part: Part) -> list[tuple[int, int, int, Node]] | None:
        """Return the JSON values of a part, as :meth:`read` does, with the places of keys.

        Returns:
            None if the exact reader has to read all of them.
        """
        return self._answer(self._read_json(self._reader, data, *part))

    def _answer(self, size: int) -> list[tuple[int, int, int, Node]] | None:
        if size < 0:
            return None
        self._decoded += size
        if self._decoded > LITTLE_BYTES and self._decode is json.loads:
            import orjson  # noqa: PLC0415

            self._decode = orjson.loads
        text = ctypes.string_at(self._text(self._reader), size)
        found: list[tuple[int, int, int, Node]] = self._decode(text)
        return found


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
    for path in (Path(override),) if override else native_files(NAME):
        if path.is_file() and (library := load(path)):
            return library
    return None


def load(path: Path) -> ctypes.CDLL | None:
    """Return the library with its functions declared, or None if it is not the one we know."""
    try:
        # Calls are short: holding the GIL through them is cheaper than releasing it.
        library = ctypes.PyDLL(str(path))
        version = library.quota_manifest_version()
    except (OSError, AttributeError):
        # Built for another machine, or another library of that name: the exact readers do it.
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
    library.quota_manifest_word.argtypes = [pointer, text, ctypes.c_int]
    for read in (library.quota_manifest_read, library.quota_manifest_read_json):
        read.argtypes = [pointer, text, size, size, ctypes.c_uint]
        read.restype = ctypes.c_long
    library.quota_manifest_text.argtypes = [pointer]
    library.quota_manifest_text.restype = pointer
    library.quota_manifest_free.argtypes = [pointer]
    library.quota_manifest_free.restype = None
