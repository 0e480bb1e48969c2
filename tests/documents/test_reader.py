"""One file after the other, whatever is in it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quota_advisor.documents.reader import read_manifest
from quota_advisor.documents.yaml.tree import MAX_NODES
from quota_advisor.model.manifest import DocumentNote, NoteKind, Pod

POD = "kind: Pod\napiVersion: v1\nmetadata: {name: é}\nspec: {containers: [{name: a, image: b}]}\n"

HANG_SEC = 30
"""No performance figure (make bench-lint prints those): what takes this long goes on for ever."""


def notes(data: bytes | str) -> list[tuple[NoteKind, int, int]]:
    raw = data.encode() if isinstance(data, str) else data
    found = [item for item in read_manifest("x.yaml", raw) if isinstance(item, DocumentNote)]
    return [(note.kind, note.line, note.column) for note in found]


def pods(data: bytes | str) -> list[Pod]:
    raw = data.encode() if isinstance(data, str) else data
    return [item for item in read_manifest("x.yaml", raw) if isinstance(item, Pod)]


def test_a_broken_document_does_not_hide_the_others() -> None:
    text = f"{POD}---\nkind: Pod\nspec:\n\tcontainers: []\n---\n{POD}"
    assert notes(text) == [(NoteKind.BROKEN, 8, 1)]
    assert [pod.place.line for pod in pods(text)] == [1, 10]


def test_an_open_quote_ends_with_its_document() -> None:
    text = f"kind: Pod\nspec: 'open\n---\n{POD}"
    assert notes(text) == [(NoteKind.BROKEN, 3, 1)]
    assert len(pods(text)) == 1


def test_text_behind_a_document_end_is_no_document() -> None:
    assert notes(f"{POD}...\nx: y\n") == [(NoteKind.BROKEN, 6, 1)]
    assert notes(f"{POD}...\n---\n{POD}") == []


@pytest.mark.parametrize(
    "text",
    [
        "kind: Pod\nspec:\n  containers: {{ .Values.x }}\n",
        "{{- if .Values.on }}\nkind: Pod\n{{- end }}\n",
        "kind: Pod\nmetadata: {{ .x }}\n---\nkind: Pod\nmetadata: {{ .y }}\n",
        "kind: Pod\nx:\n{{ toYaml .x | indent 2 }}\n",
        '{{ include "common.deployment" . }}\n',
    ],
)
def test_a_template_is_reported_once_a_file(text: str) -> None:
    assert [kind for kind, *_ in notes(text)] == [NoteKind.RENDER_FIRST]


def test_braces_inside_of_texts_are_no_template() -> None:
    text = (
        "kind: Thing\napiVersion: x/v1\nspec:\n  podSpec: {containers: [{name: a, image: b}]}\n"
        "  values: |\n    {{ .x }}\n    a: {{ .y }}\n  other: 'x {{ y }}'\n"
    )
    assert notes(text) == []
    assert len(pods(text)) == 1


def test_the_same_file_in_other_encodings() -> None:
    (expected,) = pods(POD)
    for encoding in ("utf-8-sig", "utf-16"):
        assert pods(POD.encode(encoding)) == [expected]
    assert pods(POD.replace("\n", "\r\n")) == [expected]
    assert pods(POD.replace("\n", "\r")) == [expected]


def test_a_byte_order_mark_in_the_middle_hides_nothing() -> None:
    text = f"{POD}---\n\ufeff{POD}---\n# c\n\ufeff{POD}"
    assert [(pod.place.line, pod.place.column) for pod in pods(text)] == [(1, 1), (6, 1), (12, 1)]


def test_duplicate_keys_are_noted_and_the_last_counts() -> None:
    text = POD.replace("name: é", "name: a, name: b")
    assert notes(text) == [(NoteKind.DUPLICATE_KEY, 3, 21)]
    assert pods(text)[0].name == "b"


def test_a_document_with_an_unknown_tag_is_left_out() -> None:
    text = POD.replace("é", "!Ref x") + f"---\n{POD}"
    assert notes(text) == [(NoteKind.SKIPPED, 3, 23)]
    assert len(pods(text)) == 1


def test_json_documents_may_follow_each_other() -> None:
    one = '{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a","image":"b"}]}}'
    assert [pod.place.line for pod in pods(f"{one}\n{one}")] == [1, 2]
    assert [pod.place.line for pod in pods(f"{one}\n---\n{one}\n")] == [1, 3]
    assert notes(one.replace('"b"}', '"b"')) == [(NoteKind.BROKEN, 1, 78)]


def test_flow_style_is_no_broken_json() -> None:
    assert len(pods("{kind: Pod, apiVersion: v1, spec: {containers: [{name: a, image: b}]}}")) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"kind: Pod\ncontainers: " + b"[" * 100_000,
        b"kind: Pod\ncontainers:\n" + b"- " * 10_000,
        b'{"containers":' * 10_000,
        b"kind: Pod\n" + b"".join(b" " * i + b"a:\n" for i in range(3000)) + b"containers",
        b"kind: Pod\ncontainers: \xff\xfe",
        b"\xff\xfekind: Pod containers\xd8",
        b"kind: Pod\ncontainers: \x00" + bytes(range(256)) * 100,
        b"kind: Pod\ncontainers: *a\n",
        b"kind: Pod\ncontainers: &a [*a]\n",
    ],
)
def test_hostile_files_get_one_note_and_soon(data: bytes) -> None:
    started = time.process_time()
    assert len(notes(data)) == 1
    assert time.process_time() - started < HANG_SEC


def test_a_line_of_a_hundred_megabytes_is_read_in_time() -> None:
    started = time.process_time()
    assert len(pods(POD.encode() + b"x: " + b"y" * 10**8)) == 1
    assert time.process_time() - started < HANG_SEC


@pytest.mark.parametrize(
    "head",
    [
        "kind: LimitRange\napiVersion: v1\nspec: [",
        "services:\n  a: {image: x}\nx: [",
        '{"kind": "LimitRange", "apiVersion": "v1", "spec": [',
    ],
)
def test_the_most_values_that_are_taken_are_read_in_time(head: str) -> None:
    # Keys count as well in YAML; a few values less than the bound leave room for them.
    end = "]}" if head.startswith("{") else "]\n"
    data = head.encode() + b"1" + b",1" * (MAX_NODES - 20) + end.encode()
    started = time.process_time()
    assert notes(data) == []
    assert time.process_time() - started < HANG_SEC


def test_more_values_than_anyone_writes_are_refused() -> None:
    assert notes(b"kind: Pod\ncontainers: [" + b"a, " * 10**7)[0][0] is NoteKind.UNREADABLE


def test_files_without_anything_of_interest_are_silent() -> None:
    assert notes(bytes(range(256)) * 1000) == []
    assert notes(b"a: [\n") == []
    assert notes(b"") == []


FRAGMENTS = [
    "kind: Pod\n", "apiVersion: v1\n", "spec:\n", "containers:\n", "- name: a\n", "image: b\n", " ",
    "resources:\n", "limits: {cpu: 1}\n", "limits:\n", "cpu: ", "100m\n", "---\n", "services:\n",
    "a: {image: x}\n", "{{ x }}", "&a ", "*a", "<<: ", "!x ", "|\n", "'", '"', "[", "]", "{", "}",
    "# quota-advisor: ignore[a] b\n", "\t", "\ufeff", "kind: List\n", "items:\n", "extends: a\n",
    "kind: LimitRange\n", "template:\n", "env:\n", "~", "annotations:\n", "metadata: ",
]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40))
def test_fragments_in_any_order_raise_nothing(parts: list[str]) -> None:
    list(read_manifest("x.yaml", "".join(parts).encode()))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_raise_nothing(data: bytes) -> None:
    for name in ("x.yaml", "x.service", "x.container", "-"):
        list(read_manifest(name, data))
        list(read_manifest(name, b"kind: Pod\ncontainers: " + data))


def test_what_looks_like_a_value_of_ytt_hides_no_pod() -> None:
    text = POD.replace("name: a, image: b", 'name: a, image: b, args: ["x: #@y"]')
    (pod,) = pods(text)
    assert pod.partial
    assert [kind for kind, *_ in notes(text)] == [NoteKind.RENDER_FIRST]
    assert not pods(POD)[0].partial
