"""The output formats of a probe, by name."""

from __future__ import annotations

from pathlib import Path

from quota_advisor.errors import UsageError
from quota_advisor.probe import report_csv, report_html, report_json, report_svg, report_table
from quota_advisor.probe.result import Result
from quota_advisor.probe.words import did_you_mean

_RENDERERS = {
    "csv": report_csv.render,
    "json": report_json.render,
    "svg": report_svg.render,
    "html": report_html.render,
}


FORMATS = ("table", *_RENDERERS)


def parse_formats(formats: tuple[str, ...]) -> list[tuple[str, Path | None]]:
    """Split ``FORMAT[=FILE]`` options; the table on standard output where there is none.

    Raises:
        UsageError: A format does not exist, a file name is empty, or two formats want
            standard output.
    """
    parsed: list[tuple[str, Path | None]] = []
    for text in formats or ("table",):
        name, equals, target = text.partition("=")
        if name not in FORMATS:
            hint = did_you_mean(name, FORMATS) or f"choose from {', '.join(FORMATS)}"
            raise UsageError(f"--format {text}: no output format {name!r}", hint=hint)
        if equals and not target:
            raise UsageError(f"--format {text}: the file name is missing")
        parsed.append((name, Path(target) if target else None))
    if sum(target is None for _, target in parsed) > 1:
        raise UsageError(
            "two formats want standard output", hint="give one of them a file: --format json=FILE"
        )
    return parsed


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
