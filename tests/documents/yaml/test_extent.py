"""Ends that are read off the text are those of a parser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.documents.yaml.extent import Extents
from quota_advisor.documents.yaml.split import documents, whole

TESTS = Path(__file__).parents[2]
FILES = sorted(
    path
    for suffix in ("*.yaml", "*.yml", "*.json")
    for path in (TESTS / "lint" / "repository").rglob(suffix)
) + sorted((TESTS / "fix" / "cases").rglob("*.*"))


def scalars(node: Any) -> Iterator[Any]:
    """Yield every scalar once, keys included."""
    seen, waiting = set(), [node]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or node is None:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.MappingNode):
            waiting += [part for pair in node.value for part in pair]
        else:
            waiting += node.value


def differing(text: str) -> list[str]:
    """Return the scalars of a document whose end is another one to the parser."""
    extents = Extents(text, 1)
    found = []
    for node in scalars(yaml.compose(text, Loader=yaml.SafeLoader)):
        start, end = node.start_mark, node.end_mark
        expected = text[start.index : end.index].rstrip()
        ours = extents.end_of(start.line + 1, start.column + 1)
        assert ours is not None
        last = text.split("\n")[: ours[0]]
        length = sum(len(line) + 1 for line in last[:-1]) + ours[1] - 1 - start.index
        if text[start.index : start.index + length] != expected:
            found.append(f"{expected!r} and not {text[start.index : start.index + length]!r}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(TESTS)))
def test_scalars_of_real_files_end_where_the_parser_says(path: Path) -> None:
    data = path.read_bytes()
    for part in documents(data, whole(data)):
        text = data[part.start : part.end].decode()
        try:
            yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError:
            continue
        assert differing(text) == []


TEXTS = st.one_of(
    st.text("ab:,#[]{}&*!|>'\"\\ -\n0.é\t", max_size=12),
    st.sampled_from(["500m", "1,5", "a b", "x#y", "http://a:80", "- a", "0x10", "true", ""]),
)
KEYS = TEXTS.filter(lambda text: text != "" and "\n" not in text)


def trees(texts: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    return st.recursive(
        texts,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)
        ),
        max_leaves=8,
    )


@given(trees(TEXTS), st.sampled_from([20, 80]))
def test_scalars_in_block_style_end_where_the_parser_says(tree: object, width: int) -> None:
    text = yaml.safe_dump(tree, default_flow_style=False, width=width, allow_unicode=True)
    assert differing(text) == []


@given(tree=trees(KEYS), flow=st.sampled_from([None, True]))
def test_scalars_in_brackets_end_where_the_parser_says(tree: object, *, flow: bool | None) -> None:
    # What stands behind a text in quotes that goes over several lines may end at the bracket.
    text = yaml.safe_dump(tree, default_flow_style=flow, width=10_000, allow_unicode=True)
    assert differing(text) == []


@pytest.mark.parametrize(
    ("text", "at", "covered"),
    [
        ("cpu: 500m  # half\n", (1, 6), "500m"),
        ("cpu: 500m\n", (1, 1), "cpu"),
        ("'cpu': '5''0'\r\n", (1, 8), "'5''0'"),
        ("a: {cpu: 1, b: 2}\n", (1, 10), "1"),
        ("a: {cpu: 1, b: 2}\n", (1, 4), "{cpu: 1, b: 2}"),
        ("a: 1,5\n", (1, 4), "1,5"),
        ("{\n  a: 1,\n  b: 2\n}\n", (2, 6), "1"),
        ("a: [x, # ]\n  y]\nb: 1\n", (1, 4), "[x, # ]\n  y]"),
        ("a: b\n  c # d\ne: f\n", (1, 4), "b\n  c"),
        ("a: |\n  b\n\n  c\n# d\n", (1, 4), "|\n  b\n\n  c"),
        ("- a: >-\n    b\n  c: 1\n", (1, 6), ">-\n    b"),
        ("a: &x 5\n", (1, 4), "&x 5"),
        ("a: *x\n", (1, 4), "*x"),
        ("a:\n- b: 1\n", (2, 1), "-"),
        ("a:\n- b: 1\n", (2, 3), "b"),
        ("a:\n", (1, 3), ""),
        ("# quota-advisor: ignore[a] b\na: 1\n", (1, 1), "# quota-advisor: ignore[a] b"),
        ("\ufeffcpu: 1\n", (1, 6), "1"),
        ("größe: größer\n", (1, 8), "größer"),
        ('a: "never closed\n', (1, 4), '"never closed'),
        ("a: [b\n", (1, 4), "["),
    ],
)
def test_what_is_shown(text: str, at: tuple[int, int], covered: str) -> None:
    end = Extents(text, 1).end_of(*at)
    assert end is not None
    assert cut(text, at, end) == covered


def cut(text: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    lines = [line.removeprefix("\ufeff") for line in text.split("\n")][start[0] - 1 : end[0]]
    lines[-1] = lines[-1][: end[1] - 1]
    lines[0] = lines[0][start[1] - 1 :]
    return "\n".join(lines)


def test_lines_are_those_of_the_file() -> None:
    assert Extents("a: 1\nb: 22\n", 7).end_of(8, 4) == (8, 6)


@pytest.mark.parametrize("at", [(0, 1), (3, 1), (1, 6), (1, 99)])
def test_no_end_for_a_place_outside_of_the_text(at: tuple[int, int]) -> None:
    assert Extents("a: 1\n", 1).end_of(*at) is None


@given(st.text(max_size=60), st.integers(1, 6), st.integers(1, 20))
def test_no_text_breaks_it_and_no_end_is_before_its_start(
    text: str, line: int, column: int
) -> None:
    end = Extents(text, 1).end_of(line, column)
    assert end is None or (line, column) <= end
