"""The output formats of a probe, by name."""

from __future__ import annotations

from quota_advisor.probe import report_csv, report_html, report_json, report_svg, report_table
from quota_advisor.probe.result import Result

_RENDERERS = {
    "csv": report_csv.render,
    "json": report_json.render,
    "svg": report_svg.render,
    "html": report_html.render,
}

FORMATS = ("table", *_RENDERERS)


def render(name: str, result: Result, *, width: int = 0) -> str:
    """Return the result in a format.

    Args:
        name: ``table``, ``csv``, ``json``, ``svg`` or ``html``.
        result: The result.
        width: Columns of the terminal that it is shown on; 0 where it is not.
    """
    if name == "table":
        return report_table.render(result, width=width)
    return _RENDERERS[name](result)
