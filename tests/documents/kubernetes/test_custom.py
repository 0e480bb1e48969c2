"""Containers of operators and workflow engines: what is read of them, and with which places."""

from __future__ import annotations

import json
import time
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from quota_advisor.model.manifest import DocumentNote, NoteKind, Place, Pod, Role, Scalar
from tests.documents.reading import pods, read

pytestmark = pytest.mark.usefixtures("way")

HANG_SEC = 10

FIXTURES = Path(__file__).parents[2] / "rules" / "met-in-practice"


def fixture(name: str) -> list[Pod]:
    return pods((FIXTURES / f"{name}.yaml").read_text())


def test_a_template_of_a_workflow_is_one_pod() -> None:
    compile_ = fixture("argo-workflow")[1]
    assert (compile_.kind, compile_.namespace, compile_.name) == ("Workflow", "ci", "build-*")
    assert (compile_.path, compile_.partial) == ("spec.templates[1]", True)
    assert [(c.role, c.name, c.path) for c in compile_.containers] == [
        (Role.INIT, "compile/fetch", "spec.templates[1].initContainers[0]"),
        (Role.APP, "compile/main", "spec.templates[1].container"),
        (Role.SIDECAR, "compile/cache", "spec.templates[1].sidecars[0]"),
    ]
    main = compile_.containers[1]
    assert (main.image, [word.text for word in main.command]) == ("builder", ["make"])
    assert main.place == Place(22, 9)
    assert main.resources.place == Place(25, 11)
    assert main.resources.requests == {"cpu": Scalar("501m", True, 25, 27)}


def test_only_containers_with_amounts_count_in_a_workflow() -> None:
    found = fixture("argo-workflow")
    assert [pod.path for pod in found] == [
        "spec.templateDefaults",
        *(f"spec.templates[{index}]" for index in (1, 2, 3, 4)),
        "spec.templates[5].dag.tasks[0].inline",
        *(f"spec.templates[{index}]" for index in (6, 8, 9)),
    ]
    assert [c.name for c in found[3].containers] == ["set/one"]
    assert [pod.windows for pod in found] == [False] * 8 + [True]


def test_each_step_of_a_task_is_a_container_of_one_pod() -> None:
    task, defaults, old = fixture("tekton-task")
    assert (task.kind, task.path, task.partial) == ("Task", "spec", True)
    assert [(c.role, c.name, c.path) for c in task.containers] == [
        (Role.APP, "compile", "spec.steps[0]"),
        (Role.APP, "test", "spec.steps[1]"),
        (Role.APP, "by-parameter", "spec.steps[2]"),
        (Role.APP, "steps[3]", "spec.steps[3]"),
        (Role.SIDECAR, "docker", "spec.sidecars[0]"),
    ]
    assert [word.text for word in task.containers[1].command] == ["gunicorn", "--workers", "64"]
    assert [c.name for c in defaults.containers] == ["spec.stepTemplate.computeResources"]
    assert [c.name for c in old.containers] == ["check"]


def test_requests_of_a_whole_task_are_nobodys_own() -> None:
    *_, run = fixture("tekton-pipeline")
    assert run.kind == "PipelineRun"
    assert [sorted(c.resources.limits) for c in run.containers] == [["cpu"], ["cpu"]]
    assert [c.resources.requests for c in run.containers] == [{}, {}]


KAFKA = """\
    apiVersion: kafka.strimzi.io/v1
    kind: Kafka
    metadata: {name: events, annotations: {quota-advisor.io/ignore.a-rule: because}}
    spec:
      kafka:
        resources:
          requests: {cpu: "2", memory: 4Gi}
          limits: {cpu: 3}
      entityOperator:
        topicOperator:
          resources: {requests: {memory: 1Gi}}
        userOperator:
          resources: {limits: {cpu: 100m}}
    """


def test_stanzas_of_an_object_are_containers_of_one_pod() -> None:
    (pod,) = pods(KAFKA)
    assert (pod.kind, pod.name, pod.path, pod.partial) == ("Kafka", "events", "", True)
    assert [s.rules for s in pod.suppressions] == [("a-rule",)]
    kafka, user_operator = pod.containers
    assert (kafka.role, kafka.name, kafka.path) == (
        Role.MADE,
        "spec.kafka.resources",
        "spec.kafka",
    )
    assert kafka.resources.requests == {
        "cpu": Scalar("2", False, 7, 23),
        "memory": Scalar("4Gi", True, 7, 36),
    }
    assert kafka.resources.limits == {"cpu": Scalar("3", True, 8, 21)}
    assert kafka.resources.place == Place(7, 7)
    assert user_operator.name == "spec.entityOperator.userOperator.resources"


