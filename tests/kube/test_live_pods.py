"""``k8s`` against a real API server: what it reads, what it asks for, and what it may not see."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from quota_advisor.cli import run
from quota_advisor.collect.cluster.connection import Connection, RefusedError, connect
from quota_advisor.collect.cluster.pages import list_all
from tests.kube.api import Api, build
from tests.kube.prometheus import Series, missing, prometheus

pytestmark = pytest.mark.kube

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""

READER = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "reader"},
    "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "quota-advisor",
    },
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
}
ROLE = Path("examples/kubernetes/rbac.yaml")

UNSAID = (
    *("architecture", "bootID", "containerRuntimeVersion", "kubeProxyVersion", "machineID"),
    *("osImage", "systemUUID"),
)
"""What every node says of itself, and nobody asks."""

Look = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api") / "audit.log"


@pytest.fixture(scope="module")
def api(log: Path) -> Iterator[Api]:
    binary = build()
    if isinstance(binary, str):
        pytest.skip(binary)
    policy = log.parent / "policy.yaml"
    policy.write_text(AUDIT_POLICY)
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={log}")
    users = ("nobody", "reader")
    with Api(binary, log.parent / "server.log", *flags, users=users) as server:
        fill(server)
        yield server


@pytest.fixture
def look(api: Api, capsys: pytest.CaptureFixture[str]) -> Look:
    """Run ``k8s`` as a user and return its report in JSON, with exit code and standard error."""

    def call(*arguments: str, user: str = "admin") -> dict[str, Any]:
        kubeconfig = str(api.kubeconfigs[user])
        code = run(["k8s", "--kubeconfig", kubeconfig, "--format", "json", *arguments])
        told = capsys.readouterr()
        report: dict[str, Any] = json.loads(told.out) if told.out else {}
        return {**report, "code": code, "stderr": told.err}

    return call


def fill(api: Api) -> None:
    """Make namespaces, nodes and the pods of some workloads."""
    answer = api.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", ROLE.read_bytes())
    assert answer.code == 201, answer.message
    made(api, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", READER)
    for name in ("shop", "lean", "crowd"):
        made(api, "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": name}})
    for name, version in (("old", "v1.32.4"), ("new", "v1.35.1")):
        node(api, name, version)
    for number in range(3):
        pod(api, "shop", f"web-5d9-{number}", limit="500m", threads="8", owner="web-5d9")
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web-5d9", "ownerReferences": [reference("Deployment", "web")]},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "web"}]},
            },
        },
    }
    made(api, "/apis/apps/v1/namespaces/shop/replicasets", replica_set)
    pod(api, "lean", "bare", limit="500m")


def made(api: Api, path: str, root: dict[str, Any]) -> dict[str, Any]:
    answer = api.post(path, {"apiVersion": "v1", **root})
    assert answer.code == 201, answer.message
    return answer.body


def reference(kind: str, name: str) -> dict[str, Any]:
    version = "apps/v1"
    return {"apiVersion": version, "kind": kind, "name": name, "uid": name, "controller": True}


def node(api: Api, name: str, version: str) -> None:
    body = made(api, "/api/v1/nodes", {"kind": "Node", "metadata": {"name": name}})
    body["status"] = {
        "capacity": {"cpu": "4"},
        "allocatable": {"cpu": "3900m"},
        "nodeInfo": dict.fromkeys(UNSAID, "")
        | {"kernelVersion": "6.1.0", "kubeletVersion": version, "operatingSystem": "linux"},
    }
    answer = api.put(f"/api/v1/nodes/{name}/status", body)
    assert answer.code == 200, answer.message


def pod(
    api: Api, namespace: str, name: str, *, limit: str, threads: str = "", owner: str = ""
) -> None:
    container: dict[str, Any] = {
        "name": "app",
        "image": "web",
        "resources": {"limits": {"cpu": limit, "memory": "64Mi"}},
    }
    if threads:
        container["env"] = [{"name": "GOMAXPROCS", "value": threads}]
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": {"app": "web"}}
    if owner:
        metadata["ownerReferences"] = [reference("ReplicaSet", owner)]
    root = {"kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    made(api, f"/api/v1/namespaces/{namespace}/pods", root)


def rules(report: dict[str, Any], name: str) -> list[str]:
    return [f["rule"] for f in report["findings"] if f["subject"]["name"] == name]


def test_replicas_are_one_finding_under_their_deployment(look: Look) -> None:
    report = look("-n", "shop")
    assert report["code"] == 1
    assert rules(report, "shop/web").count("threads-exceed-limit") == 1
    assert report["findings"][0]["subject"]["kind"] == "Deployment"
    assert report["findings"][0]["location"] is None


def test_what_runs_goes_before_what_is_asked_for(api: Api, look: Look) -> None:
    pod(api, "lean", "resized", limit="2")
    path = "/api/v1/namespaces/lean/pods/resized"
    body = api.get(path).body
    body["status"]["phase"] = "Running"
    body["status"]["containerStatuses"] = [
        {
            "name": "app",
            "image": "web",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "resources": {"limits": {"cpu": "5m"}, "requests": {"cpu": "5m"}},
        }
    ]
    answer = api.put(f"{path}/status", body)
    assert answer.code == 200, answer.message
    report = look("-n", "lean")
    assert "limit-below-10m" in rules(report, "lean/resized")
    container = next(
        c for c in report["clusters"][0]["containers"] if c["owner"]["name"] == "resized"
    )
    assert container["limit_millicores"] == 5


def test_the_oldest_kubelet_decides_what_a_version_means(api: Api, look: Look) -> None:
    container = {
        "name": "app",
        "image": "web",
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
    }
    root = {
        "kind": "Pod",
        "metadata": {"name": "whole", "namespace": "lean"},
        "spec": {"containers": [container]},
    }
    made(api, "/api/v1/namespaces/lean/pods", root)
    assert "static-cpu-eligible-but-throttled" in rules(look("-n", "lean"), "lean/whole")


def test_lists_of_many_pages_are_read_to_their_end(api: Api, look: Look) -> None:
    for number in range(1100):
        pod(api, "crowd", f"p-{number:04}", limit="1")
    report = look("-n", "crowd")
    assert len(report["clusters"][0]["containers"]) == 1100


@pytest.mark.skipif(bool(missing()), reason=missing() or "it is there")
def test_what_was_measured_is_judged_and_advised(look: Look, tmp_path: Path) -> None:
    def series() -> Iterator[Series]:
        for number in range(3):
            labels = {"namespace": "shop", "pod": f"web-5d9-{number}", "container": "app"}
            yield Series("container_cpu_usage_seconds", labels, lambda _at: 0.45)
            yield Series("container_cpu_cfs_periods", labels, lambda _at: 10)
            share = 0.1 * (number + 1)
            throttled = partial(_constant, 10 * share)
            yield Series("container_cpu_cfs_throttled_periods", labels, throttled)
            seconds = partial(_constant, 0.2 * share)
            yield Series("container_cpu_cfs_throttled_seconds", labels, seconds)

    with prometheus(tmp_path, series(), 25 * 3600) as url:
        report = look("-n", "shop", "--prometheus", url, "--history", "1d")
    worst = "shop/web/app (worst of 3: web-5d9-2)"
    found = {f["rule"]: f for f in report["findings"] if f["subject"]["name"] == worst}
    assert "30 %" in found["throttled-often"]["message"]
    assert found["throttled-often"]["severity"] == "error"
    (container,) = report["clusters"][0]["containers"]
    assert container["worst_pod"] == "web-5d9-2"
    assert container["counters"]["throttled_periods"] == pytest.approx(0.3 * 864_000, rel=0.01)
    # 0.45 cores x 1.5 are less than the quota that held it back x 1.5: at least 750m.
    assert container["limit_advice"]["decision"] == "raise"
    assert container["limit_advice"]["quota"]["cores"] == 0.75
    assert container["limit_advice"]["need"]["lower_bound"] is True
    # The limit is its request as well, and it uses nine tenths of that: near enough.
    assert container["request_advice"] == {
        "decision": "keep",
        "millicores": 450,
        "formula": "p95 of 288 windows of 5 min = 450m, rounded up to 450m",
    }


@pytest.mark.skipif(bool(missing()), reason=missing() or "it is there")
def test_patches_say_what_was_advised_and_admission_takes_them(
    api: Api, look: Look, tmp_path: Path
) -> None:
    made(api, "/apis/apps/v1/namespaces/shop/deployments", DEPLOYMENT)

    def series() -> Iterator[Series]:
        labels = {"namespace": "shop", "pod": "web-5d9-0", "container": "app"}
        yield Series("container_cpu_usage_seconds", labels, lambda _at: 0.3)
        yield Series("container_cpu_cfs_periods", labels, lambda _at: 10)
        yield Series("container_cpu_cfs_throttled_periods", labels, lambda _at: 4)
        yield Series("container_cpu_cfs_throttled_seconds", labels, lambda _at: 0.1)

    with prometheus(tmp_path, series(), 25 * 3600) as url:
        where = ("-n", "shop", "--prometheus", url, "--history", "1d")
        out = tmp_path / "out"
        report = look(*where, "--patches", str(out), "--server-dry-run")
    assert report["problems"] == []
    assert "1 patch in " in report["stderr"]
    text = (out / "shop-deployment-web.yaml").read_text()
    assert text.startswith("# app: limit at least: the quota that held it back = 0.5 cores × 1.5")
    patch = yaml.safe_load(text)
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert container == {
        "name": "app",
        "resources": {"requests": {"cpu": "300m"}, "limits": {"cpu": "750m"}},
    }
    listed = yaml.safe_load((out / "kustomization.yaml").read_text())["patches"]
    assert listed == [{"path": "shop-deployment-web.yaml"}]
    # A dry run: nothing changed.
    kept = api.get("/apis/apps/v1/namespaces/shop/deployments/web").body
    assert (
        "resources" not in kept["spec"]["template"]["spec"]["containers"][0]
        or not (kept["spec"]["template"]["spec"]["containers"][0]["resources"])
    )


@pytest.mark.skipif(bool(missing()), reason=missing() or "it is there")
def test_a_patch_that_may_not_be_sent_is_told(api: Api, look: Look, tmp_path: Path) -> None:
    del api

    def series() -> Iterator[Series]:
        labels = {"namespace": "shop", "pod": "web-5d9-0", "container": "app"}
        yield Series("container_cpu_usage_seconds", labels, lambda _at: 0.1)

    with prometheus(tmp_path, series(), 25 * 3600) as url:
        report = look(
            *("-n", "shop", "--prometheus", url, "--history", "1d", "--server-dry-run"),
            user="reader",
        )
    assert report["code"] == 3
    assert any("cannot patch" in problem["reason"] for problem in report["problems"])


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "web"}]},
        },
    },
}


def _constant(rate: float, _at: int) -> float:
    return rate


def test_what_was_saved_is_judged_alike(
    look: Look, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.json"
    live = look("-n", "shop", "--save", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert run(["audit", "snapshot", str(file), "--format", "json"]) == live["code"]
    again = json.loads(capsys.readouterr().out)
    assert again["findings"] == live["findings"]
    assert again["clusters"] == live["clusters"]


def test_a_selector_chooses_pods(look: Look) -> None:
    report = look("-A", "--selector", "app=nothing")
    assert report["code"] == 3
    assert "no pods there: check --namespace and --selector" in report["stderr"]


def test_an_excluded_namespace_is_left_out(look: Look) -> None:
    report = look("-A", "--exclude-namespace", "crowd", "--exclude-namespace", "lean")
    namespaces = {c["owner"]["namespace"] for c in report["clusters"][0]["containers"]}
    assert namespaces == {"shop"}


def test_who_may_see_nothing_is_told_so_without_a_finding(look: Look) -> None:
    report = look("-n", "shop", user="nobody")
    assert report["code"] == 3
    assert report["findings"] == []
    assert any("forbidden" in problem["reason"] for problem in report["problems"])
    assert "could not read" in report["stderr"]


def test_the_shipped_role_is_enough(look: Look) -> None:
    report = look("-n", "shop", user="reader")
    assert report["problems"] == []
    assert report["code"] == 1


def test_it_only_ever_reads(look: Look, log: Path) -> None:
    before = log.stat().st_size
    look("-A")
    # The server writes its log in its own time.
    deadline = time.monotonic() + 60
    wanted = "/api/v1/pods"
    asked: list[dict[str, Any]] = []
    while time.monotonic() < deadline and not any(wanted in a["requestURI"] for a in asked):
        with log.open() as lines:
            lines.seek(before)
            events = [json.loads(line) for line in lines if line.endswith("\n")]
        asked = [e for e in events if e.get("userAgent", "").startswith("quota-advisor/")]
        time.sleep(0.1)
    assert asked
    assert {event["verb"] for event in asked} <= {"get", "list"}
    assert not any("secrets" in event["requestURI"] for event in asked)
    assert not any("/nodes/" in event["requestURI"] for event in asked)


def test_metrics_server_tells_of_one_instant_and_sizes_nothing(api: Api, look: Look) -> None:
    made(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", POD_METRICS)
    metrics = {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": "web-5d9-1", "namespace": "shop"},
        "containers": [{"name": "app", "usage": {"cpu": "123456789n", "memory": "1Mi"}}],
    }
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods"
    deadline = time.monotonic() + 60
    # A new kind takes the server a moment.
    while (answer := api.post(path, metrics)).code != 201:
        assert time.monotonic() < deadline, answer.message
        time.sleep(0.2)
    (container,) = look("-n", "shop")["clusters"][0]["containers"]
    assert container["source"] == "metrics-server"
    assert container["worst_pod"] == "web-5d9-1"
    assert container["now_cores"] == pytest.approx(0.123456789)
    for advice in ("request_advice", "limit_advice"):
        assert container[advice].get("decision", "unknown") == "unknown"


POD_METRICS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "pods.metrics.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
    },
    "spec": {
        "group": "metrics.k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "PodMetrics", "plural": "pods", "singular": "podmetrics"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def test_kubectl_finds_it_as_a_plugin(api: Api) -> None:
    binary = build()
    assert isinstance(binary, Path)
    programs = Path(sys.executable).parent
    done = subprocess.run(
        [binary.parent / "kubectl", "quota-advisor", "-n", "shop"],
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": os.environ.get("HOME", "/"),
            "KUBECONFIG": str(api.kubeconfigs["admin"]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "shop/web" in done.stdout


class Kubelet(BaseHTTPRequestHandler):
    """Answers as a kubelet does when the API server asks for its settings."""

    disable_nagle_algorithm = True
    settings: ClassVar[dict[str, Any]] = {
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "cpuCFSQuota": True,
    }

    def do_GET(self) -> None:
        body = json.dumps({"kubeletconfig": self.settings}).encode()
        self.send_response(200 if self.path == "/configz" else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[int]:
    """Run a kubelet's server on loopback, with a certificate of its own; gives its port."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    where = ["-subj", "/CN=kubelet", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made, *where], check=True, capture_output=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Kubelet)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_settings_of_kubelets_are_judged_too(api: Api, look: Look, kubelet: int) -> None:
    node(api, "asked", "v1.35.1")
    body = api.get("/api/v1/nodes/asked").body
    # The server leads what is proxied to any address to this port on loopback.
    body["status"]["addresses"] = [{"type": "InternalIP", "address": "192.0.2.1"}]
    body["status"]["daemonEndpoints"] = {"kubeletEndpoint": {"Port": kubelet}}
    answer = api.put("/api/v1/nodes/asked/status", body)
    assert answer.code == 200, answer.message
    found = [
        f
        for f in look("-n", "shop", "--nodes-proxy")["findings"]
        if f["subject"]["name"] == "asked"
    ]
    assert {f["rule"] for f in found} == {"cpu-manager-config"}
    assert found[0]["subject"]["kind"] == "Node"


