"""Where reports go: ``FORMAT[=FILE]`` options, and files that are replaced in one step."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from quota_advisor.errors import CollectError, UsageError, did_you_mean

Targets = list[tuple[str, Path | None]]
"""Names of formats, each with its file; None is standard output."""


def parse_formats(formats: Sequence[str], known: Sequence[str]) -> Targets:
    """Split ``FORMAT[=FILE]`` options; the table on standard output where there is none.

    Args:
        formats: As typed.
        known: Names of the formats that there are.

    Raises:
        UsageError: A format does not exist, a file name is empty, or two formats want the same
            file or standard output.
    """
    parsed: Targets = []
    for text in formats or ("table",):
        name, equals, target = text.partition("=")
        if name not in known:
            hint = did_you_mean(name, known) or f"choose from {', '.join(known)}"
            raise UsageError(f"--format {text}: no output format {name!r}", hint=hint)
        if equals and not target:
            raise UsageError(f"--format {text}: the file name is missing")
        parsed.append((name, Path(target) if target else None))
    if sum(target is None for _, target in parsed) > 1:
        raise UsageError(
            "two formats want standard output", hint="give one of them a file: --format json=FILE"
        )
    _refuse_same_file(target for _, target in parsed if target is not None)
    return parsed


def check_file(path: Path) -> None:
    """See to it that a report can be written here, before anybody waits for it.

    Raises:
        CollectError: It cannot be.
    """
    target = _real(path)
    # A regular file is replaced, which is a matter of its directory.
    asked = target if _is_special(target) else target.parent
    try:
        if not stat.S_ISDIR(target.parent.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise _cannot(path, error) from error
    if not os.access(asked, os.W_OK):
        raise CollectError(f"{path}: cannot be written: permission denied")


def write_file(path: Path, text: str) -> None:
    """Write a file in one step: a reader sees the old one or the new one, never half.

    Raises:
        CollectError: The file cannot be written.
    """
    try:
        target = _real(path)
        if _is_special(target):
            # A device or a pipe is written to, never replaced by a file.
            target.write_text(text, encoding="utf-8")
        else:
            _replace(target, text)
    except OSError as error:
        raise _cannot(path, error) from error


def _refuse_same_file(paths: Iterable[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        target = _real(path)
        if target in seen and not _is_special(target):
            raise UsageError(
                f"two formats want the file {path}", hint="give each a file of its own"
            )
        seen.add(target)


def _real(path: Path) -> Path:
    # Path.resolve() raises for a loop of links.
    return Path(os.path.realpath(path))


def _is_special(target: Path) -> bool:
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except OSError:
        return False


def _cannot(path: Path, error: OSError) -> CollectError:
    reason = (error.strerror or str(error)).lower()
    return CollectError(f"{path}: cannot be written: {reason}")


def _replace(target: Path, text: str) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    with temporary.open("x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
