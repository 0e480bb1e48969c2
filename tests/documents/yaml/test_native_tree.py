"""The fast reader and the exact one agree on everything that the fast one takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quota_advisor.documents import reader as reader_module
from quota_advisor.documents.reader import read_manifest
from quota_advisor.documents.yaml.exact_tree import read_yaml
from quota_advisor.documents.yaml.native_tree import NativeReader
from quota_advisor.documents.yaml.split import Part, documents, whole
from quota_advisor.documents.yaml.tree import BrokenDocumentError, Tree
from tools import lint_tree

FEATURES = b"""# every notation that the fast reader knows
apiVersion: v1 # a comment
kind: "Pod"
metadata:
  name: 'x'
  annotations: {a: b, "c d": "e"}
spec:
- a: |
    text \xc3\xa9 "q" \\ and	a tab

      more
    # no comment

  cpu: 100m
- - x
  - "a\\"b\\n"
- command: ["a b", -c, x.y, {cpu: 1, b: [q]}, [], {}]
containers:
- description: >-
    folded
     x
  name: &name a
  args:
  - |+
   keep

  - |-
     strip
  - --x=y:z
  # a comment
  env: &env
    - name: n
      value:
    -
    - value: "\xe2\x82\xac" # y
  limits:
  cpu: 1 \xc3\xa9 1
  other: *env
  image: *name
"""
FRAGMENTS = [
    b"  ", b" ", b"\n", b"- ", b": ", b":", b"\t", b"&a ", b"*a", b"&name ", b"*name", b"<<: ",
    b"'", b'"', b"[", b"]", b"{", b"}", b"\xff", b"\xef\xbb\xbf", b"\0", b"|\n", b"|-", b">",
    b"!x ", b"\r", b"\r\n", b"\xc2\x85", b"\xe2\x80\xa8", b"null", b"cpu:", b"#", b" #", b"? ",
    b"%TAG", b"...", b"---", b",", b"\\", b"\xc3\xa9", b"@", b"`", b"~", b"=", b"\x7f", b"a: b\n",
]  # fmt: skip


IN_PRACTICE = Path(__file__).parents[2] / "rules" / "met-in-practice"
CUSTOM = [
    document
    for path in sorted(IN_PRACTICE.glob("*.yaml"))
    if path.stem.startswith(("argo-", "operators", "tekton-")) and ".expect" not in path.name
    for document in path.read_bytes().split(b"---\n")
]
"""Objects that hold no pod template, and say what their containers get all the same."""

GENERATED = [
    text.encode()
    for shape in ("mixed", "workloads")
    for text in lint_tree.documents(shape, 200)
    if len(text) < 10_000
]


def without_key_places(node: Any) -> Any:
    if type(node) is dict:
        rest = {key: without_key_places(node[key]) for key in node if key}
        return {"": node[""][:2], **rest}
    return [without_key_places(item) for item in node] if type(node) is list else node


def exact(data: bytes, line: int = 1) -> Tree | str:
    try:
        tree = read_yaml(data, line, prune=True)
    except BrokenDocumentError as error:
        return error.reason
    return tree._replace(root=without_key_places(tree.root))


def agree(reader: NativeReader, data: bytes) -> bool:
    """Compare what both make of a file's documents; say whether the fast reader took them all."""
    found = reader.read(data, whole(data))
    assert found is not None
    trees = {Part(start, end, line): root for start, end, line, root in found}
    parts = [part for part in documents(data, whole(data)) if data[part.start : part.end].strip()]
    for part in parts:
        if trees.get(part) is not None:
            assert Tree(trees[part]) == exact(data[part.start : part.end], part.line)
    assert trees.keys() <= set(documents(data, whole(data)))
    empty = [p for p in parts if p not in trees and exact(data[p.start : p.end]) != Tree(None)]
    assert not empty
    return all(trees.get(part, part) is not None for part in parts)


def test_the_fast_reader_takes_what_manifests_are_written_in(reads_all: NativeReader) -> None:
    assert all(agree(reads_all, data) for data in (*GENERATED, *CUSTOM))
    assert agree(reads_all, FEATURES)
    assert agree(reads_all, FEATURES.replace(b"\n", b"\r\n"))