def test_settings_of_kubelets_may_come_in_a_file(look: Look, tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "cpuManagerPolicy: static\n"
    )
    found = look("-n", "shop", "--kubelet-config", str(file))["findings"]
    nodes = [f["subject"]["name"] for f in found if f["rule"] == "cpu-manager-config"]
    assert nodes
    assert all(name.startswith(("asked and ", "new and ")) for name in nodes)
    file.write_text("kind: Pod\n")
    report = look("-n", "shop", "--kubelet-config", str(file))
    assert report["code"] == 2
    assert "no KubeletConfiguration" in report["stderr"]


def test_a_list_that_expires_is_begun_anew(api: Api) -> None:
    connection = connect(api.kubeconfigs["admin"], None, 30.0)
    path = "/api/v1/namespaces/crowd/pods"
    starts = 0

    def read(root: Mapping[str, Any]) -> str:
        nonlocal starts
        if root["metadata"]["name"] == "p-0000":
            starts += 1
            if starts == 1:
                expire(api, connection, path)
        return str(root["metadata"]["name"])

    found = list_all(connection, path, read)
    assert found == [f"p-{number:04}" for number in range(1100)]
    assert starts == 2


def expire(api: Api, connection: Connection, path: str) -> None:
    """Make the tokens that were given out so far expire, and wait until they have."""
    token = connection.get(path, {"limit": 1})["metadata"]["continue"]
    api.expire_tokens()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            connection.get(path, {"limit": 1, "continue": token})
        except RefusedError as error:
            if error.code == 410:
                return
            raise
        time.sleep(0.5)
    raise AssertionError("the token does not expire")


