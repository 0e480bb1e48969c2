"""Imports point one way: a package sees only what stands to its left."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "quota_advisor"

ORDER = (
    "errors", "printable", "units", "model", "documents", "sim", "catalog", "config",
    "config_file", "baseline", "engine", "checks",
    "collect", "render", "apply", "probe", "cli",
)  # fmt: skip
"""From the inside out. ``documents`` is text turned into model types, live and in CI."""

STRANGERS = {
    "documents": {"sim"},
    "collect": {"sim", "catalog", "config", "config_file", "baseline", "engine", "checks"},
    "render": {"collect", "checks", "engine", "documents"},
    "apply": {"collect", "checks", "engine", "render"},
    "probe": {"checks", "engine", "config"},
}
"""What stands to the left and still must not be seen."""

ANYONE_MAY = {"__init__"}
"""The version, in the package itself."""


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
            yield from (n[1] if len(n) > 1 else "__init__" for n in names if n[0] == PACKAGE.name)


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = sorted(p for p in PACKAGE.rglob("*.py") if layer(p) not in ("__init__", "__main__"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_left(path: Path) -> None:
    own = layer(path)
    assert own in ORDER, f"{own} has no place in the order of layers"
    left = set(ORDER[: ORDER.index(own) + 1]) - STRANGERS.get(own, set())
    seen = set(imports(path)) - ANYONE_MAY
    assert seen <= left, f"{own} must not see {sorted(seen - left)}"


def test_no_import_is_relative() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def test_every_layer_is_real() -> None:
    found = {layer(path) for path in FILES}
    # The applier has its place in the order; its code comes with its command.
    assert set(ORDER) - found <= {"apply", "probe"}
