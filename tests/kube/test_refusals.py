"""What lint says the API refuses, a real API server refuses, and it takes all else.

Asked are the pods in the fixtures of all rules. A workload's pod is created as its controller would
create it: from the template that the server filled in.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from quota_advisor import checks
from quota_advisor.derive.cases import PodCase
from quota_advisor.documents.kubernetes.keys import POD_PATHS
from quota_advisor.documents.reader import read_manifest
from quota_advisor.documents.text import to_utf8
from quota_advisor.documents.yaml.split import documents, whole
from quota_advisor.model.finding import Severity
from quota_advisor.model.lint import LintContext, namespace_of
from quota_advisor.model.manifest import LimitRange, Pod, ResourceQuota
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.engine import Scope, run
from quota_advisor.rulebook.settings import Config
from tests.kube.api import Answer, Api, build
from tests.rules.cases import cases

pytestmark = pytest.mark.kube

RESOURCES = {
    "Pod": ("/api/v1", "pods"),
    "ReplicationController": ("/api/v1", "replicationcontrollers"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "Job": ("/apis/batch/v1", "jobs"),
    "CronJob": ("/apis/batch/v1", "cronjobs"),
}
REFUSED = re.compile(r"the API refuses|which refuses it|is refused")
"""In every message about something that the API does not take; besides, things of another type."""

OURS = (
    "resources",
    "limits",
    "requests",
    "cpu",
    "quota",
    "quantit",
    "minimum",
    "unsupported value",
)
"""Words of refusals that are about amounts; fixtures are short of other things now and then."""


Setting = TypeVar("Setting", LimitRange, ResourceQuota)


SETTLING_SEC = 15
"""Longer than the server takes to see what was created, on a busy machine too."""


class Asked(NamedTuple):
    """A pod of a fixture.

    Attributes:
        text: Its document.
        found: What lint reads of it.
        refused: What lint says that the API refuses of it.
    """

    text: bytes
    found: Pod
    refused: tuple[str, ...]


class Fixture(NamedTuple):
    """A file with the settings of its namespaces and its pods."""

    settings: tuple[tuple[str, str, bytes], ...]
    pods: tuple[Asked, ...]


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    binary = build()
    if isinstance(binary, str):
        pytest.skip(f"no API server: {binary}")
    with Api(binary, tmp_path_factory.mktemp("api") / "log") as server:
        yield server


def read(path: Path) -> Fixture:
    """Return what there is to ask about a file."""
    data = to_utf8(path.read_bytes())
    texts = {part.line: data[part.start : part.end] for part in documents(data, whole(data))}
    found = list(read_manifest(path.name, data))
    ranges = [item for item in found if isinstance(item, LimitRange)]
    quotas = [item for item in found if isinstance(item, ResourceQuota)]
    context = LintContext(
        limit_ranges={namespace_of(r): _beside(r, ranges) for r in ranges},
        resource_quotas={namespace_of(q): _beside(q, quotas) for q in quotas},
    )
    settings = [
        (kind, item.namespace, _text(texts, item.place.line))
        for kind, items in (("limitranges", ranges), ("resourcequotas", quotas))
        for item in items
    ]
    pods = [
        Asked(_text(texts, pod.place.line), pod, _refused(PodCase(pod, context)))
        for pod in found
        if isinstance(pod, Pod) and pod.kind in RESOURCES and _is_whole(pod)
    ]
    return Fixture(tuple(settings), tuple(pods))


def _is_whole(pod: Pod) -> bool:
    """Whether it is the only object of its document, and not a patch."""
    return pod.place.column == 1 and not pod.partial


def _beside(one: Setting, others: Sequence[Setting]) -> tuple[Setting, ...]:
    return tuple(other for other in others if other.namespace == one.namespace)


def _text(texts: dict[int, bytes], line: int) -> bytes:
    return texts[max(first for first in texts if first <= line)]


def _refused(case: PodCase) -> tuple[str, ...]:
    results = run([Scope(case)], checks.plan(load_catalog()), Config())
    return tuple(
        f.message
        for f in results.findings
        if REFUSED.search(f.message)
        or (f.rule == "quota-wrong-shape" and f.severity is Severity.ERROR)
    )


FILES = [
    case.judged
    for case in cases()
    if case.judged.suffix == ".yaml" and not case.is_host and read(case.judged).pods
]


class Ground:
    """Namespaces of one fixture's own: what others left there, the server might still remember.

    Args:
        api: The server.
        number: Tells them from those of other fixtures.
    """

    def __init__(self, api: Api, number: int) -> None:
        self._api = api
        self._number = number

    def _own(self, space: str) -> str:
        own = f"{space or 'default'}-{self._number}"
        self._api.post("/api/v1/namespaces", {"metadata": {"name": own}})
        return own

    def _moved(self, text: bytes, space: str) -> bytes:
        if not space:
            return text
        old, new = space.encode(), self._own(space).encode()
        return re.sub(rb"(namespace: *[\"']?)%s\b" % re.escape(old), rb"\g<1>%s" % new, text)

    def set(self, kind: str, space: str, text: bytes) -> None:
        """Create a LimitRange or a ResourceQuota."""
        own = self._own(space)
        answer = self._api.post(f"/api/v1/namespaces/{own}/{kind}", self._moved(text, space))
        assert answer.code == 201, answer.message
        if kind == "resourcequotas":
            # What a controller would do: nothing is used yet.
            quota = answer.body
            hard = quota["spec"].get("hard", {})
            quota["status"] = {"hard": hard, "used": dict.fromkeys(hard, "0")}
            name = quota["metadata"]["name"]
            put = self._api.put(f"/api/v1/namespaces/{own}/{kind}/{name}/status", quota)
            assert put.code == 200, put.message

    def create(self, asked: Asked) -> Answer:
        """Create a workload and then its pod, both without keeping them."""
        group, name = RESOURCES[asked.found.kind]
        own = self._own(asked.found.namespace)
        query = "?dryRun=All&fieldValidation=Ignore"
        text = self._moved(asked.text, asked.found.namespace)
        answer = self._api.post(f"{group}/namespaces/{own}/{name}{query}", text)
        if answer.code != 201 or asked.found.kind == "Pod":
            return answer
        spec: Any = answer.body
        for key in POD_PATHS[asked.found.kind]:
            spec = spec[key]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
        return self._api.post(f"/api/v1/namespaces/{own}/pods{query}", pod)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_the_api_refuses_what_lint_says(api: Api, path: Path) -> None:
    fixture, ground = read(path), Ground(api, FILES.index(path))
    for kind, space, text in fixture.settings:
        ground.set(kind, space, text)
    deadline = time.monotonic() + SETTLING_SEC
    while wrong := [text for asked in fixture.pods for text in _differences(ground, asked)]:
        # It sees LimitRanges and ResourceQuotas through a cache: one of several may come later.
        if not fixture.settings or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    assert wrong == []


def _differences(ground: Ground, asked: Asked) -> Iterator[str]:
    answer = ground.create(asked)
    if answer.code == 404:
        return  # an API group of old that this server no longer has
    is_about_cpu = answer.code >= 400 and any(word in answer.message for word in OURS)
    if bool(asked.refused) != is_about_cpu:
        said = "; ".join(asked.refused) or "nothing"
        yield f"{asked.found.name}: lint says {said}; the API {answer.code} {answer.message}"
