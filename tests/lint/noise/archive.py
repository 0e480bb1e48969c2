"""Repositories of many files from archives of few: see README.md."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("gitops", "charts", "operator", "composes", "units", "monorepo")

Row = Mapping[str, str]

_TABLE = re.compile(r"^== (\w+): (.*)\n((?:.+\n)+)", re.MULTILINE)
_FILE = re.compile(r"^-- (.+) --\n", re.MULTILINE)
_VALUE = re.compile(r"@(\w+)\.(\w+)@")


def repository(name: str, *, planted: bool) -> dict[str, str]:
    """Return the files of a repository by path.

    Args:
        name: One of :data:`NAMES`.
        planted: With the faults in it.
    """
    text = (HERE / f"{name}.archive").read_text()
    whole, _, faults = text.partition("\n## planted\n")
    tables = {table[1]: _rows(table[2], table[3]) for table in _TABLE.finditer(whole)}
    files = dict(_files(whole, tables))
    return files | dict(_files(faults, tables)) if planted else files


def _rows(columns: str, lines: str) -> list[Row]:
    names = columns.split()
    return [
        # A value keeps its quotes: it stands in YAML and JSON.
        dict(zip(names, shlex.split(line, posix=False), strict=True))
        for line in lines.splitlines()
    ]


def _files(text: str, tables: Mapping[str, list[Row]]) -> Iterator[tuple[str, str]]:
    _, *parts = _FILE.split(text)
    for path, content in zip(parts[::2], parts[1::2], strict=True):
        used = sorted({match[1] for match in _VALUE.finditer(path)} & tables.keys())
        for rows in itertools.product(*(tables[table] for table in used)):
            chosen = dict(zip(used, rows, strict=True))
            yield _filled(path, chosen), _filled(content, chosen)


def _filled(text: str, chosen: Mapping[str, Row]) -> str:
    return _VALUE.sub(lambda m: chosen[m[1]][m[2]] if m[1] in chosen else m[0], text)
