"""Show a report. Renderers know the model and nothing of how it came about."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import cast

from quota_advisor.model.report import Report
from quota_advisor.render.view import View

Renderer = Callable[[Report, View], str | Iterator[str]]

_MODULES = {
    "table": "table",
    "concise": "concise",
    "json": "json_v2",
    "markdown": "markdown",
    "sarif": "sarif",
    "junit": "ci.junit",
    "github": "ci.github",
    "gitlab": "ci.gitlab",
    "csv": "sheet.rows",
    "html": "html.report",
}

_TABLES = {"lint": "lint_table", "k8s": "cluster_table"}
"""Tables of commands that look at something else than a host."""

FORMATS = tuple(_MODULES)


def render(name: str, report: Report, view: View) -> str:
    """Return a report in one of the formats."""
    return "".join(pieces(name, report, view))


def pieces(name: str, report: Report, view: View) -> Iterable[str]:
    """Return the same in pieces: what is long is made while it is written."""
    module = _TABLES.get(report.command, "table") if name == "table" else _MODULES[name]
    # Imported when used: the models of JSON alone take longer to build than a file to lint.
    found = importlib.import_module(f"quota_advisor.render.{module}")
    text = cast("Renderer", found.render)(report, view)
    return (text,) if isinstance(text, str) else text
