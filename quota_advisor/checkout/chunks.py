"""Manifests cut into chunks of work: whole files, and parts of large ones.

A file is cut where a document begins, so that each chunk reads alone. Only one chunk of a large
file is in memory at a time.
"""

from __future__ import annotations

import io
import mmap
import os
import re
import stat
from collections.abc import Iterable, Iterator

from quota_advisor.checkout.inputs import FileKind, InputFile, read_input
from quota_advisor.patterns import pattern
from quota_advisor.records import NamedTuple

CHUNK_BYTES = 1 << 20
"""Large enough to make cutting cheap, small enough to share a file fairly."""

MAX_DOCUMENT_BYTES = 32 << 20
"""Larger documents are refused. The API server takes 1.5 MiB; this leaves room for lists."""

_MARK = pattern(rb"^---(?=[ \t\r\n])", re.MULTILINE)


class Chunk(NamedTuple):
    """One or more whole documents of a file.

    Attributes:
        file: The file.
        start: Offset of the first byte.
        size: Number of bytes.
        first_line: Line of the file on which the chunk begins.
    """

    file: InputFile
    start: int
    size: int
    first_line: int


def chunks(files: Iterable[InputFile]) -> Iterator[Chunk | tuple[InputFile, OSError]]:
    """Yield the work that manifests make; a file that cannot be cut with its error."""
    for file in files:
        if file.kind is not FileKind.MANIFEST:
            continue
        if file.size <= CHUNK_BYTES:
            yield Chunk(file, 0, file.size, 1)
            continue
        try:
            yield from _cut(file)
        except OSError as error:
            yield file, error


def read_chunk(chunk: Chunk) -> bytes:
    """Return the bytes of a chunk.

    Raises:
        OSError: The file cannot be read, or a document of it is too large.
    """
    if chunk.size > MAX_DOCUMENT_BYTES:
        raise OSError(0, f"a document is larger than {MAX_DOCUMENT_BYTES >> 20} MiB")
    file = chunk.file
    if file.data is not None:
        return file.data[chunk.start : chunk.start + chunk.size]
    if chunk.start == 0 and chunk.size == file.size:
        return read_input(file)
    with _open(file) as descriptor:
        return os.pread(descriptor.fileno(), chunk.size, chunk.start)


def _cut(file: InputFile) -> Iterator[Chunk]:
    with _bytes(file) as data:
        start, line = 0, 1
        while start < len(data):
            end = _next_document(data, start + CHUNK_BYTES)
            yield Chunk(file, start, end - start, line)
            line += _lines(data, start, end)
            start = end


def _next_document(data: mmap.mmap, start: int) -> int:
    """Return where the first document at or after an offset begins, or the end."""
    match = _MARK.search(data, start) if start < len(data) else None
    return len(data) if match is None else match.start()


def _lines(data: mmap.mmap, start: int, end: int) -> int:
    return sum(
        data[at : min(at + CHUNK_BYTES, end)].count(b"\n") for at in range(start, end, CHUNK_BYTES)
    )


def _bytes(file: InputFile) -> mmap.mmap:
    if file.data is not None:
        held = mmap.mmap(-1, len(file.data))
        held[:] = file.data
        return held
    with _open(file) as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _open(file: InputFile) -> io.FileIO:
    descriptor = os.open(file.real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    stream = io.FileIO(descriptor)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(0, "it is no regular file")
    return stream
