"""Which files ``.gitignore`` files and patterns of the user leave out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from quota_advisor.files.places import repository
from quota_advisor.files.reading import MAX_CONFIG_BYTES, read_found
from quota_advisor.files.writing import reason

if TYPE_CHECKING:
    import pathspec


class Patterns:
    """Patterns as in ``.gitignore``.

    Args:
        lines: The patterns.
        directory: What they are relative to; nothing outside it is covered.
    """

    def __init__(self, lines: Iterable[str], directory: Path) -> None:
        # Imported where there are patterns: a single file needs none.
        import pathspec  # noqa: PLC0415

        self._spec: pathspec.GitIgnoreSpec = pathspec.GitIgnoreSpec.from_lines(lines)
        self._prefix = os.path.join(os.path.abspath(directory), "")  # noqa: PTH100, PTH118

    def covers(self, path: str, *, directory: bool = False) -> bool | None:
        """Return whether the patterns leave a path out, take it back in, or say nothing of it."""
        absolute = os.path.abspath(path)  # noqa: PTH100 - called for every file
        if not absolute.startswith(self._prefix):
            return None
        return self._spec.check_file(absolute[len(self._prefix) :] + "/" * directory).include

    def covers_file(self, path: str) -> bool:
        """Return whether the patterns name a file, or a directory above it."""
        return bool(self.covers(path))


class IgnoreFiles:
    """The ``.gitignore`` files that apply below a directory, each read when first needed.

    Args:
        start: The directory; those above it count up to the top of its repository.

    Attributes:
        unread: Files that are there and say nothing, each with the reason.
    """

    def __init__(self, start: Path) -> None:
        self.unread: list[tuple[str, str]] = []
        self._known: dict[str, tuple[Patterns, ...]] = {}
        self._top = str(repository(start) or os.path.abspath(start))  # noqa: PTH100

    def covers(self, path: str, *, directory: bool) -> bool:
        """Return whether git ignores a path whose directory it does not ignore."""
        for patterns in reversed(self._patterns(os.path.dirname(os.path.abspath(path)))):  # noqa: PTH100, PTH120
            verdict = patterns.covers(path, directory=directory)
            if verdict is not None:
                return verdict
        return False

    def _patterns(self, directory: str) -> tuple[Patterns, ...]:
        """Return what applies in a directory, outermost first."""
        if directory not in self._known:
            parent = os.path.dirname(directory)  # noqa: PTH120
            at_top = directory in (self._top, parent)
            above = () if at_top else self._patterns(parent)
            own = [Path(directory, ".gitignore")]
            if directory == self._top:
                own.insert(0, Path(directory, ".git", "info", "exclude"))
            found = (self._read(file, Path(directory)) for file in own)
            self._known[directory] = (*above, *(p for p in found if p is not None))
        return self._known[directory]

    def _read(self, file: Path, directory: Path) -> Patterns | None:
        # Most directories have none, which one look tells.
        if not os.path.lexists(file):
            return None
        try:
            text = read_found(file, MAX_CONFIG_BYTES).decode("utf-8", "surrogateescape")
        except OSError as error:
            self.unread.append((str(file), reason(error)))
            return None
        kept = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return Patterns(kept, directory) if kept else None