@pytest.mark.parametrize(
    "text",
    [
        "a: b\na: c\n", "a: [b,\n c]\n", "a: 'b\n c'\n", "a:\tb\n", "a: !x b\n", "<<: {a: b}\n",
        "a: {{ b }}\n", "a: b\n c\n", "? a\n: b\n", "a: b: c\n", "a: *b\n", "a: &b\n", "a\n",
        "a: b\n...\n", "--- a\n", "a: \x07\n", "a: \u2028\n", "a: |2\n    b\n", "\ufeffa: b\n",
        "a: &a\n  b: &b {c: d}\n  e: *b\n  f: *a\n",
    ],
)  # fmt: skip
def test_the_fast_reader_leaves_what_is_not_plain(reads_all: NativeReader, text: str) -> None:
    assert not agree(reads_all, text.encode())


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("kind: Rollout\nspec: {containers: []}\nx: '{{ y }}'\n", True),
        ("kind: Rollout\nspec: {containers: []}\nservices: []\n", False),
        ("kind: List\nitems: [{kind: LimitRange, containers: []}]\n", False),
        ("kind: Pod\nx: '{{ y }}'\nservices: LimitRange\n", True),
        ("x: '{% y %}'\n", False),
        ("kind: Kafka\nx: cpu\ny: {limits: {cpu: 1}}\n", True),
        ("kind: Kafka\nlimits:\n  'cpu': 1\n", True),
        ("kind: Kafka\nlimits: {CPUs: 1}\n", True),
        ("kind: Kafka\nx: '{{ y }}'\nlimits: {cpu: 1}\n", True),
    ],
)
def test_words_say_what_is_read_and_what_is_left(
    native: NativeReader,
    text: str,
    is_read: bool,  # noqa: FBT001
) -> None:
    data = text.encode()
    found = native.read(data, whole(data))
    assert found is not None
    assert [root is not None for *_, root in found] == [is_read]


@pytest.mark.parametrize(
    "text",
    [
        "kind: Scaler\nname: cpu\nx: 1\n",
        "kind: Pool\nx: cpu\n",
        "x: a cpu is busy when: x\n",
        "x: cpu",
    ],
)
def test_what_can_hold_nothing_is_passed_over(native: NativeReader, text: str) -> None:
    assert native.read(text.encode(), whole(text.encode())) == []


def test_lines_count_from_the_one_given(reads_all: NativeReader) -> None:
    data = b"x: y\n---\nspec: z\n--- # c\nspec: a\n"
    found = reads_all.read(data, Part(5, len(data), 2))
    assert found is not None
    assert [list(entry) for entry in found] == [
        [9, 17, 3, {"": [3, 1], "spec": ["z", True, 3, 7]}],
        [25, 33, 5, {"": [5, 1], "spec": ["a", True, 5, 7]}],
    ]


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "line", "indent"]),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=5,
)


def edited(data: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    for how, where, what in edits:
        at = where % (len(data) + 1)
        if how == "insert":
            data = data[:at] + FRAGMENTS[what % len(FRAGMENTS)] + data[at:]
        elif how == "delete":
            data = data[:at] + data[at + 1 + what % 20 :]
        else:
            lines = data.split(b"\n")
            row = where % len(lines)
            if how == "line":
                lines.insert(what % len(lines), lines[row])
            else:
                lines[row] = b" " * (what % 7) + lines[row].lstrip(b" ")
            data = b"\n".join(lines)
    return data


MANY = settings(
    max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@MANY
@given(st.sampled_from([FEATURES, FEATURES, *GENERATED, *CUSTOM]), EDITS)
def test_edited_manifests_read_alike(
    reads_all: NativeReader, data: bytes, edits: list[tuple[str, int, int]]
) -> None:
    agree(reads_all, edited(data, edits))


@MANY
@example("a:\n- b\n c")
@given(st.text(alphabet="ab:- \n#\"'|>[]{},&*\té", max_size=30))
def test_short_texts_read_alike(reads_all: NativeReader, text: str) -> None:
    agree(reads_all, text.encode())


@MANY
@given(st.sampled_from([*GENERATED, *CUSTOM * 4]), EDITS)
def test_objects_are_alike_with_and_without_the_fast_reader(
    native: NativeReader, data: bytes, edits: list[tuple[str, int, int]]
) -> None:
    data = GENERATED[0] + b"---\n" + edited(data, edits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader_module, "native_reader", lambda: native)
        fast = list(read_manifest("x.yaml", data))
        patch.setattr(reader_module, "native_reader", lambda: None)
        assert fast == list(read_manifest("x.yaml", data))


def test_a_long_line_costs_no_more_than_its_length(reads_all: NativeReader) -> None:
    data = b"cpu: [" + b"x, " * 200_000 + b"x]\n"
    assert agree(reads_all, data)


def test_parts_of_a_file_are_read_in_place(reads_all: NativeReader) -> None:
    assert agree(reads_all, b"---\n".join(GENERATED[:20]))


@MANY
@given(st.lists(st.sampled_from([b"---\n", b"a: 1\n", b"--- # c\n", b" ---\n", b"--- x\n", b"\n"])))
def test_documents_are_cut_alike(reads_all: NativeReader, lines: list[bytes]) -> None:
    agree(reads_all, b"".join(lines))
