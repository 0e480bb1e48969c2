"""Comments and annotations that ask to leave a finding out."""

from __future__ import annotations

import pytest

from quota_advisor.documents.reader import read_manifest
from quota_advisor.model.manifest import Pod

POD = "kind: Pod\napiVersion: v1\nspec: {containers: [{name: a, image: b}]}\n"


def found(text: str) -> list[tuple[tuple[str, ...], str, int, int]]:
    pods = [item for item in read_manifest("x.yaml", text.encode()) if isinstance(item, Pod)]
    return [
        (s.rules, s.reason, s.location.line, s.location.column)
        for pod in pods
        for s in pod.suppressions
    ]


@pytest.mark.parametrize(
    ("comment", "rules", "reason"),
    [
        ("# quota-advisor: ignore[a] why", ("a",), "why"),
        ("#quota-advisor:ignore[a, b]", ("a", "b"), ""),
        ("#  quota-advisor:  ignore[]  x y ", (), "x y"),
    ],
)
def test_a_comment_is_read(comment: str, rules: tuple[str, ...], reason: str) -> None:
    assert found(f"{comment}\n{POD}") == [(rules, reason, 1, 1)]
    assert found(f"# é\n{POD}x: é {comment}\n") == [(rules, reason, 5, 6)]


def test_a_comment_counts_for_its_own_document() -> None:
    text = f"{POD}---\n# quota-advisor: ignore[a] why\n{POD}---\n{POD}"
    assert found(text) == [(("a",), "why", 5, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "x: |\n  # quota-advisor: ignore[a] why\n",
        "x: 'y # quota-advisor: ignore[a] why'\n",
        "x: 'y\n  # quota-advisor: ignore[a] why'\n",
        "x: y#quota-advisor: ignore[a] why\n",
        "# quota-advisor: something else\n",
    ],
)
def test_what_only_looks_like_a_comment_is_none(text: str) -> None:
    assert found(POD + text) == []


def test_a_comment_behind_a_block_scalar_is_one() -> None:
    assert found(f"{POD}x: |\n  y\n\n# quota-advisor: ignore[a] why\n") == [(("a",), "why", 7, 1)]
