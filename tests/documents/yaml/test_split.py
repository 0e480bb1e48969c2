"""Documents of a file, found without parsing it."""

from __future__ import annotations

import pytest

from quota_advisor.documents.yaml.split import Interest, Part, documents, interest, whole


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


POD = b"kind: Pod\nspec:\n  containers: []\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (POD, Interest.PODS),
        (b"kind: Rollout\nspec: {template: {spec: {containers: []}}}\n", Interest.PODS),
        (b"apiVersion: v1\nkind: ConfigMap\ndata:\n  x: |\n    containers: 1\n", Interest.NOTHING),
        (
            b"kind: ConfigMap\ndata:\n  kubelet: |\n    kind: KubeletConfiguration\n",
            Interest.ANYTHING,
        ),
        (b"kind: Secret\ndata:\n  kubelet: |\n    kind: KubeletConfiguration\n", Interest.NOTHING),
        (b"kind: KubeletConfig\nspec: {kubeletConfig: {maxPods: 1}}\n", Interest.NOTHING),
        (b"kind: KubeletConfig\nspec: {kubeletConfig: {cpuManagerPolicy: x}}\n", Interest.ANYTHING),
        (b"kind: Shoot\nspec: {kubernetes: {kubelet: {cpuCFSQuota: false}}}\n", Interest.ANYTHING),
        (b"cpuManagerPolicyOptions: {x: y}\n", Interest.ANYTHING),
        (b"kind: Deployment\nspec: {a: cpuCFSQuota}\n", Interest.PODS),
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
        (b"apiVersion: a/v1\nkind: Kafka\nspec: {resources: {limits: {cpu: 1}}}\n", Interest.PODS),
        (b"apiVersion: a/v1\nkind: Task\nspec: {limits: {CPU: 1}}\n", Interest.PODS),
        (b"kind: Kafka\nspec: {resources: {limits: {cpu: 1}}}\n", Interest.NOTHING),
        (b"apiVersion: a/v1\nkind: Kafka\n'cpu' : 1\n", Interest.PODS),
        (b'apiVersion: a/v1\nkind: Kafka\ncpus": 1\n', Interest.PODS),
        (b"apiVersion: v2\nkind: HorizontalPodAutoscaler\nname: cpu\nx: 1\n", Interest.NOTHING),
        (b"apiVersion: v1\nkind: Rule\nx: cpu is busy when:\n", Interest.NOTHING),
        (b"resources: {limits: {cpu: 1}} # as in values of a chart\n", Interest.NOTHING),
        (b"kind: Rule\nx: 'the {{ $labels.x }} is'\n", Interest.NOTHING),
        (b"", Interest.NOTHING),
    ],
)
def test_a_few_words_tell_what_a_document_can_hold(data: bytes, expected: Interest) -> None:
    assert interest(data, whole(data)) is expected


def test_only_the_document_at_hand_counts() -> None:
    data = b"kind: Service\n---\n" + POD
    assert interest(data, Part(0, 14, 1)) is Interest.NOTHING
