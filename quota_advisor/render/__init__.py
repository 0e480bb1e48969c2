"""Show a report. Renderers know the model and nothing of how it came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quota_advisor.model.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a report is to be shown.

    Attributes:
        width: Columns of the terminal; 0 for no limit.
        color: Whether the output may hold colours.
        wide: Show every column.
        all: Show workloads without a limit and without findings too.
        verbose: List what was skipped and suppressed, with reasons.
    """

    width: int = 0
    color: bool = False
    wide: bool = False
    all: bool = False
    verbose: bool = False


Renderer = Callable[[Report, View], str]


def renderers() -> Mapping[str, Renderer]:
    """Return every output format by name."""
    from quota_advisor.render import json_v1, markdown, table  # noqa: PLC0415 - json needs pydantic

    return {"table": table.render, "json": json_v1.render, "markdown": markdown.render}


FORMATS = ("table", "json", "markdown")
