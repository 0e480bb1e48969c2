"""Pods and what stands around them, found by shape: the cases met in practice."""

from __future__ import annotations

import json

import pytest

from quota_advisor.model.manifest import (
    DocumentNote,
    KubeletConfig,
    LimitRange,
    NoteKind,
    Place,
    Pod,
    ResourceQuota,
    ResourceRef,
    Role,
    Scalar,
)
from tests.documents.reading import pods, read

pytestmark = pytest.mark.usefixtures("way")


def pod(text: str) -> Pod:
    (found,) = pods(text)
    return found


DEPLOYMENT = """\
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: api
      namespace: shop
      annotations:
        quota-advisor.io/ignore.a-rule: because
    spec:
      selector: {}
      template:
        metadata:
          annotations:
            quota-advisor.io/ignore.b-rule: so
        spec:
          initContainers:
          - name: migrate
            image: a
          - name: proxy
            image: b
            restartPolicy: Always
          containers:
          - name: main
            image: c
            command: [sh, -c]
            args:
            - --threads=4
            env:
            - name: GOMAXPROCS
              value: "4"
            - name: LIMIT
              valueFrom:
                resourceFieldRef:
                  resource: limits.cpu
                  divisor: 1m
            - name: TOKEN
              valueFrom: {secretKeyRef: {name: a, key: b}}
            resources:
              limits:
                cpu: 200m
                memory: "1Gi"
                nvidia.com/gpu: 1
              requests:
                cpu: 0.1
          volumes:
          - name: info
            downwardAPI:
              items:
              - path: cpu
                resourceFieldRef: {resource: limits.cpu, containerName: main}
    """


def test_everything_about_a_pod_is_read_with_its_place() -> None:
    found = pod(DEPLOYMENT)
    assert (found.kind, found.api_version) == ("Deployment", "apps/v1")
    assert (found.name, found.namespace) == ("api", "shop")
    assert found.path == "spec.template.spec"
    assert found.place == Place(1, 1)
    assert not found.partial
    assert not found.windows
    assert found.wrong_shapes == ()
    assert found.misplaced == ()
    assert [(c.name, c.role) for c in found.containers] == [
        ("migrate", Role.INIT),
        ("proxy", Role.SIDECAR),
        ("main", Role.APP),
    ]
    main = found.containers[2]
    assert main.path == "spec.template.spec.containers[0]"
    assert main.place == Place(22, 9)
    assert [word.text for word in main.command] == ["sh", "-c", "--threads=4"]
    assert main.env == {
        "GOMAXPROCS": Scalar("4", False, 29, 18),
        "LIMIT": ResourceRef("limits.cpu", Scalar("1m", True, 34, 24), None, 33, 25),
    }
    assert main.resources.limits == {
        "cpu": Scalar("200m", True, 39, 18),
        "memory": Scalar("1Gi", False, 40, 21),
    }
    assert main.resources.requests == {"cpu": Scalar("0.1", True, 43, 18)}
    assert main.resources.place == Place(38, 11)
    assert not found.containers[0].resources.present
    assert found.containers[0].resources.place == found.containers[0].place
    assert found.volume_refs == {"cpu": ResourceRef("limits.cpu", None, "main", 49, 42)}
    assert [(s.rules, s.reason, s.location.line) for s in found.suppressions] == [
        (("a-rule",), "because", 7),
        (("b-rule",), "so", 13),
    ]


CONTAINERS = "containers: [{name: a, image: b}]"


def made(kind: str, api_version: str, spec: str) -> str:
    return f"kind: {kind}\napiVersion: {api_version}\n{spec}\n"


