"""The exporter's DaemonSet, as a real API server takes it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.kube.api import Api, build

pytestmark = pytest.mark.kube

FILE = Path(__file__).parents[2] / "examples/prometheus/daemonset.yaml"


def test_the_server_takes_every_field_of_the_daemon_set(tmp_path: Path) -> None:
    binary = build()
    if isinstance(binary, str):
        pytest.skip(f"no API server: {binary}")
    namespace, daemon_set = yaml.safe_load_all(FILE.read_text())
    with Api(binary, tmp_path / "log") as api:
        answer = api.post("/api/v1/namespaces?fieldValidation=Strict", namespace)
        assert answer.code == 201, answer.message
        where = "/apis/apps/v1/namespaces/quota-advisor/daemonsets?fieldValidation=Strict"
        answer = api.post(where, daemon_set)
        assert answer.code == 201, answer.message
        # Without its one mount it would pass as restricted, the strictest of the standards.
        pod = daemon_set["spec"]["template"]
        pod["spec"]["volumes"], pod["spec"]["containers"][0]["volumeMounts"] = [], []
        strict = {"pod-security.kubernetes.io/enforce": "restricted"}
        bare = {
            "kind": "Namespace",
            "apiVersion": "v1",
            "metadata": {"name": "bare", "labels": strict},
        }
        assert api.post("/api/v1/namespaces", bare).code == 201
        body = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": pod["spec"]}
        answer = api.post("/api/v1/namespaces/bare/pods", body)
        assert answer.code == 201, answer.message
