"""The file system of the host that is looked at: this one, or one below a directory.

All paths given and returned are paths *on that host*. Below ``--root`` symbolic links are
followed as if the directory were ``/``, so that a link in an image or in a hostile tree never
leads to a file of the machine that runs the tool. Each path is resolved and opened in one step:
whoever swaps a link meanwhile wins nothing.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quota_advisor.collect.host.beneath import MAX_LINKS, open_beneath, parts
from quota_advisor.model.limit import Missing
from quota_advisor.records import NamedTuple

MAX_FILE_BYTES = 4 << 20
"""No file this tool reads on a host is larger; what is, is not what it claims to be."""

READ_BYTES = 1 << 16
"""Files below /proc/sys refuse to be read with a buffer of megabytes (ENOMEM)."""

# Without O_NONBLOCK a named pipe in the tree would hang the audit.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_LIST = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
_NAME = os.O_PATH | os.O_CLOEXEC


class Entry(NamedTuple):
    """A name in a directory, and what it stands for itself; links are not followed."""

    name: str
    is_dir: bool
    is_link: bool


class HostRoot:
    """A host's file system, rooted at a directory.

    Args:
        directory: ``/`` for the running host.
    """

    def __init__(self, directory: Path) -> None:
        self._prefix = "" if directory == Path("/") else str(directory.resolve())
        # Held as long as this object lives: sockets are connected to by these handles.
        self._handles: list[int] = []
        self._top: int | None = None

    def __del__(self) -> None:
        for handle in getattr(self, "_handles", ()):
            os.close(handle)

    @property
    def live(self) -> bool:
        """Whether this is the running host itself."""
        return not self._prefix

    def open(self, path: str, flags: int = _READ) -> int:
        """Return a descriptor of what stands at ``path``, links followed within the root.

        Raises:
            OSError: It cannot be opened.
        """
        if self.live:
            return os.open(path, flags)
        if self._top is None:
            self._top = self._hold(os.open(self._prefix, _NAME | os.O_DIRECTORY))
        return open_beneath(self._top, path, flags)

    @contextmanager
    def directory(self, path: str) -> Iterator[int]:
        """Open a directory for as long as files are read in it, by :meth:`read_in`.

        Raises:
            OSError: It cannot be opened.
        """
        descriptor = self.open(path, _NAME | os.O_DIRECTORY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

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
        return _read_all(self.open(path), path)

    def read_in(self, directory: int, name: str) -> str:
        """Return the text of a file in an open directory; the file itself is no link.

        Raises:
            OSError: As for :meth:`read`.
        """
        descriptor = os.open(name, _READ | os.O_NOFOLLOW, dir_fd=directory)
        return _read_all(descriptor, name).decode("utf-8", "surrogateescape")

    def try_read(self, path: str) -> str | Missing:
        """Return a file's text, or why it cannot be had."""
        try:
            return self.read(path)
        except OSError as error:
            return Missing(reason=describe(error, path))

    def entries(self, path: str) -> list[Entry]:
        """Return what a directory holds, sorted by name.

        Raises:
            OSError: The directory cannot be read.
        """
        descriptor = self.open(path, _LIST)
        try:
            with os.scandir(descriptor) as found:
                return sorted(
                    Entry(e.name, e.is_dir(follow_symlinks=False), e.is_symlink()) for e in found
                )
        finally:
            os.close(descriptor)

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a directory.

        Raises:
            OSError: The directory cannot be read.
        """
        return [entry.name for entry in self.entries(path)]

    def exists(self, path: str) -> bool:
        """Whether something stands at ``path``."""
        try:
            os.close(self.open(path, _NAME))
        except OSError:
            return False
        return True

    def inode(self, path: str) -> int | None:
        """Return the inode number of what stands at ``path``, or None where nothing does."""
        try:
            descriptor = self.open(path, _NAME)
        except OSError:
            return None
        try:
            return os.fstat(descriptor).st_ino
        finally:
            os.close(descriptor)

    def link_target(self, path: str) -> str | None:
        """Return where the symbolic link at ``path`` itself points, or None if it is none."""
        parent, name = posixpath.split(path)
        try:
            with self.directory(parent) as directory:
                return os.readlink(name, dir_fd=directory)
        except OSError:
            return None

    def socket_path(self, path: str) -> str:
        """Return a path of this machine by which the socket at ``path`` is connected to.

        Raises:
            OSError: Nothing stands there.
        """
        if self.live:
            os.stat(path)  # noqa: PTH116 - text in, text out
            return path
        return f"/proc/self/fd/{self._hold(self.open(path, _NAME))}"

    def resolve(self, path: str) -> str:
        """Return ``path`` on the host with every symbolic link followed.

        Raises:
            OSError: A loop of symbolic links.
        """
        if self.live:
            return os.path.realpath(path)
        try:
            descriptor = self.open(path, _NAME)
        except OSError:
            # Links may well lead to what is not there: /dev/null in an image.
            return self._resolve(path)
        try:
            found = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
        finally:
            os.close(descriptor)
        inside = found == self._prefix or found.startswith(f"{self._prefix}/")
        return found[len(self._prefix) :] or "/" if inside else self._resolve(path)

    def _hold(self, descriptor: int) -> int:
        self._handles.append(descriptor)
        return descriptor

    def _resolve(self, path: str) -> str:
        """Follow links component by component, ``..`` never leaving the root. Opens nothing."""
        pending = parts(path)
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
            pending[:0] = parts(target)
        return "/" + "/".join(done)


def describe(error: OSError, path: str) -> str:
    """Return one line about a failed read: what failed, on which path."""
    return f"{path}: {why(error)}"


def why(error: OSError) -> str:
    """Return what failed, as a clause without the path."""
    reason = error.strerror or str(error)
    return f"{reason[:1].lower()}{reason[1:]}"


def _read_all(descriptor: int, path: str) -> bytes:
    """Read to the end and close: in parts, as the kernel makes a buffer as large as asked for."""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            # A directory says so by itself; a pipe or a device may never end.
            os.read(descriptor, 0)
            raise OSError(errno.EINVAL, "not a regular file", path)
        data = bytearray()
        while part := os.read(descriptor, READ_BYTES):
            data += part
            if len(data) > MAX_FILE_BYTES:
                raise OSError(errno.EFBIG, "larger than 4 MiB", path)
        return bytes(data)
    finally:
        os.close(descriptor)


def _readlink(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - text in, text out
    except OSError:
        return None
