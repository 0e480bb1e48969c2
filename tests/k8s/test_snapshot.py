"""Clusters recorded here and judged elsewhere: nothing is lost, and no secret is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.cli import run
from quota_advisor.derive.thread_counts import thread_counts
from quota_advisor.documents.reader import read_manifest
from quota_advisor.errors import SnapshotError
from quota_advisor.k8s.judge import judge
from quota_advisor.k8s.snapshot import (
    _container,
    is_cluster_snapshot,
    judge_clusters,
    load,
    snapshot_text,
    without_secrets,
)
from quota_advisor.model.cluster import ClusterFacts
from quota_advisor.model.lint import LimitsPolicy
from quota_advisor.model.manifest import Pod
from quota_advisor.model.report import Results
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.settings import Config
from tests.rules.cases import CLUSTER, TREE
from tests.rules.clusters import read_cluster

CASES = sorted(TREE.glob(f"*/*{CLUSTER}"))
MANIFESTS = sorted(p for p in TREE.glob("thread*/*.yaml") if len(p.suffixes) == 1)

SECRETS = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
    - name: app
      image: web
      command: [gunicorn, --workers, "8", --password=hunter2]
      args: ["postgres://user:hunter2@db"]
      env:
        - {name: TOKEN, value: hunter2}
        - {name: GOMAXPROCS, value: "8"}
        - {name: JAVA_OPTS, value: -Dpassword=hunter2 -XX:ActiveProcessorCount=4}
        - {name: OMP_NUM_THREADS, value: hunter2}
        - {name: LIMIT, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
      resources: {limits: {cpu: 500m}}
status: {phase: Running}
"""


def judged(facts: ClusterFacts) -> Results:
    return judge([facts], Rulebook(load_catalog(), Config()), LimitsPolicy.IGNORE).results


@pytest.mark.parametrize("path", CASES, ids=lambda p: f"{p.parent.name}/{p.name[: -len(CLUSTER)]}")
def test_what_is_stored_is_judged_as_what_runs(path: Path, tmp_path: Path) -> None:
    facts = read_cluster(path)
    file = tmp_path / "clusters.json"
    file.write_text(snapshot_text((facts,)))
    (again,) = load(file)
    assert again == without_secrets(facts)
    assert judged(again) == judged(facts)


def test_no_secret_is_kept_and_the_threads_are(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(SECRETS)
    facts = read_cluster(path)
    text = snapshot_text((facts,))
    assert "hunter2" not in text
    assert judged(without_secrets(facts)) == judged(facts)
    assert {f.rule for f in judged(facts).findings} >= {"threads-exceed-limit"}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_containers_run_as_many_threads_as_before(path: Path) -> None:
    for pod in read_manifest(path.name, path.read_bytes()):
        for container in pod.containers if isinstance(pod, Pod) else ():
            kept = _container(container)
            before = thread_counts(container.env, container.command)
            after = thread_counts(kept.env, kept.command)
            assert [(c.setting, c.number) for c in after] == [(c.setting, c.number) for c in before]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "invalid json"),
        (b"{", "invalid json"),
        (b"[]", "input should be"),
        (b'{"format": "quota-advisor/clusters/v2", "made_by": "", "clusters": []}', "format"),
        (b'{"format": "quota-advisor/clusters/v1", "made_by": "", "clusters": [{}]}', "clusters.0"),
    ],
)
def test_what_is_no_snapshot_is_refused(tmp_path: Path, data: bytes, told: str) -> None:
    file = tmp_path / "clusters.json"
    file.write_bytes(data)
    with pytest.raises(SnapshotError) as raised:
        judge_clusters(file)
    assert told in raised.value.what
    assert raised.value.exit_code == 3


def test_audit_snapshot_takes_both_sorts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "clusters.json"
    file.write_text(snapshot_text((read_cluster(CASES[0]),)))
    assert is_cluster_snapshot(file)
    assert not is_cluster_snapshot(tmp_path / "none")
    code = run(["audit", "snapshot", str(file), "--format", "json", "--no-config"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code in (0, 1)
    assert report["clusters"][0]["context"] == "test"
