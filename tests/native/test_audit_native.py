"""The whole audit against a workload that the real kernel throttles."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from quota_advisor.cli import run

pytestmark = pytest.mark.native

Capture = pytest.CaptureFixture[str]


def audit(capsys: Capture, *arguments: str) -> dict[str, Any]:
    code = run(["audit", "host", "--format", "json", *arguments])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code in (0, 1), document["problems"]
    return document


def about(document: dict[str, Any], path: str) -> dict[str, dict[str, Any]]:
    return {f["rule"]: f for f in document["findings"] if f["subject"]["cgroup"] == path}


def workload_of(document: dict[str, Any], path: str) -> dict[str, Any]:
    found: dict[str, Any] = next(w for w in document["workloads"] if w["cgroup"] == path)
    return found


def values(finding: dict[str, Any]) -> dict[str, Any]:
    return {evidence["label"]: evidence["value"] for evidence in finding["evidence"]}


def test_two_busy_threads_under_half_a_core_are_reported_with_their_counters(
    sandbox: Any, capsys: Capture
) -> None:
    sandbox.limit(sandbox.name, 50_000)
    sandbox.burn_until_throttled(sandbox.name, 2, sandbox.name)

    document = audit(capsys, "--window", "6")

    found = about(document, sandbox.name)
    assert {
        "throttled-often",
        "throttled-time",
        "quota-below-peak",
        "peak-censored",
        "quota-at-mean-use",
    } <= set(found)
    often = found["throttled-often"]
    assert often["severity"] == "error"
    counters = values(often)
    assert counters["throttled periods"] / counters["periods"] > 0.8
    assert counters["limit"] == 0.5
    elapsed_usec = workload_of(document, sandbox.name)["counters"]["elapsed_usec"]
    assert elapsed_usec >= 6e6
    assert counters["CPU time used"] == pytest.approx(0.5 * elapsed_usec, rel=0.1)
    sources = [e["source"]["locator"] for e in often["evidence"] if e["source"]]
    assert any(source.endswith(f"{sandbox.name}/cpu.stat") for source in sources)
    advice = often["recommendation"]["advice"]
    assert advice["decision"] == "raise"
    assert advice["need"]["lower_bound"] is True
    assert advice["quota"]["cpu_quota_percent"] >= 75
    assert advice["quota"]["cpu_quota_percent"] % 5 == 0


def test_a_child_of_a_throttled_parent_is_not_called_healthy(sandbox: Any, capsys: Capture) -> None:
    child = sandbox.group(f"{sandbox.name}/child")
    sandbox.hand_down(sandbox.name)
    sandbox.limit(sandbox.name, 30_000)
    sandbox.burn_until_throttled(child, 2, sandbox.name)

    document = audit(capsys, "--window", "6")

    found = about(document, child)
    assert "throttled-by-ancestor" in found
    assert sandbox.name in found["throttled-by-ancestor"]["message"]
    workload = workload_of(document, child)
    assert workload["limit"]["kind"] == "unlimited"
    assert workload["in_force"]["cores"] == pytest.approx(0.3)
    assert workload["in_force_from"] == sandbox.name


def test_a_quota_lifted_for_a_measurement_becomes_a_number(sandbox: Any, capsys: Capture) -> None:
    sandbox.limit(sandbox.name, 30_000)
    sandbox.burn(sandbox.name, 1)
    time.sleep(0.5)
    sandbox.lift(sandbox.name)

    document = audit(capsys, "--window", "6")

    advice = next(w for w in document["workloads"] if w["cgroup"] == sandbox.name)["advice"]
    assert advice["decision"] in ("set", "remove")  # on one or two CPUs all of them are needed
    assert advice["need"]["percent"] >= 100
    assert advice["need"]["lower_bound"] is False
    assert about(document, sandbox.name) == {}


def test_one_busy_thread_under_a_quota_of_one_cpu_lacks_nothing(
    sandbox: Any, capsys: Capture
) -> None:
    sandbox.limit(sandbox.name, 100_000)
    sandbox.burn(sandbox.name, 1)
    time.sleep(0.3)

    document = audit(capsys, "--window", "6")

    assert {f["severity"] for f in about(document, sandbox.name).values()} <= {"info"}


def test_an_idle_group_under_a_quota_gets_no_finding_and_no_zero(
    sandbox: Any, capsys: Capture
) -> None:
    sandbox.limit(sandbox.name, 50_000)
    # A new limit starts the period timer, which ends after a whole idle period.
    time.sleep(1)

    document = audit(capsys, "--window", "1")

    assert about(document, sandbox.name) == {}
    reasons = [
        s["reason"]
        for s in document["skipped"]
        if s["rule"] == "throttled-often" and s["subject"]["cgroup"] == sandbox.name
    ]
    assert len(reasons) == 1


def test_a_saved_snapshot_is_judged_alike(sandbox: Any, capsys: Capture, tmp_path: Any) -> None:
    sandbox.limit(sandbox.name, 50_000)
    sandbox.burn_until_throttled(sandbox.name, 2, sandbox.name)
    facts = str(tmp_path / "facts.json")
    live = audit(capsys, "--window", "5", "--save", facts)
    assert live["findings"]

    assert run(["audit", "snapshot", facts, "--format", "json"]) == 1
    again = json.loads(capsys.readouterr().out)

    assert again["findings"] == live["findings"]
    assert again["workloads"] == live["workloads"]
