"""Documents of a file, found without parsing it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.documents.split import Interest, Part, documents, interest, split_points, whole


def split(data: bytes) -> list[tuple[bytes, int]]:
    return [(data[p.start : p.end], p.line) for p in documents(data, whole(data))]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a: 1\n---\nb: 2\n", [(b"a: 1\n", 1), (b"b: 2\n", 3)]),
        (b"---\na: 1\n--- # c\nb: 2\n", [(b"a: 1\n", 2), (b"b: 2\n", 4)]),
        (b"a: 1\n---  \t\nb: 2", [(b"a: 1\n", 1), (b"b: 2", 3)]),
        (b"a: 1\r\n---\r\nb: 2\r\n", [(b"a: 1\r\n", 1), (b"b: 2\r\n", 3)]),
        (b"a: 1\n--- {b: 2}\n---\n", [(b"a: 1\n", 1), (b"--- {b: 2}\n", 2)]),
        (b"--- a\n--- b\n", [(b"--- a\n", 1), (b"--- b\n", 2)]),
        (b"a: |\n  ---\n ---\nb: ---\n---x: 1\n", [(b"a: |\n  ---\n ---\nb: ---\n---x: 1\n", 1)]),
        (b"a: |\n  x\n---", [(b"a: |\n  x\n", 1)]),
        (b"---\n---\n\n---\na", [(b"", 2), (b"\n", 3), (b"a", 5)]),
        (b"", []),
        (b"---", []),
    ],
)  # fmt: skip
def test_documents_end_at_marks_at_the_margin(
    data: bytes, expected: list[tuple[bytes, int]]
) -> None:
    found = [(text, line) for text, line in split(data) if text.strip()]
    assert found == [(text, line) for text, line in expected if text.strip()]


@given(
    st.lists(st.sampled_from([b"---\n", b"a: 1\n", b"--- # c\n", b" ---\n", b"--- x\n", b"\n"])),
    st.integers(1, 5),
)
def test_parts_hold_the_documents_of_the_whole(lines: list[bytes], parts: int) -> None:
    data = b"".join(lines)
    points = split_points(data, parts)
    assert len(points) <= parts
    assert b"".join(data[p.start : p.end] for p in points) == data
    together = [d for point in points for d in documents(data, point)]
    assert [d for d in together if data[d.start : d.end].strip()] == [
        d for d in documents(data, whole(data)) if data[d.start : d.end].strip()
    ]


def test_parts_are_about_equal() -> None:
    data = b"a: 1\n---\n" * 1000
    sizes = [point.end - point.start for point in split_points(data, 4)]
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) < 40


POD = b"kind: Pod\nspec:\n  containers: []\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (POD, Interest.PODS),
        (b"kind: Rollout\nspec: {template: {spec: {containers: []}}}\n", Interest.PODS),
        (b"apiVersion: v1\nkind: ConfigMap\ndata:\n  x: |\n    containers: 1\n", Interest.NOTHING),
        (b"kind: 'Secret' # c\nx: containers\n", Interest.NOTHING),
        (b"kind: CustomResourceDefinition\r\nx: containers\r\n", Interest.NOTHING),
        (b"kind: ConfigMap\nkind: Pod\nspec: {containers: []}\n", Interest.PODS),
        (b"kind: ConfigMapping\nx: containers\n", Interest.PODS),
        (b"kind: Deployment\nspec: text\n", Interest.PODS),
        (b"kind: LimitRange\n", Interest.ANYTHING),
        (b"kind: List\nitems: [{kind: ResourceQuota}]\n", Interest.ANYTHING),
        (b"kind: KubeletConfiguration\n", Interest.ANYTHING),
        (b"services:\n  a: {}\n", Interest.ANYTHING),
        (b"x: 1\nservices:\n  a: {}\n", Interest.ANYTHING),
        (b"kind: Service\nspec: {}\n", Interest.NOTHING),
        (b"kind: Service\nspec:\n  x: {{ .Values.x }}\n", Interest.ANYTHING),
        (b"{{- if .x }}\nkind: Service\n{{- end }}\n", Interest.ANYTHING),
        (b"kind: Rule\nx: 'the {{ $labels.x }} is'\n", Interest.NOTHING),
        (b"", Interest.NOTHING),
    ],
)
def test_a_few_words_tell_what_a_document_can_hold(data: bytes, expected: Interest) -> None:
    assert interest(data, whole(data)) is expected


def test_only_the_document_at_hand_counts() -> None:
    data = b"kind: Service\n---\n" + POD
    assert interest(data, Part(0, 14, 1)) is Interest.NOTHING
