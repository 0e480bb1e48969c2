"""One HTML file that needs nothing else: no network, no other file, and none of its names trusted.

Names, annotations and texts of files are hostile input. The template escapes everything that is put
into it; scripts put texts into the page as texts alone. The page's own policy (CSP) allows the two
scripts and the two style sheets that are in it by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import quota_advisor
from quota_advisor.printable import printable
from quota_advisor.records import dataclass

ASSETS = Path(__file__).parent / "assets"

Chart = Mapping[str, Any]
"""What ``report.js`` draws; see :mod:`quota_advisor.render.html.charts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table.

    Attributes:
        cells: Its texts.
        severity: Of the worst that was found about it; empty where nothing was.
        kind: What it is about: ``service``, ``container``, a rule.
        anchor: The panel that tells more; empty for none.
    """

    cells: tuple[str, ...]
    severity: str = ""
    kind: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that can be filtered.

    Attributes:
        title: Above it.
        headings: Of its columns.
        rows: In the order in which they are shown.
        names: Columns that are to the left; others hold numbers.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One number or text that something rests on: what, how much, against what, from where."""

    label: str
    value: str
    threshold: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one finding says.

    Attributes:
        severity: Its severity.
        message: Its text.
        rule: The rule.
        place: File, line and column; empty where it is about none.
        also: What else is said of the cause.
        facts: What it rests on.
    """

    severity: str
    message: str
    rule: str
    place: str = ""
    also: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToDo:
    """What is advised: in a line, by which arithmetic, with commands and their ways back."""

    summary: str
    formula: str = ""
    steps: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Everything about one subject.

    Attributes:
        anchor: Where links lead.
        title: Its name.
        path: What tells it from others of that name.
        severity: Of its worst finding; empty without any.
        kind: What it is.
        headline: What it cost and what to do, in a line.
        chart: A picture; None for none.
        said: The findings.
        advised: What to do.
        ruled_out: Other causes that were looked at.
    """

    anchor: str
    title: str
    path: str = ""
    severity: str = ""
    kind: str = ""
    headline: str = ""
    chart: Chart | None = None
    said: tuple[Said, ...] = ()
    advised: tuple[ToDo, ...] = ()
    ruled_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole report.

    Attributes:
        title: Of the page.
        lead: What was looked at, and how, in lines.
        counts: Numbers of findings by severity; empty where nothing was judged.
        tables: Worst first.
        panels: Worst first.
        texts: Further sections: a title with lines.
        plain: Texts that keep their columns, with titles.
    """

    title: str
    lead: tuple[str, ...] = ()
    counts: Mapping[str, int] | None = None
    tables: tuple[Table, ...] = ()
    panels: tuple[Panel, ...] = ()
    texts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    plain: tuple[tuple[str, str], ...] = ()

    @property
    def severities(self) -> set[str]:
        """Severities of rows; empty where nothing was found."""
        return {row.severity for table in self.tables for row in table.rows}

    @property
    def kinds(self) -> list[str]:
        """Kinds of things in tables and panels, for the filter."""
        rows = (row.kind for table in self.tables for row in table.rows)
        return sorted({kind for kind in (*rows, *(p.kind for p in self.panels)) if kind})


def render(page: Page) -> Iterator[str]:
    """Yield the page in pieces."""
    charts = {panel.anchor: panel.chart for panel in page.panels if panel.chart is not None}
    scripts, styles = _scripts(with_plots=bool(charts)), _styles(with_plots=bool(charts))
    yield from _template().generate(
        page=page,
        policy=_policy(scripts, styles),
        scripts=[Markup(text) for text in scripts],  # noqa: S704 - our own files
        styles=[Markup(text) for text in styles],  # noqa: S704 - our own files
        plain=[(title, _Lines(text)) for title, text in page.plain],
        charts=Markup(_json(charts)),  # noqa: S704 - escaped by _json()
        version=quota_advisor.__version__,
    )


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    return environment.get_template("page.html")


class _Lines(str):
    """A text that keeps its line ends."""

    __slots__ = ()


def _clean(value: Any) -> Any:
    """Write control characters and stray bytes as escapes: a page is UTF-8, a name is one line."""
    if isinstance(value, _Lines):
        return printable(value, keep="\n")
    return printable(value) if type(value) is str else value


def _json(value: Any) -> str:
    """Return JSON that ends no element and starts no comment, whatever texts are in it."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _scripts(*, with_plots: bool) -> list[str]:
    # Its licence goes where the library goes.
    library = f"/*\n{_asset('uPlot.LICENSE')}*/\n{_asset('uPlot.iife.min.js')}"
    return [*([library] if with_plots else []), _asset("report.js")]


def _styles(*, with_plots: bool) -> list[str]:
    return [_asset(name) for name in (*(["uPlot.min.css"] if with_plots else []), "style.css")]


@functools.cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8").strip() + "\n"


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Return the page's Content-Security-Policy."""
    parts = {
        "default-src": "'none'",
        "script-src": " ".join(map(_digest, scripts)),
        "style-src": " ".join(map(_digest, styles)),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