@pytest.mark.parametrize(
    ("kind", "api_version", "path"),
    [
        ("Pod", "v1", "spec"),
        ("Deployment", "extensions/v1beta1", "spec.template.spec"),
        ("CronJob", "batch/v1beta1", "spec.jobTemplate.spec.template.spec"),
        ("PodTemplate", "v1", "template.spec"),
        ("Rollout", "argoproj.io/v1alpha1", "spec.template.spec"),
        ("Service", "serving.knative.dev/v1", "spec.template.spec"),
        ("ScaledJob", "keda.sh/v1alpha1", "spec.jobTargetRef.template.spec"),
        ("Thing", "example.com/v1", "spec.podSpec"),
        ("Thing", "example.com/v1", "spec.worker"),
    ],
)
def test_a_pod_template_is_found_by_its_shape(kind: str, api_version: str, path: str) -> None:
    text = f"{{{CONTAINERS}}}"
    for key in reversed(path.split(".")[1:]):
        text = f"{{{key}: {text}}}"
    found = pod(made(kind, api_version, f"{path.partition('.')[0]}: {text}"))
    assert found.path == path
    assert not found.partial
    assert [c.name for c in found.containers] == ["a"]


def test_a_pod_template_in_a_list_is_found() -> None:
    spec = f"spec: {{groups: [{{x: y}}, {{template: {{spec: {{{CONTAINERS}}}}}}}]}}"
    assert pod(made("Thing", "example.com/v1", spec)).path == "spec.groups[1].template.spec"


POOL = "spec: {limits: {cpu: 1}, x: containers}"


@pytest.mark.parametrize(
    "text",
    [
        made("CustomResourceDefinition", "v1", f"spec: {{template: {{spec: {{{CONTAINERS}}}}}}}"),
        made("ConfigMap", "v1", f"data: {{spec: {{{CONTAINERS}}}}}"),
        made("ClusterPolicy", "kyverno.io/v1", f"spec: {{pattern: {{spec: {{{CONTAINERS}}}}}}}"),
        made("NodePool", "karpenter.sh/v1", POOL),
        f"spec: {{{CONTAINERS}}}",
    ],
)
def test_what_only_looks_like_a_pod_is_left_alone(text: str) -> None:
    assert read(text) == []


def test_items_of_a_list_have_their_own_lines() -> None:
    found = pods(
        """\
        apiVersion: v1
        kind: List
        items:
        - apiVersion: v1
          kind: Pod
          metadata: {name: a}
          spec:
            containers: [{name: x, image: y}]
        - apiVersion: v1
          kind: List
          items:
          - {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{image: y}]}}
        - apiVersion: v1
          kind: Pod
          metadata: {name: c}
          spec: {containers: [{name: x, image: y}]}
        """
    )
    assert [(p.name, p.place) for p in found] == [
        ("a", Place(4, 3)),
        ("b", Place(12, 5)),
        ("c", Place(13, 3)),
    ]


def test_fifteen_documents_keep_their_lines() -> None:
    one = (
        f"# c\n\napiVersion: v1\nkind: Pod\nspec: {{{CONTAINERS}}}\n---\n---\n# nothing\n--- # d\n"
    )
    assert [p.place.line for p in pods(one * 15)] == [3 + 9 * i for i in range(15)]


def test_pod_level_resources_are_no_mistake() -> None:
    found = pod(
        f"kind: Pod\napiVersion: v1\nspec: {{resources: {{limits: {{cpu: 2}}}}, {CONTAINERS}}}"
    )
    assert found.resources.limits["cpu"].text == "2"
    assert found.misplaced == ()


EITHER = "resources.limits.cpu or spec.containers[0].resources.requests.cpu"


@pytest.mark.parametrize(
    ("container", "path", "belongs"),
    [
        ("limits: {cpu: 1}", "limits", "resources.limits"),
        ("cpu: 1", "cpu", EITHER),
        ("resources: {cpu: 1}", "resources.cpu", EITHER),
        ("resources: {limit: {cpu: 1}}", "resources.limit", "resources.limits"),
        ("resources: {request: {cpu: 1}}", "resources.request", "resources.requests"),
        ("securityContext: {limits: {cpu: 1}}", "securityContext.limits", "resources.limits"),
        ("lifecycle: {resources: {limits: {cpu: 1}}}", "lifecycle.resources", "resources"),
    ],
)
def test_keys_in_the_wrong_place_of_a_container_are_told(
    container: str, path: str, belongs: str
) -> None:
    found = pod(
        "kind: Pod\napiVersion: v1\nspec:\n  containers:\n"
        f"  - name: a\n    image: b\n    {container}\n"
    )
    (wrong,) = found.misplaced
    assert wrong.path == f"spec.containers[0].{path}"
    assert wrong.belongs == f"spec.containers[0].{belongs}"
    assert wrong.line == 7
    assert wrong.key == path.rpartition(".")[2]


