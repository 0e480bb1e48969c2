"""The audit of a real systemd host: units, drop-ins, slices and hand edits, over both libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE_SEC, LabHost

ADAPTERS = ["dbus-fast", "pydbus"]
WINDOW_SEC = 8
BUSY = "ExecStart=/bin/sh -c 'while :; do :; done & while :; do :; done'"
BURST_FILE = {1: "cpu.cfs_burst_us", 2: "cpu.max.burst"}
CONTAINER = "docker-" + "0123456789abcdef" * 4 + ".scope"

Findings = dict[str, dict[str, Any]]


class Audit:
    """One audit's report."""

    def __init__(self, document: dict[str, Any], errors: str) -> None:
        self.document = document
        self.errors = errors

    def about(self, name: str) -> Findings:
        return {f["rule"]: f for f in self.document["findings"] if f["subject"]["name"] == name}

    def workload(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(w for w in self.document["workloads"] if w["name"] == name)
        return found


def audit(*arguments: str) -> Audit:
    command = [sys.executable, "-m", "quota_advisor", "audit", *arguments, "--format", "json"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=PATIENCE_SEC
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    return Audit(json.loads(done.stdout), done.stderr)


def set_live(host: LabHost, unit: str, quota_usec: int, period_usec: int = 100_000) -> Path:
    """Write a unit's live limit by hand and return its directory."""
    group = host.cpu_cgroup(host.show(unit, "ControlGroup"))
    if host.cgroup_version == 2:
        (group / "cpu.max").write_text(f"{quota_usec} {period_usec}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(period_usec))
        (group / "cpu.cfs_quota_us").write_text(str(quota_usec))
    return group


@pytest.fixture(scope="module")
def scene(module_host: LabHost) -> LabHost:
    """Set up every situation once: reloads in between would undo the hand edits."""
    host = module_host
    busy = f"[Service]\n{BUSY}\n"
    host.unit("lab-burn.service", f"{busy}Restart=always\nCPUQuota=50%\n")
    host.unit(
        "lab-quiet.service",
        f"{busy}Restart=always\nCPUQuota=40%\n"
        "# quota-advisor: ignore[health-hides-throttling] batch\n",
    )
    host.unit("lab.slice", "[Slice]\nCPUWeight=100\n")
    host.unit("lab-inner.slice", "[Slice]\nCPUQuota=30%\n")
    host.unit("lab-nested.service", f"{busy}Slice=lab-inner.slice\n")
    host.service("lab-tight.service", "Slice=lab-inner.slice\nCPUQuota=90%")
    for name in ("hand", "burst"):
        host.service(f"lab-{name}.service", "CPUQuota=50%")
    host.service("lab-scaled.service", "CPUQuota=50%\nCPUQuotaPeriodSec=20ms")
    host.service("lab-runtime.service")
    host.service("lab-override.service")
    host.drop_in("lab-override.service", "override.conf", "[Service]\nCPUQuota=80%\n")
    host.service("lab-shadow.service")
    host.service("lab-stale.service", "CPUQuota=10%")
    host.service("lab-unknown.service", "CPUQuota=50%\nCPUQuotaPeriodUSec=10ms")
    host.service("lab-octal.service", "CPUQuota=050%")
    host.service("lab-tiny.service", "CPUQuota=0.5%")
    host.service("lab-long.service", "CPUQuota=20%\nCPUQuotaPeriodSec=1s")
    host.service("lab-all.service", "CPUQuota=200%")
    host.service("lab-a\\x20b\\x2dc.service", "CPUQuota=33%")
    host.daemon_reload()
    names = "burn quiet nested tight hand burst scaled runtime override shadow stale unknown octal"
    host.start(
        *(f"lab-{n}.service" for n in (*names.split(), "tiny", "long", "all", "a\\x20b\\x2dc"))
    )
    host.transient(CONTAINER, "--scope", "-p", "CPUQuota=34%")
    host.set_property("lab-override.service", "CPUQuota=20%")
    host.set_property("lab-shadow.service", "CPUQuota=20%")
    host.set_property("lab-shadow.service", "CPUQuota=90%", runtime=True)
    host.set_property("lab-runtime.service", "CPUQuota=40%", runtime=True)
    host.drop_in("lab-stale.service", "50-more.conf", "[Service]\nCPUQuota=25%\n")
    set_live(host, "lab-hand.service", 60_000)
    set_live(host, "lab-scaled.service", 20_000, 40_000)
    burst = set_live(host, "lab-burst.service", 70_000)
    (burst / BURST_FILE[host.cgroup_version]).write_text("60000")
    set_live(host, CONTAINER, 33_300)
    return host


@pytest.fixture(scope="module", params=ADAPTERS)
def seen(request: pytest.FixtureRequest, scene: LabHost, tmp_path_factory: Any) -> Audit:
    assert scene.show("lab-burn.service", "ActiveState") == "active"
    facts = tmp_path_factory.mktemp("audit") / "facts.json"
    arguments = ("--window", str(WINDOW_SEC), "--dbus", request.param, "--save", str(facts))
    live = audit("host", *arguments)
    again = audit("snapshot", str(facts))
    assert again.document["findings"] == live.document["findings"]
    return live


def test_the_whole_host_is_read_without_a_problem(seen: Audit) -> None:
    assert seen.document["problems"] == []
    assert seen.document["rule_errors"] == []
    # Emulated and shared, the machine may be too busy for a sample each 100 ms, and says so.
    assert [n for n in seen.document["notes"] if "this machine is busy" not in n] == []
    assert seen.document["machine"]["systemd_version"].startswith("252")


def test_a_two_thread_loop_under_half_a_core_is_held_back(seen: Audit) -> None:
    found = seen.about("lab-burn.service")
    assert {
        "throttled-often",
        "throttled-time",
        "quota-below-peak",
        "peak-censored",
        "quota-at-mean-use",
        "health-hides-throttling",
    } <= set(found)
    often = found["throttled-often"]
    assert often["severity"] == "error"
    assert often["location"]["file"] == "/etc/systemd/system/lab-burn.service"
    assert often["location"]["line"] == 4
    values = {e["label"]: e["value"] for e in often["evidence"]}
    assert values["throttled periods"] / values["periods"] > 0.8
    elapsed_usec = seen.workload("lab-burn.service")["counters"]["elapsed_usec"]
    assert elapsed_usec >= WINDOW_SEC * 1e6
    assert values["CPU time used"] == pytest.approx(0.5 * elapsed_usec, rel=0.1)
    advice = often["recommendation"]["advice"]
    assert advice["decision"] == "raise"
    assert advice["need"]["lower_bound"] is True
    assert advice["quota"]["cpu_quota_percent"] >= 75


def test_a_suppression_in_the_unit_file_counts(seen: Audit) -> None:
    assert "throttled-often" in seen.about("lab-quiet.service")
    assert "health-hides-throttling" not in seen.about("lab-quiet.service")
    assert any(
        s["reason"] == "batch" and s["finding"]["subject"]["name"] == "lab-quiet.service"
        for s in seen.document["suppressed"]
    )


def test_a_child_is_held_by_the_slice_above_it(seen: Audit) -> None:
    found = seen.about("lab-nested.service")
    assert "lab-inner.slice" in found["throttled-by-ancestor"]["message"]
    assert "throttled-often" not in found
    assert "throttled-often" in seen.about("lab-inner.slice")
    assert "shared-slice-below-one-cpu" in seen.about("lab-inner.slice")
    workload = seen.workload("lab-nested.service")
    assert workload["in_force"]["percent"] == pytest.approx(30)
    assert workload["in_force_from"] == "/lab.slice/lab-inner.slice"


def test_a_limit_below_a_tighter_one_is_void(scene: LabHost, seen: Audit) -> None:
    found = seen.about("lab-tight.service")
    if scene.cgroup_version == 2:
        assert "ancestor-tighter" in found
    else:
        # There the kernel refuses it, and systemd only logs that.
        assert "lab-inner.slice" in found["quota-not-enforced"]["message"]
    assert "live-quota-not-persisted" not in found


def test_a_hand_edited_limit_is_reported_as_not_persisted(seen: Audit) -> None:
    finding = seen.about("lab-hand.service")["live-quota-not-persisted"]
    assert "60 %" in finding["message"]
    assert "50 %" in finding["message"]
    assert "CPUQuota=60" in finding["recommendation"]["summary"]


def test_a_doubled_period_is_the_kernels_doing_and_no_hand_edit(seen: Audit) -> None:
    found = seen.about("lab-scaled.service")
    assert "kernel-scaled-period" in found
    assert "live-quota-not-persisted" not in found


def test_a_burst_above_the_configured_quota_blocks_it(seen: Audit) -> None:
    assert "burst-blocks-lowering" in seen.about("lab-burst.service")


def test_a_container_scope_may_drift_below_one_percent(seen: Audit) -> None:
    containers = [w for w in seen.document["workloads"] if w["kind"] == "container"]
    assert [w["limit"]["quota_usec"] for w in containers] == [33_300]
    assert [w["configured"]["quota_usec"] for w in containers] == [34_000]
    assert "live-quota-not-persisted" not in seen.about(containers[0]["name"])


def test_set_property_loses_to_a_later_name_at_the_next_reload(seen: Audit) -> None:
    found = seen.about("lab-override.service")
    overridden = found["drop-in-overridden"]
    assert overridden["location"]["file"] == (
        "/etc/systemd/system.control/lab-override.service.d/50-CPUQuota.conf"
    )
    assert "80" in found["reload-pending"]["message"]
    assert "20" in found["reload-pending"]["message"]


def test_a_runtime_change_is_shadowed_by_an_older_persistent_one(seen: Audit) -> None:
    assert "runtime-shadowed" in seen.about("lab-shadow.service")


def test_a_runtime_only_quota_is_forgotten_at_the_next_boot(seen: Audit) -> None:
    assert "runtime-only-quota" in seen.about("lab-runtime.service")
    assert "runtime-only-quota" not in seen.about(CONTAINER)


def test_files_newer_than_the_manager_are_pending(seen: Audit) -> None:
    finding = seen.about("lab-stale.service")["reload-pending"]
    assert "25 %" in finding["message"]
    assert "10 %" in finding["message"]


def test_keys_that_systemd_ignores_or_misreads_are_found_in_place(seen: Audit) -> None:
    unknown = seen.about("lab-unknown.service")["unknown-cpu-key"]
    assert unknown["location"]["line"] == 4
    octal = seen.about("lab-octal.service")["misread-cpu-quota"]
    assert "40%" in octal["message"]
    assert seen.workload("lab-octal.service")["limit"]["percent"] == pytest.approx(40)


def test_a_quota_below_one_millisecond_comes_out_otherwise(seen: Audit) -> None:
    finding = seen.about("lab-tiny.service")["quota-below-kernel-minimum"]
    assert "200 ms" in finding["message"]
    assert seen.workload("lab-tiny.service")["limit"]["period_usec"] == 200_000


def test_a_long_period_and_a_quota_of_all_cpus_are_seen(seen: Audit) -> None:
    assert "period-lengthened" in seen.about("lab-long.service")
    assert "quota-exceeds-host" in seen.about("lab-all.service")


def test_names_with_escapes_are_names(seen: Audit) -> None:
    assert seen.workload("lab-a\\x20b\\x2dc.service")["limit"]["percent"] == pytest.approx(33)


def test_without_a_bus_the_files_and_cgroups_still_speak(
    scene: LabHost, host: LabHost, tmp_path: Path
) -> None:
    """A host mounted into a container shows its /sys and /etc, and maybe no socket."""
    for name in ("sys", "proc", "etc", "usr"):
        (tmp_path / name).mkdir()
        host.bind_mount(f"/{name}", str(tmp_path / name))
    assert scene.show("lab-burn.service", "ActiveState") == "active"
    blind = audit("host", "--root", str(tmp_path), "--window", "0")
    assert len(blind.document["notes"]) == 1
    assert "throttled-often" in blind.about("lab-burn.service")
    assert "live-quota-not-persisted" in blind.about("lab-hand.service")


def test_anyone_may_audit_and_is_told_what_stays_hidden(scene: LabHost) -> None:
    assert scene.show("lab-burn.service", "ActiveState") == "active"
    command = [sys.executable, "-m", "quota_advisor", "audit", "host", "--window", "0"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, user="nobody", cwd="/"
    )
    assert done.returncode in (1, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert "lab-burn.service" in done.stdout
