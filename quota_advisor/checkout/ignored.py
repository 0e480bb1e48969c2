"""Which files ``.gitignore`` files and patterns of the user leave out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from quota_advisor.checkout.globs import parse_glob
from quota_advisor.files.places import repository
from quota_advisor.files.reading import MAX_CONFIG_BYTES, read_found
from quota_advisor.files.writing import reason

MAX_PATTERNS = 2_000
"""In one place: each is held against each file. The longest lists in use have some hundreds."""


class Patterns:
    """Patterns as in ``.gitignore``.

    Args:
        lines: The patterns.
        directory: What they are relative to; nothing outside it is covered.

    Raises:
        ValueError: There are more than :data:`MAX_PATTERNS`.
    """

    def __init__(self, lines: Iterable[str], directory: Path) -> None:
        # The last one that is about a path decides.
        self._globs = [glob for line in lines if (glob := parse_glob(line))][::-1]
        if len(self._globs) > MAX_PATTERNS:
            raise ValueError(f"it has more than {MAX_PATTERNS} patterns")
        self._prefix = os.path.join(os.path.abspath(directory), "")  # noqa: PTH100, PTH118
        self._directories: dict[tuple[str, ...], bool | None] = {(): None}

    def covers(self, path: str, *, directory: bool = False) -> bool | None:
        """Return whether the patterns leave a path out, take it back in, or say nothing of it.

        What they say of the path itself counts before what they say of directories above it.
        """
        names = self._names(path)
        if not names:
            return None
        verdict = self._verdict(names, directory=directory)
        return self._above(names[:-1]) if verdict is None else verdict

    def covers_file(self, path: str) -> bool:
        """Return whether the patterns name a file, or a directory above it."""
        return bool(self.covers(path))

    def _names(self, path: str) -> tuple[str, ...]:
        absolute = os.path.abspath(path)  # noqa: PTH100 - called for every file
        if not absolute.startswith(self._prefix):
            return ()
        return tuple(absolute[len(self._prefix) :].split("/"))

    def _above(self, names: tuple[str, ...]) -> bool | None:
        """Return what the patterns say of a directory, or else of those above it."""
        if names not in self._directories:
            verdict = self._verdict(names, directory=True)
            self._directories[names] = self._above(names[:-1]) if verdict is None else verdict
        return self._directories[names]

    def _verdict(self, names: tuple[str, ...], *, directory: bool) -> bool | None:
        for glob in self._globs:
            if glob.matches(names, directory=directory):
                return glob.leaves_out
        return None


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
            return Patterns(text.splitlines(), directory)
        except OSError as error:
            self.unread.append((str(file), reason(error)))
        except ValueError as error:
            self.unread.append((str(file), str(error)))
        return None
