"""No content of a file makes a rule fail: whatever is read is judged."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quota_advisor import checks
from quota_advisor.checkout.quadlets import merge_quadlets
from quota_advisor.derive.cases import ComposeCase, PodCase, QuadletCase
from quota_advisor.derive.units.planned_quota import PlannedQuota
from quota_advisor.documents.reader import Document, read_manifest
from quota_advisor.documents.systemd.merge import merge_unit
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.model.finding import Finding
from quota_advisor.model.lint import LimitsPolicy, LintContext
from quota_advisor.model.manifest import (
    ComposeService,
    DocumentNote,
    KubeletConfig,
    LimitRange,
    Pod,
    ResourceQuota,
)
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.engine import Scope, run
from quota_advisor.rulebook.settings import Config

AMOUNTS = st.one_of(
    st.sampled_from(
        ["0", "1", "2", "500m", "5m", "417m", "010", "1k", "1e3", "1e30", ".5", "-1", "", "1,5"]
    ),
    st.sampled_from(["99999999999999999999E", "0x10", "1n", "+2", "2.", "{{ .Cpu }}", "${CPUS}"]),
    st.integers(-2, 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none(),
    st.booleans(),
    st.text(max_size=6),
    st.lists(st.integers(), max_size=1),
)
NAMES = st.sampled_from(["a", "b", "GOMAXPROCS", "OMP_NUM_THREADS", "JAVA_TOOL_OPTIONS", "GODEBUG"])
WORDS = st.sampled_from(
    ["gunicorn", "celery -c", "python3", "-w", "--workers=", "--workers", "-w9"]
) | st.sampled_from(
    ["64", "-", "", "=", "-XX:ActiveProcessorCount=99", "worker_processes 8;", "999999999999"]
)
RESOURCES = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            kind: st.dictionaries(st.sampled_from(["cpu", "memory"]), AMOUNTS)
            for kind in ("limits", "requests")
        },
    ),
    st.none(),
    st.just([]),
    st.text(max_size=3),
)
REFS = st.fixed_dictionaries(
    {"resource": st.sampled_from(["limits.cpu", "requests.cpu", "limits.memory"])},
    optional={"divisor": AMOUNTS, "containerName": NAMES},
)
ENV = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={"value": AMOUNTS, "valueFrom": st.fixed_dictionaries({"resourceFieldRef": REFS})},
    ),
    max_size=4,
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "image": st.sampled_from(["app", "python:3", "node", "golang:1.2", "@"])},
        optional={
            "resources": RESOURCES,
            "env": ENV,
            "command": st.lists(WORDS),
            "args": st.lists(WORDS),
            "restartPolicy": st.just("Always"),
        },
    ),
    max_size=3,
)
PODS = st.fixed_dictionaries(
    {"containers": CONTAINERS},
    optional={"initContainers": CONTAINERS, "resources": RESOURCES},
)
CONTEXTS = st.builds(
    LintContext,
    limits=st.sampled_from(LimitsPolicy),
    node_millicores=st.none() | st.integers(1, 10**6),
    kubernetes_version=st.none() | st.tuples(st.just(1), st.integers(0, 40)),
)
PLAN = checks.plan(load_catalog())

LONG_SECONDS = 5
"""Reading a megabyte takes a fraction of a second; with the square of its length, half a minute."""

patient = settings(deadline=None, suppress_health_check=(HealthCheck.too_slow,))
"""A busy machine is no failure."""


def pod_object(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}


def judge(name: str, data: Any, context: LintContext) -> list[Finding]:
    text = data if isinstance(data, str) else json.dumps(data)
    scopes = [
        Scope(_case(found, context))
        for found in read_manifest(name, text.encode("utf-8", "surrogatepass"))
        if isinstance(found, Pod | ComposeService | KubeletConfig | DocumentNote)
    ]
    results = run(scopes, PLAN, Config())
    assert results.errors == []
    assert all(f.location is None or f.location.line > 0 for f in results.findings)
    return results.findings


def _case(found: Any, context: LintContext) -> Any:
    if isinstance(found, ComposeService):
        return ComposeCase(found, context)
    return PodCase(found, context) if isinstance(found, Pod) else found


@patient
@given(PODS, CONTEXTS)
def test_pods(spec: dict[str, Any], context: LintContext) -> None:
    judge("pod.json", pod_object(spec), context)


@patient
@given(PODS, AMOUNTS, AMOUNTS)
def test_pods_beside_a_limit_range_and_a_resource_quota(
    spec: dict[str, Any], limit: Any, request: Any
) -> None:
    item = {"type": "Container", "default": {"cpu": limit}, "defaultRequest": {"cpu": request}}
    whole = {"type": "Pod", "min": {"cpu": limit}, "max": {"cpu": request}}
    kind = {"apiVersion": "v1", "metadata": {"name": "x"}}
    ranges = one_of(LimitRange, {**kind, "kind": "LimitRange", "spec": {"limits": [item, whole]}})
    hard = {"limits.cpu": limit, "cpu": request}
    quotas = one_of(ResourceQuota, {**kind, "kind": "ResourceQuota", "spec": {"hard": hard}})
    context = LintContext(limit_ranges={"/": (ranges,)}, resource_quotas={"/": (quotas,)})
    judge("pod.json", pod_object(spec), context)


def one_of(kind: type[Any], data: dict[str, Any]) -> Any:
    found: list[Document] = list(read_manifest("other.json", json.dumps(data).encode()))
    return next(document for document in found if isinstance(document, kind))


STANZAS = st.fixed_dictionaries(
    {}, optional={"resources": RESOURCES, "computeResources": RESOURCES}
)
ONE = st.one_of(CONTAINERS.map(lambda found: found[0] if found else None), STANZAS, AMOUNTS)
MANY = st.one_of(CONTAINERS, st.lists(ONE, max_size=2), AMOUNTS)
TEMPLATES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("container", "script", "resources", "stepTemplate"), ONE),
        **dict.fromkeys(("steps", "sidecars", "initContainers"), MANY),
        "podSpecPatch": AMOUNTS,
        "name": NAMES,
    },
)
ABOUT_WHAT_IS_MISSING = {
    "cpu-limit-missing",
    "cpu-request-missing",
    "gomaxprocs-without-limit",
    "request-exceeds-node",
    "resource-quota-needs-limit",
    "static-cpu-eligible-but-throttled",
    "static-cpu-near-miss",
    "init-cpu-exceeds-app",
}


@patient
@given(
    st.sampled_from(["argoproj.io/v1alpha1", "tekton.dev/v1", "tekton.dev/v1beta1", "a.b/v1"]),
    st.one_of(
        TEMPLATES,
        st.fixed_dictionaries({"templates": st.lists(TEMPLATES) | AMOUNTS}),
        st.fixed_dictionaries({"taskSpec": TEMPLATES}, optional={"computeResources": RESOURCES}),
    ),
    CONTEXTS,
)
def test_objects_of_operators_and_workflow_engines(
    api_version: str, spec: dict[str, Any], context: LintContext
) -> None:
    data = {"apiVersion": api_version, "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}
    found = judge("thing.json", data, context)
    assert ABOUT_WHAT_IS_MISSING.isdisjoint(finding.rule for finding in found)


@patient
@given(
    st.fixed_dictionaries(
        {"image": st.just("app")},
        optional={
            **dict.fromkeys(("cpus", "cpu_quota", "cpu_period"), AMOUNTS),
            "environment": st.dictionaries(NAMES, AMOUNTS),
            "command": st.lists(WORDS) | st.text(max_size=10),
            "deploy": st.fixed_dictionaries(
                {
                    "resources": st.fixed_dictionaries(
                        {"limits": st.fixed_dictionaries({"cpus": AMOUNTS})}
                    )
                }
            ),
        },
    )
)
def test_compose_services(service: dict[str, Any]) -> None:
    judge("compose.json", {"services": {"web": service}}, LintContext())


@patient
@given(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(
                (
                    "cpuManagerPolicy",
                    "topologyManagerPolicy",
                    "cpuCFSQuota",
                    "cpuCFSQuotaPeriod",
                    "reservedSystemCPUs",
                ),
                AMOUNTS | st.sampled_from(["static", "none", "1h1ms", "5s", "0", "1.", "0-1"]),
            ),
            "kubeReserved": st.fixed_dictionaries({"cpu": AMOUNTS}),
            "cpuManagerPolicyOptions": st.dictionaries(st.text(max_size=3), AMOUNTS),
        },
    )
)
def test_kubelet_configurations(settings: dict[str, Any]) -> None:
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    judge("kubelet.json", {**head, **settings}, LintContext())
    judge("kubeletconfiguration.json", settings, LintContext())


QUADLETS = st.text(alphabet="[]ContaierSvcPUQut=50%-g \n", max_size=60) | st.lists(
    st.sampled_from(
        ["[Container]", "[Service]", "[Pod]", "CPUQuota=50%", "CPUQuota=", "CgroupsMode=enabled"]
    )
    | st.sampled_from(
        ["PodmanArgs=--cpus=0,5 \\", "PodmanArgs=--cpus 2 --cpu-quota=1", "PodmanArgs='--cpus"]
    )
    | st.sampled_from(
        ["PodmanArgs=", "Environment=GOMAXPROCS=16 'A", "Exec=gunicorn -w 64", "--cpu-period"]
    )
).map("\n".join)


@pytest.mark.parametrize("name", ["web.container", "web.pod", "web.kube"])
@patient
@given(text=QUADLETS)
def test_quadlets(name: str, text: str) -> None:
    own = parse_unit_file(name, text.encode())
    drop_in = parse_unit_file(f"{name}.d/10.conf", text[::-1].encode())
    for quadlet in merge_quadlets([own, drop_in]):
        scopes = [
            Scope(QuadletCase(quadlet)),
            Scope(quadlet.service),
            Scope(PlannedQuota(quadlet.service, ())),
        ]
        assert run(scopes, PLAN, Config()).errors == []


COMMANDS = st.lists(
    st.sampled_from(["docker", "podman", "run", "compose", "up", "start", "--cgroups", "split"])
    | st.sampled_from(["/bin/sh", "-c", "env", "exec", ";", "&&", "A=1", "--cpus=1", "'", '"', "@"])
    | st.text(max_size=3).filter(lambda text: "\n" not in text)
).map(" ".join)


@patient
@given(COMMANDS, COMMANDS)
def test_units_that_start_containers(prepare: str, command: str) -> None:
    text = f"[Service]\nCPUQuota=50%\nExecStartPre={prepare}\nExecStart={command}\n"
    file = parse_unit_file("web.service", text.encode("utf-8", "surrogatepass"))
    scope = Scope(merge_unit("web.service", file))
    assert run([scope], PLAN, Config()).errors == []


def test_a_tighter_limit_never_takes_a_thread_finding_away() -> None:
    found = []
    for cpu in ("8", "4", "2", "1", "500m"):
        env = [{"name": "GOMAXPROCS", "value": "6"}]
        container = {"name": "a", "image": "b", "env": env, "resources": {"limits": {"cpu": cpu}}}
        findings = judge("pod.json", pod_object({"containers": [container]}), LintContext())
        found.append(any(f.rule == "threads-exceed-limit" for f in findings))
    assert found == sorted(found)


@pytest.mark.parametrize(
    "value",
    [
        "docker run " + "-" * 900_000,
        '/bin/sh -c "' + "docker run x; " * 60_000 + '"',
        '/bin/sh -c "' + "(;&|" * 200_000 + ' docker"',
    ],
    ids=["one word", "many commands", "separators"],
)
def test_an_endless_command_takes_no_endless_time(value: str) -> None:
    text = f"[Service]\nCPUQuota=50%\nExecStart={value}\n"
    unit = merge_unit("web.service", parse_unit_file("web.service", text.encode()))
    begun = time.process_time()
    assert run([Scope(unit), Scope(PlannedQuota(unit, ()))], PLAN, Config()).errors == []
    assert time.process_time() - begun < LONG_SECONDS
