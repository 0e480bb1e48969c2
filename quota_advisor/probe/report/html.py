"""The result as one page that needs nothing else: the chart, the table, the warnings."""

from __future__ import annotations

from html import escape

from quota_advisor.probe.report import svg as report_svg
from quota_advisor.probe.report import table as report_table
from quota_advisor.probe.result import Result
from quota_advisor.render.chart.svg import element

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root{{color-scheme:light dark}}
body{{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}
svg{{width:100%;height:auto}}
pre{{overflow-x:auto;font:13px/1.45 ui-monospace,monospace}}
footer{{opacity:.7;font-size:13px}}
</style>
</head>
<body>
<h1>CPU quota probe of {host}</h1>
<p>{title}</p>
<p>{description}</p>
{chart}
<pre>{table}</pre>
<footer>quota-advisor {version}</footer>
</body>
</html>
"""


def render(result: Result) -> str:
    """Return the page."""
    return _PAGE.format(
        title=escape(report_table.headline(result)),
        host=escape(result.node.hostname),
        description=escape(" ".join(result.load.profile.description.split())),
        chart=element(report_svg.chart(result)),
        table=escape(report_table.render(result)),
        version=escape(result.version),
    )
