"""Regular expressions that are compiled when they are first used.

A command that judges one small file imports eighty of them and uses twenty, and compiling one takes
as long as importing a small module.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

__all__ = ["pattern"]

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:  # noqa: N801 - used like re.compile
        """What :func:`re.compile` returns, later."""

        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self._wanted = (text, flags)

        def __getattr__(self, name: str) -> Any:
            """Compile it, and leave what was asked for where the next look finds it first."""
            # What is asked for next comes from the cache of the module.
            found = getattr(re.compile(*self._wanted), name)
            setattr(self, name, found)
            return found
