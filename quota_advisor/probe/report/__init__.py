"""The output formats of a probe, by name."""

from __future__ import annotations

from quota_advisor.probe.report import csv_rows as report_csv
from quota_advisor.probe.report import html as report_html
from quota_advisor.probe.report import json_v1 as report_json
from quota_advisor.probe.report import svg as report_svg
from quota_advisor.probe.report import table as report_table
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
