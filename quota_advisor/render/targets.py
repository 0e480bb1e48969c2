"""Where reports go: ``FORMAT[=FILE]`` options."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from quota_advisor.errors import UsageError, did_you_mean

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
