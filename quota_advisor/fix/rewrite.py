"""Replace a file's content in one step, with everything else about the file as it was."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from quota_advisor.errors import CollectError
from quota_advisor.files.places import Place, opened
from quota_advisor.files.writing import PRIVATE_MODE, reason, replace


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    """Replace a file; owner, mode and extended attributes stay, all of them.

    The copy is at no time readable for more people than the file. Links are followed as
    :mod:`quota_advisor.files.places` says: what a pattern or a directory leads to through a link
    in a repository is not changed.

    Args:
        path: The file.
        old: Content on which the change rests.
        new: Content to write.

    Raises:
        CollectError: The file changed meanwhile, or cannot be written; it is untouched then.
    """
    try:
        with opened(path) as place:
            _rewrite(place, old, new)
    except OSError as error:
        raise CollectError(reason(error)) from error


def _rewrite(place: Place, old: bytes, new: bytes) -> None:
    before = _checked(place.status())
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(place.name, flags, dir_fd=place.directory)
    try:
        if os.fstat(descriptor) != before or _content(descriptor, len(old)) != old:
            raise CollectError("it is no longer what was judged")

        def finish(copy: int) -> None:
            _make_alike(copy, descriptor, before)
            now = place.status()
            if now is None or (now.st_ino, now.st_mtime_ns) != (before.st_ino, before.st_mtime_ns):
                raise CollectError("it changed while it was written")

        replace(place, (new,), PRIVATE_MODE, finish)
    finally:
        os.close(descriptor)


def _checked(status: os.stat_result | None) -> os.stat_result:
    """Return what is there; refuse what cannot be replaced without a loss."""
    if status is None:
        raise CollectError("it is gone")
    if stat.S_ISLNK(status.st_mode):
        raise CollectError("it is a link; name the file that it leads to")
    if not stat.S_ISREG(status.st_mode):
        raise CollectError("it is no longer a regular file")
    if status.st_nlink > 1:
        raise CollectError("it has several hard links")
    return status


def _content(descriptor: int, expected: int) -> bytes:
    """Return the content, or enough of it to see that there is more than expected."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read(expected + 1)


def _make_alike(copy: int, original: int, status: os.stat_result) -> None:
    """Give the copy owner, attributes and last of all the mode of the original."""
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(copy, status.st_uid, status.st_gid)
    for name in _attributes(original):
        value = os.getxattr(original, name)
        # Labels that a policy sets by itself may not be set, and need not be.
        if name not in _attributes(copy) or os.getxattr(copy, name) != value:
            _set_attribute(copy, name, value)
    os.fchmod(copy, stat.S_IMODE(status.st_mode))


def _attributes(descriptor: int) -> list[str]:
    try:
        return os.listxattr(descriptor)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return []
        raise


def _set_attribute(descriptor: int, name: str, value: bytes) -> None:
    try:
        os.setxattr(descriptor, name, value)
    except OSError as error:
        text = f"its attribute {name} cannot be kept: {reason(error)}"
        raise CollectError(text) from error
