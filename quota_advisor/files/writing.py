"""Files that are replaced in one step: a reader sees the old one or the new one, never half.

The new content stands in a file without a name (O_TMPFILE) until it is on the disk, so that even
a kill leaves nothing behind. File systems that know no such files get one with a name that nobody
can guess.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quota_advisor.errors import CollectError
from quota_advisor.files.places import Place, opened
from quota_advisor.patterns import pattern

PRIVATE_MODE = 0o600
USUAL_MODE = 0o644
"""Less what the umask takes away."""

_STREAM = pattern(r"/dev/(?:(stdout)|(stderr)|fd/([0-9]+))|/proc/self/fd/([0-9]+)")
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NO_UNNAMED_FILES = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
_LONGEST_NAME = 100
"""Bytes of a name that its temporary file shares; 255 is the limit of most file systems."""


def check_file(path: Path) -> None:
    """See to it that a file can be written here, before anybody waits for it.

    Raises:
        CollectError: It cannot be.
    """
    if _stream(path) is not None:
        return
    try:
        with opened(path) as place:
            _check(place.status(), private=False)
            # A regular file is replaced, which is a matter of its directory.
            asked = place.name if _is_fed(place.status()) else "."
            if not os.access(asked, os.W_OK, dir_fd=place.directory, effective_ids=True):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _cannot(path, error) from error


def write_file(path: Path, text: str | Iterable[str], *, private: bool = False) -> None:
    """Write a file.

    Links are followed as :mod:`~quota_advisor.files.places` says, and never as the last name.
    Standard output and other open descriptors, devices and pipes with a reader are written to.

    Args:
        path: The file; one that is there is replaced.
        text: Its content, which may come in pieces.
        private: For the calling user alone. So is what replaces a file that was.

    Raises:
        CollectError: The file cannot be written; what was there is untouched.
    """
    pieces = (text,) if isinstance(text, str) else text
    data = (piece.encode("utf-8", "surrogateescape") for piece in pieces)
    try:
        stream = _stream(path)
        if stream is not None:
            _feed(os.dup(stream), data)
            return
        with opened(path) as place:
            _write(place, data, private=private)
    except OSError as error:
        raise _cannot(path, error) from error


def replace(
    place: Place, data: Iterable[bytes], mode: int, finish: Callable[[int], object] | None = None
) -> None:
    """Replace a file, or make a new one.

    Args:
        place: The file.
        data: Its new content in pieces.
        mode: Its permissions, less the umask.
        finish: Called with the descriptor of the new file before it takes the place.

    Raises:
        OSError: It could not be done; what was there is untouched, and nothing else is left.
    """
    temporary = f".{_short(place.name)}.{os.urandom(8).hex()}.tmp"
    with _signals_wait():
        descriptor, has_name = _create(place.directory, temporary, mode)
        try:
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.writelines(data)
            if finish is not None:
                finish(descriptor)
            os.fsync(descriptor)
            if not has_name:
                own = f"/proc/self/fd/{descriptor}"
                os.link(own, temporary, dst_dir_fd=place.directory)
            directory = place.directory
            os.rename(temporary, place.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            _remove(place.directory, temporary, descriptor)
            raise
        finally:
            os.close(descriptor)
        _flush(place.directory)


def reason(error: OSError) -> str:
    """Return why something failed, as the end of a sentence."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _create(directory: int, name: str, mode: int) -> tuple[int, bool]:
    """Return a new file, and whether it has a name already."""
    flags = os.O_WRONLY | os.O_CLOEXEC
    if os.path.isdir("/proc/self/fd"):  # noqa: PTH112 - the way to give it a name later
        try:
            return os.open(".", flags | os.O_TMPFILE, mode, dir_fd=directory), False
        except OSError as error:
            if error.errno not in _NO_UNNAMED_FILES:
                raise
    named = flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.open(name, named, mode, dir_fd=directory), True


def _remove(directory: int, name: str, descriptor: int) -> None:
    """Remove our own temporary file, nobody else's."""
    with suppress(OSError):
        own, there = os.fstat(descriptor), os.stat(name, dir_fd=directory, follow_symlinks=False)
        if (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino):
            os.unlink(name, dir_fd=directory)


def _flush(directory: int) -> None:
    """Have the new name on the disk; a directory that nobody may list cannot be told to."""
    with suppress(OSError):
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Let signals that end the program wait until there is nothing to clear away."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _short(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])


def _write(place: Place, data: Iterable[bytes], *, private: bool) -> None:
    status = place.status()
    _check(status, private=private)
    if _is_fed(status):
        # A pipe that nobody reads is refused, not waited for.
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(place.name, flags, dir_fd=place.directory)
        try:
            _check(os.fstat(descriptor), private=private)
        except BaseException:
            os.close(descriptor)
            raise
        os.set_blocking(descriptor, True)
        _feed(descriptor, data)
        return
    was_private = status is not None and not stat.S_IMODE(status.st_mode) & 0o077
    replace(place, data, PRIVATE_MODE if private or was_private else USUAL_MODE)


def _check(status: os.stat_result | None, *, private: bool) -> None:
    """Refuse what is neither replaced nor written to."""
    if status is None or stat.S_ISREG(status.st_mode) or stat.S_ISCHR(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "it is a link; name the file that it leads to")
    if not stat.S_ISFIFO(status.st_mode):
        raise OSError(errno.EINVAL, "it is neither a file nor a pipe")
    if private and status.st_uid not in (0, os.geteuid()):
        raise OSError(errno.EPERM, "it is a pipe of somebody else")


def _is_fed(status: os.stat_result | None) -> bool:
    """Whether something is written to, never replaced: a device, a pipe."""
    return status is not None and not stat.S_ISREG(status.st_mode)


def _stream(path: Path) -> int | None:
    """Return the descriptor that a path is another name of."""
    match = _STREAM.fullmatch(str(path))
    if match is None:
        return None
    return 1 if match[1] else 2 if match[2] else int(match[3] or match[4])


def _feed(descriptor: int, data: Iterable[bytes]) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(data)


def _cannot(path: Path, error: OSError) -> CollectError:
    why = "nobody reads this pipe" if error.errno == errno.ENXIO else reason(error)
    return CollectError(f"{path}: cannot be written: {why}")
