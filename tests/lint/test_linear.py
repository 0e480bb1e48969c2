"""Four times the input takes about four times as long, whatever the file is full of.

Each pair of times comes from one run, the best of several: what grows with the square would take
sixteen times as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from quota_advisor.lint import Linter, Request
from quota_advisor.rulebook.chosen import load_rulebook

FEW, MANY, AT_MOST = 400, 1600, 9
ROUNDS = 3

COMMENT = "# quota-advisor: ignore[limit-below-10m] agreed\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: a
    image: x
    resources: {limits: {cpu: 5m}}
"""
ITEM = "- " + POD.replace("\n", "\n  ").rstrip(" ")
STRAY = POD.replace("resources: {limits: {cpu: 5m}}", "limits: {cpu: 500m}")
STRAY_ITEM = "- " + STRAY.replace("\n", "\n  ").rstrip(" ")
LIST = "apiVersion: v1\nkind: List\nitems:\n"


def comments(count: int) -> str:
    return POD + 10 * count * COMMENT


def pods_with_comments(count: int) -> str:
    return LIST + count * (ITEM + COMMENT)


def comments_between_texts(count: int) -> str:
    return POD + "notes:\n" + 5 * count * ("- 'one\n  two'\n" + COMMENT)


def fixable_documents(count: int) -> str:
    return "---\n".join(count * [STRAY])


def fixable_items(count: int) -> str:
    return LIST + count // 4 * STRAY_ITEM


def seconds(file: Path, text: str, *, fix: bool) -> float:
    """Return the CPU time of judging a file, and of what fixes make of it with its diff."""
    file.write_text(text)
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        linter = Linter(Request(paths=(str(file),), jobs=1), load_rulebook(use_config=False))
        linted = linter.judge()
        if fix:
            (change,) = linter.fix(linted).changes
            assert change.diff().count(b"\n+") > len(text) / 1000
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("make", [comments, pods_with_comments, comments_between_texts])
def test_comments(make: Callable[[int], str], tmp_path: Path) -> None:
    few, many = (seconds(tmp_path / "a.yaml", make(n), fix=False) for n in (FEW, MANY))
    assert many / few < AT_MOST


@pytest.mark.parametrize("make", [fixable_documents, fixable_items])
def test_fixes(make: Callable[[int], str], tmp_path: Path) -> None:
    few, many = (seconds(tmp_path / "a.yaml", make(n), fix=True) for n in (FEW, MANY))
    assert many / few < AT_MOST
