"""Open a path below a directory so that no link leads out of it.

Source: openat2(2). ``RESOLVE_IN_ROOT`` (Linux 5.6) makes the kernel take the directory for ``/``
while it resolves; where it is not offered, or a container's filter refuses it, the path is walked
component by component, each opened without following links.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from functools import cache
from typing import Any, ClassVar

MAX_LINKS = 40
"""As many symbolic links as the kernel follows in one path (``MAXSYMLINKS``)."""

_SYS_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_IN_ROOT = 0x10
_ATTEMPTS = 8
"""The kernel gives up with EAGAIN where something is renamed while it resolves."""

# Not offered: an old kernel. Not permitted, or unknown: a filter for system calls.
_NOT_OFFERED = frozenset({errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP})
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class _OpenHow(ctypes.Structure):
    """``struct open_how``."""

    _fields_: ClassVar = [
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    ]


def open_beneath(top: int, path: str, flags: int) -> int:
    """Return a descriptor of ``path``, with the directory ``top`` taken for ``/``.

    Args:
        top: Descriptor of the directory.
        path: The path; links in it, its last component included, are followed within ``top``.
        flags: As for open(2), without ``O_CREAT``.

    Raises:
        OSError: As for open(2).
    """
    for _ in range(_ATTEMPTS if _has_openat2() else 0):
        try:
            return _openat2(top, path, flags)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise
    return walk_beneath(top, path, flags)


def walk_beneath(top: int, path: str, flags: int) -> int:
    """Do the same without help of the kernel: one component after the other.

    Raises:
        OSError: As for open(2).
    """
    pending, links = parts(path), 0
    way = [os.dup(top)]
    try:
        while pending:
            part = pending.pop(0)
            if part == "..":
                _ascend(way)
                continue
            step = os.open(part, _STEP, dir_fd=way[-1])
            way.append(step)
            if stat.S_ISLNK(os.fstat(step).st_mode):
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                target = os.readlink("", dir_fd=step)
                os.close(way.pop())
                if target.startswith("/"):
                    _ascend(way, to=1)
                pending[:0] = parts(target)
        # What the handle holds was walked to: opening it again follows nothing.
        return _reopen(way[-1], flags, path)
    finally:
        for handle in way:
            os.close(handle)


def _reopen(handle: int, flags: int, path: str) -> int:
    if flags & os.O_PATH:
        if flags & os.O_DIRECTORY and not stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return os.dup(handle)
    return os.open(f"/proc/self/fd/{handle}", flags & ~os.O_NOFOLLOW)


def _ascend(way: list[int], to: int = 0) -> None:
    """Step back to the directory above, or to the first ``to``; never above the top."""
    keep = to or max(len(way) - 1, 1)
    while len(way) > keep:
        os.close(way.pop())


def parts(path: str) -> list[str]:
    """Return the components of a path, without those that stay where they are."""
    return [part for part in path.split("/") if part not in ("", ".")]


@cache
def _has_openat2() -> bool:
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(_openat2(here, "/", os.O_PATH | os.O_CLOEXEC))
    except OSError as error:
        if error.errno in _NOT_OFFERED:
            return False
        raise
    finally:
        os.close(here)
    return True


def _openat2(top: int, path: str, flags: int) -> int:
    name = os.fsencode(path)
    if b"\0" in name:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    found: int = _syscall()(_SYS_OPENAT2, top, name, _how(flags), ctypes.sizeof(_OpenHow))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return found


@cache
def _how(flags: int) -> Any:
    how = _OpenHow(flags, 0, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
    return ctypes.byref(how)


@cache
def _syscall() -> Any:
    return ctypes.CDLL(None, use_errno=True).syscall