def test_json_is_read_alike() -> None:
    (written,) = pods(KAFKA)
    (pod,) = pods(json.dumps(yaml.safe_load(dedent(KAFKA))))
    assert [c.name for c in pod.containers] == [c.name for c in written.containers]


def test_words_of_other_kinds_change_nothing_in_what_is_read() -> None:
    for path in sorted(FIXTURES.glob("*.yaml")):
        if path.stem.startswith(("argo-", "tekton-", "operators")) and ".expect" not in path.name:
            pruned = path.read_text()
            whole = pruned.replace("---\n", "--- # no LimitRange\n") + "# and no LimitRange\n"
            assert [p.containers for p in pods(whole)] == [p.containers for p in pods(pruned)]


def test_a_stanza_counts_once_however_often_it_is_used() -> None:
    (pod,) = pods(
        """\
        apiVersion: example.com/v1
        kind: Thing
        spec:
          a: &a
            resources: &r {limits: {cpu: 1}}
          b: *a
          c: {resources: *r}
          d: {initResources: {limits: {cpu: 2}}}
        """
    )
    assert [c.name for c in pod.containers] == ["spec.a.resources", "spec.d.initResources"]


@pytest.mark.parametrize(
    ("group", "cpu", "kinds"),
    [
        ("example.com", "'{{ .Values.cpu }}'", [NoteKind.RENDER_FIRST]),
        ("example.com", "'${CPU}'", [NoteKind.RENDER_FIRST]),
        ("example.com", "$(CPU)", [NoteKind.RENDER_FIRST]),
        ("tekton.dev", "$(params.cpu)", []),
        ("example.com", "some", []),
        ("argoproj.io", "'{{inputs.parameters.cpu}}'", []),
    ],
)
def test_an_amount_that_is_no_number_yet_is_left_alone(
    group: str, cpu: str, kinds: list[NoteKind]
) -> None:
    text = f"apiVersion: {group}/v1\nkind: A\nspec: {{resources: {{limits: {{cpu: {cpu}}}}}}}\n"
    found = read(text)
    assert [item.kind for item in found if isinstance(item, DocumentNote)] == kinds
    assert all(not item.containers for item in found if isinstance(item, Pod))


@pytest.mark.parametrize(
    "api_version", ["v1", "apps/v1", "resource.k8s.io/v1", "constraints.gatekeeper.sh/v1"]
)
def test_stanzas_in_kinds_of_the_api_are_no_containers(api_version: str) -> None:
    text = f"apiVersion: {api_version}\nkind: A\nspec: {{resources: {{limits: {{cpu: 1}}}}}}\n"
    assert read(text) == []


def test_many_stanzas_cost_no_more_than_their_number() -> None:
    entries = "".join(
        f"  a{index}: {{resources: {{limits: {{cpu: 1}}}}}}\n" for index in range(20_000)
    )
    started = time.process_time()
    (pod,) = pods(f"apiVersion: example.com/v1\nkind: A\nspec:\n{entries}")
    assert len(pod.containers) == 20_000
    assert time.process_time() - started < HANG_SEC


def test_long_paths_cost_no_more_than_short_ones() -> None:
    deep = 60
    entries = "".join(
        f"{' ' * deep}a{index}: {{resources: {{limits: {{cpu: 1}}}}}}\n" for index in range(5_000)
    )
    above = "".join(f"{' ' * level}{'k' * 900}:\n" for level in range(deep))
    (pod,) = pods(f"apiVersion: example.com/v1\nkind: A\n{above}{entries}")
    assert len(pod.containers) == 5_000
    assert max(len(c.name) for c in pod.containers) == 250
    assert pod.containers[-1].name.endswith("k.a4999.resources")


def test_a_long_patch_is_looked_at_once() -> None:
    templates = "".join(
        f"  - {{name: t{index}, container: {{resources: {{limits: {{cpu: 1}}}}}}}}\n"
        for index in range(5_000)
    )
    patch = "x" * 30_000_000
    started = time.process_time()
    found = pods(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n"
        f"  podSpecPatch: {patch}\n  templates:\n{templates}"
    )
    assert len(found) == 5_000
    assert time.process_time() - started < HANG_SEC
