"""Standard output and standard error as they may be: closed, full, or a reader that went away."""

from __future__ import annotations

import atexit
import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NoReturn, TextIO

import click

from quota_advisor.errors import CollectError

STREAM_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG)
"""What writing to a stream ends with when it takes no more."""


_BLOCK = 1 << 16
"""Characters of a report that are written at once."""


class _Closed(io.TextIOBase):
    """Stands for standard output where there is none, so that nobody takes silence for success."""

    def write(self, text: str, /) -> int:  # noqa: ARG002 - as inherited
        """Refuse."""
        raise OSError(errno.EBADF, "It is closed")


def note_closed_output() -> None:
    """Have whoever writes to standard output told if it was closed from the start."""
    if sys.stdout is None:
        sys.stdout = _Closed()


def say(text: str, *, nl: bool = True) -> None:
    """Tell the user something on standard error, as far as there is one."""
    with suppress(OSError, ValueError):
        click.echo(text, nl=nl, err=True)


def write_report(text: str | Iterable[str]) -> None:
    """Write a report, or the pieces of one, to standard output.

    Raises:
        CollectError: There is no standard output, or it takes no more.
        BrokenPipeError: The reader went away.
    """
    # Bytes, so that a name that this terminal cannot show never stops the report.
    encoding = (sys.stdout and sys.stdout.encoding) or "utf-8"
    for block in _blocks((text,) if isinstance(text, str) else text):
        write_bytes(block.encode(encoding, "backslashreplace"))


def _blocks(pieces: Iterable[str]) -> Iterator[str]:
    """Yield pieces of a text in blocks that are worth a system call each."""
    block: list[str] = []
    size = 0
    for piece in pieces:
        block.append(piece)
        size += len(piece)
        if size >= _BLOCK:
            yield "".join(block)
            block, size = [], 0
    yield "".join(block)


def write_bytes(data: bytes) -> None:
    """Write to standard output as it is.

    Raises:
        CollectError: There is no standard output, or it takes no more.
        BrokenPipeError: The reader went away.
    """
    if isinstance(sys.stdout, _Closed):
        raise CollectError("the report cannot be written: standard output is closed")
    try:
        click.echo(data, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        reason = (error.strerror or str(error)).lower()
        raise CollectError(f"the report cannot be written to standard output: {reason}") from error


def drop_output() -> None:
    """Let what is still buffered vanish. Python would complain when it closes the stream."""
    # Where it was closed from the start there is nothing to drop.
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def leave(code: int) -> NoReturn:
    """End the process at once, without taking modules and findings apart first.

    That costs a tenth of a lint run and does nothing that was not done. What asked to be called at
    the end still is: the probe's last resort removes a cgroup that an exception made it forget.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - os._exit() leaves them out, and there is no other way
    for stream in (sys.stdout, sys.stderr):
        # None where it was closed from the start; full or gone has been said where it matters.
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(code)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody sits at a stream. There is none where it was closed from the start."""
    return stream is not None and stream.isatty()
