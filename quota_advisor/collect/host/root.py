"""The file system of the host that is looked at: this one, or one below a directory.

All paths given and returned are paths *on that host*. Below ``--root`` symbolic links are
followed as if the directory were ``/``, so that a link in an image or in a hostile tree never
leads to a file of the machine that runs the tool.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Iterator
from pathlib import Path

from quota_advisor.model.limit import Missing

MAX_LINKS = 40
"""As many symbolic links as the kernel follows in one path (``MAXSYMLINKS``)."""

MAX_FILE_BYTES = 4 << 20
"""No file this tool reads on a host is larger; what is, is not what it claims to be."""

READ_BYTES = 1 << 16
"""Files below /proc/sys refuse to be read with a buffer of megabytes (ENOMEM)."""


class HostRoot:
    """A host's file system, rooted at a directory.

    Args:
        directory: ``/`` for the running host.
    """

    def __init__(self, directory: Path) -> None:
        self._prefix = "" if directory == Path("/") else str(directory.resolve())

    @property
    def live(self) -> bool:
        """Whether this is the running host itself."""
        return not self._prefix

    def real(self, path: str) -> str:
        """Return the path to open on this machine for ``path`` on the host.

        Raises:
            OSError: A loop of symbolic links.
        """
        return path if self.live else self._prefix + self._resolve(path)

    def read(self, path: str) -> str:
        """Return a file's text; bytes that are no UTF-8 are kept as surrogates.

        Raises:
            OSError: The file cannot be read, is no regular file, or is larger than 4 MiB.
        """
        return self.read_bytes(path).decode("utf-8", "surrogateescape")

    def read_bytes(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            OSError: As for :meth:`read`.
        """
        # Without O_NONBLOCK a named pipe in the tree would hang the audit.
        descriptor = os.open(self.real(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return _read_all(descriptor, path)
        finally:
            os.close(descriptor)

    def try_read(self, path: str) -> str | Missing:
        """Return a file's text, or why it cannot be had."""
        try:
            return self.read(path)
        except OSError as error:
            return Missing(reason=describe(error, path))

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a directory.

        Raises:
            OSError: The directory cannot be read.
        """
        return sorted(os.listdir(self.real(path)))  # noqa: PTH208 - bare names are wanted

    def exists(self, path: str) -> bool:
        """Whether something stands at ``path``."""
        try:
            return os.path.lexists(self.real(path))
        except OSError:
            return False

    def link_target(self, path: str) -> str | None:
        """Return where the symbolic link at ``path`` itself points, or None if it is none."""
        parent, name = posixpath.split(path)
        try:
            return os.readlink(posixpath.join(self.real(parent), name))  # noqa: PTH115
        except OSError:
            return None

    def resolve(self, path: str) -> str:
        """Return ``path`` on the host with every symbolic link followed.

        Raises:
            OSError: A loop of symbolic links.
        """
        return os.path.realpath(path) if self.live else self._resolve(path)

    def _resolve(self, path: str) -> str:
        """Follow links component by component, ``..`` never leaving the root."""
        pending = _parts(path)
        done: list[str] = []
        links = 0
        while pending:
            part = pending.pop(0)
            if part == "..":
                done[-1:] = []
                continue
            target = _readlink(self._prefix + "/" + "/".join([*done, part]))
            if target is None:
                done.append(part)
                continue
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                done = []
            pending[:0] = _parts(target)
        return "/" + "/".join(done)


def describe(error: OSError, path: str) -> str:
    """Return one line about a failed read: what failed, on which path."""
    return f"{path}: {why(error)}"


def why(error: OSError) -> str:
    """Return what failed, as a clause without the path."""
    reason = error.strerror or str(error)
    return f"{reason[:1].lower()}{reason[1:]}"


def _read_all(descriptor: int, path: str) -> bytes:
    """Read to the end in small pieces: the kernel makes a buffer as large as it is asked for."""
    data = bytearray()
    while piece := os.read(descriptor, READ_BYTES):
        data += piece
        if len(data) > MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, "larger than 4 MiB", path)
    return bytes(data)


def walk(root: HostRoot, top: str) -> Iterator[str]:
    """Yield ``top`` and every directory below it, parents first, links not followed."""
    yield top
    try:
        with os.scandir(root.real(top)) as entries:
            names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        yield from walk(root, posixpath.join(top, name))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _readlink(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - text in, text out
    except OSError:
        return None
