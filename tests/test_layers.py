"""Imports point one way: a room sees only the rooms that the table grants it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "quota_advisor"

BASE = {"errors", "patterns", "printable", "records", "units"}
"""What everybody may use."""

FACTS = {"model", "documents", "sim", "derive"}
CONCLUSIONS = {"advise", "rulebook"}

MAY_SEE: dict[str, set[str]] = {
    "errors": set(),
    "patterns": set(),
    "printable": set(),
    "records": set(),
    "units": {"patterns", "records"},
    "shipped": {"errors"},
    "files": {"errors", "patterns", "records"},
    # Nouns.
    "model": BASE | {"files"},
    "documents": BASE | {"shipped", "model"},
    "sim": BASE | {"shipped", "model"},
    "recording": BASE | {"files", "model", "sim"},
    "derive": BASE | {"model", "documents", "sim"},
    "advise": BASE | {"model", "sim", "derive"},
    "rulebook": BASE | {"files", "shipped", "model"},
    "checks": BASE | FACTS | CONCLUSIONS,
    "collect": BASE | {"model", "documents"},
    "checkout": BASE | {"files", "model", "documents"},
    "render": BASE | {"model", "rulebook"},
    "fix": BASE | {"files", "model", "documents"},
    "sandbox": BASE | {"model", "collect"},
    # Verbs: none sees another.
    "audit": BASE | {"files", "recording"} | FACTS | CONCLUSIONS | {"checks", "collect"},
    "lint": BASE | {"files"} | FACTS | CONCLUSIONS | {"checks", "checkout", "fix"},
    "probe": BASE | {"shipped", "model", "sim", "recording", "collect", "sandbox", "render"},
    "record": BASE | {"model", "sim", "recording", "collect", "render"},
    "simulate": BASE | {"model", "sim", "recording", "advise", "render"},
    "k8s": BASE | {"files"} | FACTS | CONCLUSIONS | {"checks", "collect"},
    "watch": BASE | {"files", "model", "collect", "audit"},
    "export": BASE | {"model", "collect"},
    "cli": BASE
    | {"files", "model", "sim", "rulebook", "recording", "collect", "render"}
    | {"audit", "lint", "probe", "record", "simulate", "k8s", "watch", "export"},
}
"""Every room with what it may import besides itself, from the inside out."""

VERSION = "__init__"
"""The version stands in the package itself; everybody may print it."""


def imports(path: Path) -> Iterator[str]:
    """Yield the part of the package that each import in a file names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module == "quota_advisor":
                yield from (alias.name for alias in node.names)
            elif node.module.startswith("quota_advisor."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            yield from (n[1] if len(n) > 1 else VERSION for n in names if n[0] == PACKAGE.name)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = sorted(p for p in PACKAGE.rglob("*.py") if room(p) not in ("__init__", "__main__"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_room_may_see(path: Path) -> None:
    own = room(path)
    assert own in MAY_SEE, f"{own} has no place in the table of rooms"
    seen = set(imports(path)) - {own, VERSION}
    assert seen <= MAY_SEE[own], f"{own} must not see {sorted(seen - MAY_SEE[own])}"


def test_what_may_be_seen_stands_further_inside() -> None:
    order = list(MAY_SEE)
    for own, seen in MAY_SEE.items():
        assert all(order.index(other) < order.index(own) for other in seen), own


def test_no_import_is_relative() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def test_every_room_is_real() -> None:
    assert {room(path) for path in FILES} == set(MAY_SEE)


def test_no_room_is_flat_with_more_than_about_fifteen_files() -> None:
    for directory in {path.parent for path in FILES} - {PACKAGE}:
        assert len([*directory.glob("*.py")]) <= 17, directory
