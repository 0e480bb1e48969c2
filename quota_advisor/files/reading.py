"""Small files that steer the program: regular, in their tree, and no larger than they should be."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from quota_advisor.files.places import repository

MAX_CONFIG_BYTES = 1 << 20
"""Of a configuration or a ``.gitignore``: people write them, and every line is looked at."""

MAX_RECORD_BYTES = 128 << 20
"""Of a baseline or a snapshot: 400 000 findings, or the facts of 50 000 cgroups."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW


def read_named(path: Path, limit: int) -> bytes:
    """Return the content of a file that the user named.

    Links in a repository may not lead out of it: what lies there comes from strangers. Outside
    of repositories it is the user who decides where a name leads.

    Args:
        path: The file.
        limit: The most bytes that it may have.

    Raises:
        OSError: It cannot be read, is no regular file, is too large, or lies outside.
    """
    return _read(path, repository(path.parent), limit)


def read_found(path: Path, limit: int) -> bytes:
    """Return the content of a file that was found, not named: its links stay in its tree.

    The tree is the repository, or else the directory of the file.

    Args:
        path: The file.
        limit: The most bytes that it may have.

    Raises:
        OSError: It cannot be read, is no regular file, is too large, or lies outside.
    """
    return _read(path, repository(path.parent) or path.parent, limit)


def _read(path: Path, tree: Path | None, limit: int) -> bytes:
    real = os.path.realpath(path)
    if tree is not None and not Path(real).is_relative_to(os.path.realpath(tree)):
        raise OSError(errno.EXDEV, "it is a link that leads out of its directory tree")
    descriptor = _open_exactly(real)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return _bounded(descriptor, limit)
    finally:
        os.close(descriptor)


def _open_exactly(real: str) -> int:
    """Open a path without any link on its way: what was resolved and judged, nothing else."""
    handle = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    parts = [part for part in real.split("/") if part]
    try:
        for part in parts[:-1]:
            flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            entered = os.open(part, flags, dir_fd=handle)
            os.close(handle)
            handle = entered
        return os.open(parts[-1] if parts else ".", _FLAGS, dir_fd=handle)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise OSError(errno.EINVAL, "it is no regular file") from error
        raise
    finally:
        os.close(handle)


def _bounded(descriptor: int, limit: int) -> bytes:
    """Read to the end, which a file that grows meanwhile may not move past the limit."""
    chunks: list[bytes] = []
    left = limit + 1
    while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    if left <= 0:
        raise OSError(errno.EFBIG, f"it is larger than {limit >> 20} MiB")
    return b"".join(chunks)
