"""The fast reader of JSON and the exact one agree on everything that the fast one takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from quota_advisor.documents import reader as reader_module
from quota_advisor.documents.reader import read_manifest
from quota_advisor.documents.yaml.json_tree import NotJsonError, read_json
from quota_advisor.documents.yaml.native_tree import NativeReader
from quota_advisor.documents.yaml.split import whole
from quota_advisor.documents.yaml.tree import BrokenDocumentError, Node
from tests.documents.yaml.test_native_tree import CUSTOM, EDITS, GENERATED, edited

MANY = settings(max_examples=600, deadline=None)

KEYS = st.sampled_from(
    [
        "cpu",
        "limits",
        "name",
        "annotations",
        "containers",
        "kind",
        "x",
        "é",
        'a"b',
        "a\\b",
        "",
        "y/z",
    ]
)
TEXTS = st.one_of(
    st.text(alphabet='ab"\\/\n\t€\U0001f600é{}[],:# ', max_size=6), st.text(max_size=4)
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
    | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
LAYOUTS = st.sampled_from(
    [
        {},
        {"indent": 2},
        {"indent": 2, "ensure_ascii": False},
        {"separators": (",", ":"), "ensure_ascii": False},
    ]
)


def exact(data: bytes) -> list[Node] | str:
    try:
        trees = list(read_json(data.decode(), prune=True))
    except (NotJsonError, UnicodeDecodeError):
        return "no JSON"
    except BrokenDocumentError as error:
        return error.reason
    return "a key twice" if any(t.duplicates for t in trees) else [t.root for t in trees]


def agree(reader: NativeReader, data: bytes) -> bool:
    """Compare what both make of a text; say whether the fast reader took it."""
    found = reader.read_json(data, whole(data))
    assert found is None or [root for *_, root in found] == exact(data)
    return found is not None


AS_JSON = [
    json.dumps(document, **layout).encode()
    for text in (*GENERATED[:60], *CUSTOM)
    for document in [yaml.safe_load(text)]
    for layout in ({"indent": 2}, {"separators": (",", ":")})
    if isinstance(document, dict)
]


def test_the_fast_reader_takes_what_tools_write(reads_all: NativeReader) -> None:
    assert len(AS_JSON) > 50
    assert all(agree(reads_all, data) for data in AS_JSON)
    assert agree(reads_all, b"\n".join(AS_JSON))


@MANY
@given(VALUES, LAYOUTS)
def test_values_read_alike(reads_all: NativeReader, value: Any, layout: dict[str, Any]) -> None:
    agree(reads_all, json.dumps({"spec": {"containers": value}}, **layout).encode())


@MANY
@given(st.sampled_from(AS_JSON), EDITS)
def test_edited_values_read_alike(
    reads_all: NativeReader, data: bytes, edits: list[tuple[str, int, int]]
) -> None:
    agree(reads_all, edited(data, edits))


@MANY
@given(st.text(alphabet='{}[]":,0123e.-+tfn \\u\n', max_size=24))
def test_short_texts_read_alike(reads_all: NativeReader, text: str) -> None:
    agree(reads_all, text.encode())


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}', '{"a": 01}', '{"a": 1.}', '{"a": "\\x"}', '{"a": "\t"}', "[1,]",
        '{"a" 1}', '{"a": 1}}', '{"a": nul}', "[1 2]", '{"a": "\\ud83d\\ude00"}', '{"a": tru',
        '{"annotations": {"a\\"b": "c"}}', '{"\\u0063pu": 1}', '{"a": "\\u0000"}', '{"a": "b', "{",
        '{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"k3":1}',
        "[" * 300 + "]" * 300,
    ],
)  # fmt: skip
def test_the_fast_reader_leaves_what_is_not_plain(reads_all: NativeReader, text: str) -> None:
    assert not agree(reads_all, text.encode())


def test_what_is_not_kept_takes_no_room(reads_all: NativeReader) -> None:
    other = b'{"status": {"conditions": [{"type": "Ready", "x": [1, 2, 3]}]}},'
    data = b'{"items": [' + other * 200_000 + b'{"containers": []}]}'
    found = reads_all.read_json(data, whole(data))
    assert found is not None
    root: Any = found[0][3]
    assert root["items"][-1]["containers"] == [1, len(data) - 4]


def test_keys_that_are_made_to_collide_are_left(reads_all: NativeReader) -> None:
    def hash_of(key: bytes) -> int:
        value = 2166136261
        for byte in key:
            value = (value ^ byte) * 16777619 & 0xFFFFFFFF
        return value ^ value >> 15

    def read(keys: list[bytes]) -> object:
        pairs = b",".join(b'"%s":1' % key for key in keys)
        data = b'{"spec":{%s}}' % pairs
        return reads_all.read_json(data, whole(data))

    names = [b"k%d" % n for n in range(100_000)]
    assert read(names) is not None
    assert read([name for name in names if hash_of(name) & 1023 == 0]) is None


def test_words_in_it_say_whether_it_is_read(native: NativeReader) -> None:
    pod = b'{"kind": "Pod", "containers": [], "x": "{{ y }}"}'
    for data, is_read in (
        (pod, True), (pod + b'{"kind": "LimitRange"}', False), (b'{"kind": "Pod"}', False),
    ):  # fmt: skip
        assert (native.read_json(data, whole(data)) is not None) is is_read


@MANY
@given(st.sampled_from(AS_JSON), EDITS)
def test_objects_are_alike_with_and_without_the_fast_reader(
    native: NativeReader, data: bytes, edits: list[tuple[str, int, int]]
) -> None:
    data = b'{"kind": "List", "apiVersion": "v1", "items": [' + edited(data, edits) + b"]}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader_module, "native_reader", lambda: native)
        fast = list(read_manifest("x.json", data))
        patch.setattr(reader_module, "native_reader", lambda: None)
        assert fast == list(read_manifest("x.json", data))
