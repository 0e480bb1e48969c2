"""YAML as the API reads it: the rows of the table of traps, and places."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.documents.text import without_marks
from quota_advisor.documents.yaml.exact_tree import read_yaml
from quota_advisor.documents.yaml.tree import (
    BrokenDocumentError,
    Node,
    Tree,
    is_list,
    is_null,
    is_scalar,
    key_place,
    pairs,
    place,
)

ANSWERS = json.loads((Path(__file__).parent / "yaml.json").read_text(encoding="utf-8"))


def read(text: str, **options: bool) -> Tree:
    return read_yaml(without_marks(text.encode()), 1, **{"prune": False, **options})


def plain(node: Node) -> Any:
    """Return a tree without its places."""
    if type(node) is dict:
        return {key: plain(value) for key, value in pairs(node)}
    if is_scalar(node):
        return None if is_null(node) else node[0]
    return [plain(item) for item in node[2:]] if is_list(node) else None


def broken(text: str) -> BrokenDocumentError:
    with pytest.raises(BrokenDocumentError) as caught:
        read(text)
    return caught.value


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: ascii(row["yaml"]))
def test_a_document_is_what_the_api_makes_of_it(row: dict[str, Any]) -> None:
    if row["answer"] is None:
        broken(row["yaml"])
    else:
        assert plain(read(row["yaml"]).root) == row["answer"]


def test_compose_lets_written_keys_win_over_merged_ones() -> None:
    text = "b: &b {x: merged, y: merged}\nc: {x: own, <<: *b}\n"
    assert plain(read(text).root)["c"] == {"x": "merged", "y": "merged"}
    assert plain(read(text, written_wins=True).root)["c"] == {"x": "own", "y": "merged"}


def test_a_duplicate_key_is_noted_where_it_stands_again() -> None:
    tree = read("a: 1\nb:\n  c: 1\n  c: 2\n")
    assert tree.duplicates == (("c", 4, 3, (3, 3)),)
    assert plain(tree.root) == {"a": "1", "b": {"c": "2"}}


def test_a_tag_of_no_standard_is_noted() -> None:
    assert read("a: 1\nb: !Ref x\n").tags == (("!Ref", 2, 9),)
    assert not read("a: !!str 1\nb: ! x\n").tags


def test_tabs_are_reported_with_their_line() -> None:
    error = broken("a:\n\t- 1\n")
    assert (error.line, error.column) == (2, 1)


@pytest.mark.parametrize("text", ["a: {{ .Values.x }}\n", "{{- if .x }}\na: b\n", "a: {% x %}\n"])
def test_templates_are_told_from_broken_yaml(text: str) -> None:
    assert broken(text).template
    assert not broken("a: [\n").template


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_places_are_lines_and_characters(mark: str, end: str) -> None:
    tree = read(end.join([f"{mark}a: é x", "b:", "- 'ü': \"q\"  # c", "- &n z", "- {k: *n}", ""]))
    root: Any = tree.root
    assert root["a"] == ["é x", True, 1, 4]
    assert root["b"][2]["ü"] == ["q", False, 3, 8]
    assert key_place(root["b"][2], "ü") == (3, 3)
    assert root["b"][3] == ["z", True, 4, 6]
    assert place(root["b"][4]) == (5, 3)
    assert root["b"][4]["k"] == root["b"][3]


def test_an_anchor_or_tag_does_not_move_the_place_of_its_value() -> None:
    root: Any = read("a: &x !!str 1\nb: &y # c\n  c: d\n").root
    assert root["a"] == ["1", False, 1, 13]
    assert place(root["b"]) == (3, 3)


def test_an_alias_bomb_is_refused_at_once() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for name, last in zip("bcdefghi", "abcdefgh", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{last}'] * 10)}]")
    started = time.process_time()
    error = broken("\n".join(lines))
    assert error.limit
    assert time.process_time() - started < 30  # a hang, not a figure


@pytest.mark.parametrize("text", ["[" * 10_000, "a: " + "{a: " * 10_000, "- " * 10_000])
def test_deep_nesting_is_refused_at_once(text: str) -> None:
    started = time.process_time()
    broken(text)
    assert time.process_time() - started < 30  # a hang, not a figure


def test_text_that_is_none_is_reported_with_its_place() -> None:
    with pytest.raises(BrokenDocumentError) as caught:
        read_yaml(b"a: b\nc: \xc3\xa9\xff\n", 1, prune=False)
    assert (caught.value.line, caught.value.column) == (2, 5)
    assert broken("a: b\nc: é\x07\n").column == 5


def test_pruning_keeps_what_bears_on_cpu() -> None:
    text = (
        "spec:\n  x: 1\n  odd: {resources: {limits: {cpu: 1, gpu: 1}}}\n"
        "  annotations: {a: b, c: {d: e}}\n  other: [{name: x}]\n"
    )
    assert plain(read(text, prune=True).root) == {
        "spec": {"odd": {"resources": {"limits": {"cpu": "1"}}}, "annotations": {"a": "b"}}
    }
