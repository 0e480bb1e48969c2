"""Show a report. Renderers know the model and nothing of how it came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quota_advisor.model.report import Report
from quota_advisor.render.view import View

Renderer = Callable[[Report, View], str]

FORMATS = ("table", "json", "markdown")


def renderers() -> Mapping[str, Renderer]:
    """Return every output format by name."""
    # Imported here: the JSON models alone take longer to build than --help may.
    from quota_advisor.render.json_v1 import render as json  # noqa: PLC0415
    from quota_advisor.render.markdown import render as markdown  # noqa: PLC0415
    from quota_advisor.render.table import render as table  # noqa: PLC0415

    return dict(zip(FORMATS, (table, json, markdown), strict=True))
