"""What was measured of pods, judged: the worst replica, the pod as a whole, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from quota_advisor.k8s.judge import judge
from quota_advisor.k8s.patches import patches
from quota_advisor.model.advice import Advice, Decision
from quota_advisor.model.cgroup import Basis, CounterWindow, Demand
from quota_advisor.model.cluster import POD_AS_A_WHOLE, ClusterFacts, RequestAdvice, Use
from quota_advisor.model.limit import Missing
from quota_advisor.model.lint import LimitsPolicy
from quota_advisor.model.report import Report
from quota_advisor.render import FORMATS, render
from quota_advisor.render.view import View
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.settings import Config
from tests.rules.clusters import read_cluster

NOT_TOLD = Missing(reason="the test does not say")
DAY_USEC = 86_400_000_000

PODS = """\
apiVersion: v1
kind: Node
metadata: {name: a}
status: {capacity: {cpu: "8"}, nodeInfo: {kubeletVersion: v1.35.0, operatingSystem: linux}}
---
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: shop, ownerReferences: [OWNER]}
spec: {nodeName: a, POD containers: [{name: app, image: a, resources: AMOUNTS}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: shop, ownerReferences: [OWNER]}
spec: {nodeName: a, POD containers: [{name: app, image: a, resources: AMOUNTS}]}
status: {phase: Running}
"""
OWNER = "{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}"


def cluster(
    directory: Path,
    uses: Mapping[str, Mapping[str, Use]],
    *,
    amounts: str = "{limits: {cpu: 500m}, requests: {cpu: 500m}}",
    pod: str = "",
) -> ClusterFacts:
    path = directory / "cluster.yaml"
    text = PODS.replace("OWNER", OWNER).replace("AMOUNTS", amounts).replace("POD ", pod)
    path.write_text(text)
    facts = read_cluster(path)
    (workload,) = facts.workloads
    pods = tuple(replace(live, use=uses.get(live.name, {})) for live in workload.pods)
    return replace(facts, workloads=(replace(workload, pods=pods),))


def use(p95_cores: float, throttled: int = 0, *, span_usec: int = DAY_USEC) -> Use:
    """Return a day of use in windows of five minutes, with throttled periods of 864 000."""
    demand = Demand(
        interval_usec=300_000_000,
        windows=span_usec // 300_000_000,
        active_windows=span_usec // 300_000_000,
        mean_cores=p95_cores / 2,
        p95_cores=p95_cores,
        max_cores=p95_cores,
        burst_cores=p95_cores,
        censored_windows=0,
    )
    counters = CounterWindow(
        basis=Basis.WINDOW,
        elapsed_usec=span_usec,
        usage_usec=NOT_TOLD,
        periods=864_000,
        throttled_periods=throttled,
        throttled_usec=throttled * 50_000,
        burst_periods=NOT_TOLD,
        burst_usec=NOT_TOLD,
        local_throttled_usec=NOT_TOLD,
        pressure_some_usec=NOT_TOLD,
        pressure_full_usec=NOT_TOLD,
    )
    return Use(source="Prometheus", demand=demand, counters=counters)


def judged(facts: ClusterFacts) -> Report:
    return judge([facts], Rulebook(load_catalog(), Config()), LimitsPolicy.IGNORE)


def subjects(report: Report, rule: str) -> list[str]:
    found = report.results.findings
    return [f.subject.name for one in found for f in (one, *one.parts) if f.rule == rule]


def test_the_worst_replica_speaks_for_all(tmp_path: Path) -> None:
    facts = cluster(tmp_path, {"one": {"app": use(0.4)}, "two": {"app": use(0.3, 400_000)}})
    report = judged(facts)
    assert subjects(report, "throttled-often") == ["shop/db/app (worst of 2: two)"]
    (row,) = report.clusters[0].containers
    assert (row.worst_pod, row.pods) == ("two", 2)


def test_nothing_measured_says_nothing_of_throttling(tmp_path: Path) -> None:
    report = judged(cluster(tmp_path, {}))
    assert subjects(report, "throttled-often") == []
    (row,) = report.clusters[0].containers
    assert isinstance(row.use, Missing)
    assert isinstance(row.request, Missing)


def test_a_pod_with_a_limit_of_its_own_is_judged_as_a_whole(tmp_path: Path) -> None:
    measured = {"one": {"app": use(0.4), POD_AS_A_WHOLE: use(0.9, 500_000)}}
    facts = cluster(tmp_path, measured, amounts="{}", pod="resources: {limits: {cpu: 1}}, ")
    report = judged(facts)
    assert subjects(report, "throttled-often") == ["shop/db/(pod) (worst of 2: one)"]
    names = [row.name for row in report.clusters[0].containers]
    assert names == ["app", "(pod)"]


def test_a_pod_without_one_is_not(tmp_path: Path) -> None:
    facts = cluster(tmp_path, {"one": {POD_AS_A_WHOLE: use(0.9, 500_000)}})
    assert subjects(judged(facts), "throttled-often") == []


@pytest.mark.parametrize(
    ("p95_cores", "decision", "millicores"),
    [
        (0.25, Decision.LOWER, 250),
        (0.449, Decision.KEEP, 450),
        (0.54, Decision.KEEP, 540),
        (0.556, Decision.RAISE, 560),
    ],
)
def test_a_request_is_kept_where_it_is_near(
    tmp_path: Path, p95_cores: float, decision: Decision, millicores: int
) -> None:
    report = judged(cluster(tmp_path, {"one": {"app": use(p95_cores)}}))
    (row,) = report.clusters[0].containers
    assert isinstance(row.request, RequestAdvice)
    assert (row.request.decision, row.request.millicores) == (decision, millicores)


def test_less_than_a_day_cuts_no_request(tmp_path: Path) -> None:
    short = use(0.1, span_usec=DAY_USEC - 300_000_000)
    (row,) = judged(cluster(tmp_path, {"one": {"app": short}})).clusters[0].containers
    assert isinstance(row.request, Missing)
    assert "lowering a request takes a day" in row.request.reason


def test_a_limit_is_never_cut_from_averages(tmp_path: Path) -> None:
    (row,) = judged(cluster(tmp_path, {"one": {"app": use(0.01)}})).clusters[0].containers
    assert isinstance(row.limit, Advice)
    assert row.limit.decision is Decision.KEEP


def test_a_patched_request_stays_within_its_limit(tmp_path: Path) -> None:
    facts = cluster(
        tmp_path,
        {"one": {"app": use(0.9)}},
        amounts="{limits: {cpu: 500m}, requests: {cpu: 100m}}",
    )
    (patch,) = patches(judged(facts).clusters[0])
    (container,) = patch.body["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "500m"}}
    assert patch.path == "/apis/apps/v1/namespaces/shop/statefulsets/db"


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_takes_a_cluster(tmp_path: Path, form: str) -> None:
    facts = cluster(tmp_path, {"two": {"app": use(0.3, 400_000)}})
    text = render(form, judged(facts), View(all=True))
    assert ("shop,StatefulSet,db" if form == "csv" else "shop/db") in text
    assert "throttled-often" in text


def test_a_rule_that_is_off_says_nothing(tmp_path: Path) -> None:
    facts = cluster(tmp_path, {"two": {"app": use(0.3, 400_000)}})
    rules = {name: rule for name, rule in load_catalog().items() if name != "throttled-often"}
    report = judge([facts], Rulebook(rules, Config()), LimitsPolicy.IGNORE)
    assert subjects(report, "throttled-often") == []
