"""The text format of Prometheus, version 0.0.4, as node_exporter's textfile collector reads it.

So short a format needs no library on every host; a test holds the text against what
prometheus-client writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.export.reading import Reading
from quota_advisor.export.series import SERIES


def exposition(reading: Reading) -> Iterator[str]:
    """Yield the lines of all series; those of one metric stand together."""
    for series in SERIES:
        yield f"# HELP {series.name} {_escape(series.help)}\n# TYPE {series.name} {series.kind}\n"
        names = series.label_names
        for values, value in series.samples(reading.groups):
            pairs = zip(names, values, strict=True)
            labels = ",".join(f'{name}="{_quoted(text)}"' for name, text in pairs)
            yield f"{series.name}{{{labels}}} {value!r}\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escape(text).replace('"', '\\"')
