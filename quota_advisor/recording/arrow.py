"""The one place that knows the library for Arrow files, which is an extra of the package."""

from __future__ import annotations

from functools import cache
from typing import Any

from quota_advisor.errors import UsageError


@cache
def nanoarrow() -> Any:
    """Return the library.

    Raises:
        UsageError: It is not installed.
    """
    try:
        import nanoarrow as library  # noqa: PLC0415 - an extra, and commands without files need none
        import nanoarrow.ipc  # noqa: PLC0415 - as above
    except ImportError as error:
        raise UsageError(
            "recordings need the library nanoarrow",
            hint="install it with: pip install 'quota-advisor[record]'",
        ) from error
    return library
