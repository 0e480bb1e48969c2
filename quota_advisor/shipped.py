"""Data that the program brings along: rules and load profiles."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import quota_advisor
from quota_advisor.errors import CatalogError

PACKAGE = Path(__file__).parent


@cache
def data_directory(name: str) -> Path:
    """Return a directory of shipped data: in the wheel, or at the top of a checkout.

    Args:
        name: ``rules`` or ``probes``.

    Raises:
        CatalogError: Neither place has it.
    """
    # A checkout's own files come first: an editable install also holds copies from its build.
    checkout = [PACKAGE.parent / name] if is_checkout() else []
    for candidate in (*checkout, PACKAGE / f"_{name}"):
        if candidate.is_dir():
            return candidate
    raise CatalogError(f"the directory {name} is missing", hint="reinstall quota-advisor")


def is_checkout() -> bool:
    """Whether the program runs from a checkout: an installed package brings its rules along."""
    return not (PACKAGE / "_rules").is_dir()


def native_files(name: str) -> tuple[Path, ...]:
    """Return where a program or library of the native part may be, in the order to try them.

    An editable install has the sources in one directory and what was built in another; both are
    in the package's path.
    """
    return tuple(Path(directory) / "_native" / name for directory in quota_advisor.__path__)