@pytest.mark.parametrize("where", ["", "spec.", "spec.template."])
def test_resources_above_the_containers_are_told(where: str) -> None:
    resources = "resources: {limits: {cpu: 1}}, "
    places = ("", "spec.", "spec.template.")
    top, spec, template = (resources if where == place else "" for place in places)
    template = f"template: {{{template}spec: {{{CONTAINERS}}}}}"
    found = pod(f"{{{top}kind: Job, apiVersion: batch/v1, spec: {{{spec}{template}}}}}")
    assert [(m.path, m.belongs) for m in found.misplaced] == [
        (f"{where}resources", "spec.template.spec.containers[].resources")
    ]


@pytest.mark.parametrize(
    ("spec", "path", "expected", "found"),
    [
        ("text", "", "a mapping", "a scalar"),
        ("{containers: {a: b}}", ".containers", "a list", "a mapping"),
        ("{containers: ~}", ".containers", "a list", "nothing"),
        ("{containers: [a]}", ".containers[0]", "a mapping", "a scalar"),
    ],
)
def test_wrong_shapes_around_containers_are_told(
    spec: str, path: str, expected: str, found: str
) -> None:
    (wrong,) = pod(made("Pod", "v1", f"spec: {spec}")).wrong_shapes
    assert (wrong.path, wrong.expected, wrong.found) == (f"spec{path}", expected, found)
    assert wrong.line == 3


@pytest.mark.parametrize(
    ("entry", "path", "expected", "found"),
    [
        ("resources: ~", "resources", "a mapping", "nothing"),
        ("resources: {limits: []}", "resources.limits", "a mapping", "a list"),
        ("resources: {limits: {cpu: [1]}}", "resources.limits.cpu", "a scalar", "a list"),
        ("env: x", "env", "a list", "a scalar"),
        ("args: x", "args", "a list", "a scalar"),
        ("args: [{a: b}]", "args[0]", "a scalar", "a mapping"),
    ],
)
def test_wrong_shapes_in_a_container_are_told(
    entry: str, path: str, expected: str, found: str
) -> None:
    (wrong,) = pod(made("Pod", "v1", f"spec: {{containers: [{{name: a, {entry}}}]}}")).wrong_shapes
    assert wrong.path == f"spec.containers[0].{path}"
    assert (wrong.expected, wrong.found, wrong.line) == (expected, found, 3)


def test_a_wrong_container_does_not_hide_the_others() -> None:
    found = pod("kind: Pod\napiVersion: v1\nspec: {containers: [x, {name: b, image: c}]}\n")
    assert [c.name for c in found.containers] == ["b"]


NAMED = "containers: [{name: a}]"
DIRECTIVE = "containers: [{name: a, image: b, $patch: replace}]"


@pytest.mark.parametrize(
    "text",
    [
        made("Deployment", "apps/v1", f"spec: {{selector: {{}}, template: {{spec: {{{NAMED}}}}}}}"),
        made("Deployment", "apps/v1", f"spec: {{template: {{spec: {{{CONTAINERS}}}}}}}"),
        made("Rollout", "argoproj.io/v1", f"spec: {{template: {{spec: {{{NAMED}}}}}}}"),
        made("Pod", "v1", f"spec: {{{DIRECTIVE}}}"),
        made("Prometheus", "monitoring.coreos.com/v1", f"spec: {{{CONTAINERS}}}"),
    ],
)
def test_patches_are_partial(text: str) -> None:
    assert pod(text).partial


@pytest.mark.parametrize(
    "spec", ["os: {name: windows}", "nodeSelector: {kubernetes.io/os: windows}"]
)
def test_windows_is_recognised(spec: str) -> None:
    assert pod(f"kind: Pod\napiVersion: v1\nspec: {{{spec}, {CONTAINERS}}}\n").windows