def test_a_context_that_is_not_there_is_named_with_those_that_are(look: Look) -> None:
    report = look("-A", "--context", "mars")
    assert report["code"] == 2
    assert "no context 'mars' in the kubeconfig: there are: " in report["stderr"]


def test_nobody_listens(api: Api, look: Look, tmp_path: Path) -> None:
    config = api.kubeconfigs["admin"].read_text()
    broken = tmp_path / "config"
    parsed = json.loads(config)
    parsed["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    broken.write_text(json.dumps(parsed))
    report = look("-A", "--kubeconfig", str(broken))
    assert report["code"] == 3
    assert "nobody listens there" in report["stderr"]
    assert parsed["users"][0]["user"]["token"] not in report["stderr"]


def test_a_token_that_is_not_known(api: Api, look: Look, tmp_path: Path) -> None:
    parsed = json.loads(api.kubeconfigs["admin"].read_text())
    parsed["users"][0]["user"]["token"] = "not-a-token"  # noqa: S105 - it is none
    (tmp_path / "config").write_text(json.dumps(parsed))
    report = look("-A", "--kubeconfig", str(tmp_path / "config"))
    assert report["code"] == 3
    assert "Unauthorized" in report["stderr"]
    assert "not-a-token" not in report["stderr"]


def test_which_pods_has_to_be_said(look: Look) -> None:
    report = look()
    assert report["code"] == 2
    assert "give --namespace NAME, or -A for all" in report["stderr"]
