"""Where the other file is that a compose file names, and whether it may be read.

A file under version control can name anything, and lint runs as root and in CI: so regular files
only, none that the user excluded, and within a repository none outside of it, links resolved.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from quota_advisor.checkout.chunks import MAX_DOCUMENT_BYTES
from quota_advisor.checkout.inputs import FileKind, InputFile, Inputs, reason, shown
from quota_advisor.documents.compose.merge import NotFound
from quota_advisor.files.places import repository
from quota_advisor.model.manifest import ExtendsFault

_NO_DIRECTORY = NotFound("standard input lies in no directory", ExtendsFault.NOT_READ)
_REMOTE = NotFound("that file is not on this machine", ExtendsFault.NOT_READ)
_OUTSIDE = NotFound("that file is outside of the repository", ExtendsFault.NOT_READ)
_EXCLUDED = NotFound("that file is excluded", ExtendsFault.NOT_READ)
_MISSING = NotFound("there is no such file", ExtendsFault.REFUSED)
_DIRECTORY = NotFound("that is a directory", ExtendsFault.REFUSED)
_SPECIAL = NotFound("that is no regular file", ExtendsFault.UNREADABLE)
_TOO_LARGE = NotFound(
    f"that file is larger than {MAX_DOCUMENT_BYTES >> 20} MiB", ExtendsFault.UNREADABLE
)


class ComposeFiles:
    """Finds files by the names that compose files give them.

    Args:
        inputs: A file of the input is found as what it is there.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._excluded = inputs.excluded
        self._tops: dict[str, str | None] = {}
        self._known: dict[tuple[int, int], InputFile] = {}
        self._by_name: dict[str, list[InputFile]] = {}
        for file in inputs.files:
            if file.kind is FileKind.MANIFEST and file.real:
                self._by_name.setdefault(os.path.basename(file.real), []).append(file)  # noqa: PTH119

    def find(self, naming: InputFile, name: str) -> InputFile | NotFound:
        """Return the file that another one names, relative to its own directory as compose does."""
        if not naming.real:
            return _NO_DIRECTORY
        if "://" in name or name.startswith("git@"):
            return _REMOTE
        directory = os.path.dirname(naming.real)  # noqa: PTH120 - a name is kept as written
        # Compose resolves ".." in the text of the path, before it follows any symbolic link.
        path = os.path.normpath(os.path.join(directory, name))  # noqa: PTH118
        try:
            return self._regular(directory, path)
        except (FileNotFoundError, NotADirectoryError):
            return _MISSING
        except (OSError, ValueError) as error:
            why = f"that file cannot be read: {reason(error)}"
            return NotFound(why, ExtendsFault.UNREADABLE)

    def _regular(self, directory: str, path: str) -> InputFile | NotFound:
        real = os.path.realpath(path)
        top = self._top(directory)
        if top is not None and real != top and not real.startswith(os.path.join(top, "")):  # noqa: PTH118
            return _OUTSIDE
        if any(patterns.covers_file(p) for patterns in self._excluded for p in (path, real)):
            return _EXCLUDED
        status = os.stat(real)  # noqa: PTH116
        if stat.S_ISDIR(status.st_mode):
            return _DIRECTORY
        if not stat.S_ISREG(status.st_mode):
            return _SPECIAL
        if status.st_size > MAX_DOCUMENT_BYTES:
            return _TOO_LARGE
        return self._same(path, real, status)

    def _top(self, directory: str) -> str | None:
        """Return the top of the repository that a directory lies in; None outside of one."""
        if directory not in self._tops:
            top = repository(Path(os.path.realpath(directory)))
            self._tops[directory] = None if top is None else str(top)
        return self._tops[directory]

    def _same(self, path: str, real: str, status: os.stat_result) -> InputFile:
        """Return the one object that stands for a file, whatever it is called here."""
        for name in (os.path.basename(path), os.path.basename(real)):  # noqa: PTH119
            for file in self._by_name.pop(name, ()):
                with contextlib.suppress(OSError):
                    self._known.setdefault(_identity(os.stat(file.real)), file)  # noqa: PTH116
        identity = _identity(status)
        if identity not in self._known:
            other = InputFile(shown(path), FileKind.MANIFEST, status.st_size, real=path)
            self._known[identity] = other
        return self._known[identity]


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
