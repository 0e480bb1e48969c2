"""How a report is to be shown."""

from __future__ import annotations

from quota_advisor.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the renderers need to know of the reader.

    Attributes:
        width: Columns of the terminal; 0 for no limit.
        color: Whether the output may hold colours.
        wide: Show every column.
        all: Show workloads without a limit and without findings too.
        verbose: List what was skipped and suppressed, with reasons.
        directory: Where relative paths start.
        top: The top of the repository around it; the directory itself outside of one.
    """

    width: int = 0
    color: bool = False
    wide: bool = False
    all: bool = False
    verbose: bool = False
    directory: str = "/"
    top: str = "/"
