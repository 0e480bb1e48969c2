"""Directories in which files are written: held by a handle, reached through trusted links only.

A report is written where somebody asked for it, and nowhere else. Others may have a hand in the
path: whoever opens a pull request commits ``out`` as a link, whoever shares ``/tmp`` plants one
there. Two rules decide which links in the directory part of a path are followed:

* none in the working directory or below it, and none in a repository: what lies there came from
  whoever wrote the change that is looked at;
* elsewhere those that root or the calling user owns, in a directory into which nobody else can
  write: ``/var/run`` leads to ``/run``, and a home may lie on another disk.

A working directory ``/`` is nobody's tree: there the second rule holds. The last name of a path
is never followed, whatever it is.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quota_advisor.records import NamedTuple

MAX_LINKS = 40
"""Links in one path; the kernel's own limit (path_resolution(7))."""

_HANDLE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT_USER = 0


class Place(NamedTuple):
    """Where a file is, or will be.

    Attributes:
        directory: Handle of the directory.
        name: Name of the file in it.
    """

    directory: int
    name: str

    def status(self) -> os.stat_result | None:
        """Return what is there, a link as a link; None where nothing is."""
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None


@contextmanager
def opened(path: Path) -> Iterator[Place]:
    """Hold the directory of a file that is to be written.

    Raises:
        OSError: There is no such directory, a link on the way is not to be trusted, or the path
            ends in no name.
    """
    if path.name in ("", ".."):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    handle = _Walk(path.parent).handle
    try:
        yield Place(handle, path.name)
    finally:
        os.close(handle)


def repository(start: Path) -> Path | None:
    """Return the top of the repository that a directory lies in, if it lies in one."""
    start = Path(os.path.abspath(start))  # noqa: PTH100 - without links resolved
    return next((d for d in (start, *start.parents) if (d / ".git").exists()), None)


class _Walk:
    """The way to a directory, one name after the other.

    Attributes:
        handle: The directory that was reached.
    """

    def __init__(self, path: Path) -> None:
        self._links = 0
        self._waiting: list[str] = []
        self._here = _identity(os.stat("."))  # noqa: PTH116 - also where it was deleted
        self.handle = os.open(".", _HANDLE)
        self._strange = self._here != _identity(os.stat("/"))  # noqa: PTH116 - nothing to resolve
        try:
            self._queue(str(path))
            while self._waiting:
                self._step(self._waiting.pop())
        except BaseException:
            os.close(self.handle)
            raise

    def _queue(self, path: str) -> None:
        """Put the names of a path before those that wait."""
        if path.startswith("/"):
            self._enter("/")
            self._strange = False
        self._waiting += reversed([part for part in path.split("/") if part not in ("", ".")])

    def _step(self, name: str) -> None:
        status = os.stat(name, dir_fd=self.handle, follow_symlinks=False)
        if not stat.S_ISLNK(status.st_mode):
            self._enter(name)
            return
        self._links += 1
        if self._strange or not _is_trusted(status, os.fstat(self.handle)):
            raise OSError(errno.ELOOP, f"{name} is a link; name the directory that it leads to")
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._queue(os.readlink(name, dir_fd=self.handle))

    def _enter(self, name: str) -> None:
        entered = os.open(name, _HANDLE, dir_fd=self.handle)
        os.close(self.handle)
        self.handle = entered
        self._strange = self._strange or self._is_top()

    def _is_top(self) -> bool:
        """Whether what lies in this directory may come from strangers."""
        identity = _identity(os.fstat(self.handle))
        if identity == self._here:
            return identity != _identity(os.stat("/"))  # noqa: PTH116 - nothing to resolve
        try:
            os.stat(".git", dir_fd=self.handle, follow_symlinks=False)
        except OSError:
            return False
        return True


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_trusted(link: os.stat_result, directory: os.stat_result) -> bool:
    trusted = {_ROOT_USER, os.geteuid()}
    others_write = directory.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return {link.st_uid, directory.st_uid} <= trusted and not others_write
