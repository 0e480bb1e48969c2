"""Replace a file's content in one step, with everything else about the file as it was."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from quota_advisor.errors import CollectError


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    """Replace a file; owner, mode and extended attributes stay.

    Args:
        path: The file; a symbolic link stays and its target is replaced.
        old: Content on which the change rests.
        new: Content to write.

    Raises:
        CollectError: The file changed meanwhile, or cannot be written; it is untouched then.
    """
    target = path.resolve()
    try:
        status = target.stat()
        if target.read_bytes() != old:
            raise CollectError("it is no longer what was judged")
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise CollectError("it has several hard links")
        _replace(target, new, status)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CollectError(reason) from error


def _replace(target: Path, new: bytes, status: os.stat_result) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(new)
            file.flush()
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            _copy_attributes(target, temporary)
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _copy_attributes(source: Path, target: Path) -> None:
    # Not every file system has them, and labels that a policy sets by itself may be refused.
    with contextlib.suppress(OSError):
        for name in os.listxattr(source):
            os.setxattr(target, name, os.getxattr(source, name))