def test_generated_names_end_in_a_star() -> None:
    text = f"kind: Pod\napiVersion: v1\nmetadata: {{generateName: a-}}\nspec: {{{CONTAINERS}}}\n"
    assert pod(text).name == "a-*"


@pytest.mark.parametrize("quantity", ["'{{ .Values.cpu }}'", "'${CPU}'"])
def test_a_quantity_that_is_a_template_makes_the_pod_partial(quantity: str) -> None:
    container = f"{{name: a, image: b, resources: {{limits: {{cpu: {quantity}}}}}}}"
    note, found = read(made("Pod", "v1", f"spec: {{containers: [{container}]}}"))
    assert isinstance(note, DocumentNote)
    assert note.kind is NoteKind.RENDER_FIRST
    assert isinstance(found, Pod)
    assert found.partial
    assert found.containers[0].resources.limits == {}


def test_json_is_read_with_places() -> None:
    item = {
        "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a\U0001f600"},
        "spec": {"containers": [{"name": "x", "image": "y", "resources": {"limits": {"cpu": 1}}}]},
    }  # fmt: skip
    found = pod(json.dumps({"kind": "List", "apiVersion": "v1", "items": [item]}, indent=1))
    assert found.name == "a\U0001f600"
    assert found.containers[0].resources.limits["cpu"] == Scalar("1", True, 18, 16)


def test_a_limit_range_fills_in_as_the_api_does() -> None:
    (found,) = read(
        """\
        apiVersion: v1
        kind: LimitRange
        metadata: {name: a, namespace: n}
        spec:
          limits:
          - type: Pod
            max: {cpu: 9}
          - type: Container
            max: {cpu: 2}
            min: {cpu: 100m}
        """
    )
    assert isinstance(found, LimitRange)
    assert (found.namespace, found.name) == ("n", "a")
    assert found.default_limit == found.default_request == Scalar("2", True, 9, 16)


@pytest.mark.parametrize(
    ("spec", "limit", "cpu_request"),
    [
        ("hard: {limits.cpu: 1}", "1", None),
        ("hard: {cpu: 2}", None, "2"),
        ("hard: {cpu: 2, requests.cpu: 3}", None, "3"),
        ("hard: {pods: 1, limits.cpu: null}", None, None),
        ("hard: {cpu: 2}, scopes: [NotBestEffort]", None, None),
        ("hard: {cpu: 2}, scopeSelector: {matchExpressions: []}", None, None),
    ],
)
def test_a_resource_quota_says_what_it_counts(
    spec: str, limit: str | None, cpu_request: str | None
) -> None:
    (found,) = read(made("ResourceQuota", "v1", f"spec: {{{spec}}}"))
    assert isinstance(found, ResourceQuota)
    assert [s and s.text for s in (found.limit, found.request)] == [limit, cpu_request]
    assert found.is_about_cpu is bool(limit or cpu_request)


def test_kubelet_settings_are_dotted_paths() -> None:
    (found,) = read(
        """\
        kind: KubeletConfiguration
        apiVersion: kubelet.config.k8s.io/v1beta1
        cpuManagerPolicyOptions:
          full-pcpus-only: "true"
        featureGates: {CustomCPUCFSQuotaPeriod: true}
        reservedSystemCPUs: 0-1
        """
    )
    assert isinstance(found, KubeletConfig)
    assert found.settings["cpuManagerPolicyOptions.full-pcpus-only"] == Scalar("true", False, 4, 20)
    assert found.settings["featureGates.CustomCPUCFSQuotaPeriod"].text == "true"


def test_an_object_without_a_name_is_named_by_its_file() -> None:
    named = pod(f"kind: Pod\napiVersion: v1\nmetadata: {{name: a}}\nspec: {{{CONTAINERS}}}")
    unnamed = pod(f"kind: Pod\napiVersion: v1\nmetadata: {{namespace: n}}\nspec: {{{CONTAINERS}}}")
    assert [found.subject.name for found in (named, unnamed)] == ["a", "x.yaml"]
