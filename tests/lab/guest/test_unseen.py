"""What an audit used to miss on a real systemd host: restarts, escapes, and who wrote what.

``LAB_APPEND=cgroup_disable=cpu tests/lab/lab run …`` boots without the cpu controller: then the one
test runs that is about that.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LabHost
from test_audit import BUSY, WINDOW_SEC, Audit, audit, set_live

BRIEF = "ExecStart=/bin/sh -c 'timeout 2 sh -c \"while :; do :; done\"; exit 1'"
LOOKS = 8
"""Windows in which a unit that restarts all the time has to be up at the end of one."""

DISABLED = "cgroup_disable=cpu" in Path("/proc/cmdline").read_text()

without_controller = pytest.mark.skipif(not DISABLED, reason="boot with cgroup_disable=cpu")
with_controller = pytest.mark.skipif(DISABLED, reason="no quota holds without the controller")


@pytest.fixture(scope="module")
def scene(module_host: LabHost) -> LabHost:
    """Set up every situation once."""
    host = module_host
    host.unit(
        "seen-restarts.service",
        f"[Unit]\nStartLimitIntervalSec=0\n[Service]\n{BRIEF}\n"
        "Restart=always\nRestartSec=1ms\nCPUQuota=20%\n",
    )
    host.unit("seen.slice", "[Slice]\nCPUQuota=30%\n")
    host.unit("seen-child.service", f"[Service]\n{BUSY}\nSlice=seen.slice\n")
    host.unit("seen-pinned.service", f"[Service]\n{BUSY}\nAllowedCPUs=0\nCPUQuota=100%\n")
    host.unit(
        "seen-chrt.service",
        "[Service]\nExecStart=/usr/bin/chrt -f 1 /bin/sleep infinity\nCPUQuota=50%\n",
    )
    host.unit(
        "seen-away.service",
        "[Service]\nExecStart=/usr/bin/systemd-run --scope --unit=seen-elsewhere"
        " /bin/sleep infinity\nCPUQuota=50%\n",
    )
    host.service("seen-period.service", "CPUQuota=50%")
    host.service("seen-passed.service")
    host.drop_in("seen-passed.service", "50-cpu", "[Service]\nCPUQuota=50%\n")
    host.daemon_reload()
    names = "restarts child pinned chrt away period passed"
    host.start(*(f"seen-{name}.service" for name in names.split()))
    # Wider than any slice above it may be on v1, where a child cannot have more than its parent.
    if host.cgroup_version == 2 and not DISABLED:
        host.set_property("seen-child.service", "CPUQuota=400%", runtime=True)
        set_live(host, "seen-period.service", 100_000, 200_000)
    return host


@pytest.fixture(scope="module")
def seen(scene: LabHost) -> Audit:  # noqa: ARG001 - it has to be set up
    """Return what an audit over some seconds finds."""
    return audit("host", "--window", str(WINDOW_SEC))


@pytest.fixture
def v2(scene: LabHost) -> LabHost:
    """Return the host where v2 holds the controller."""
    if scene.cgroup_version != 2:
        pytest.skip("cgroup v2 alone")
    return scene


@with_controller
def test_a_unit_that_restarts_is_judged_over_its_lives(seen: Audit) -> None:
    # Down, or just up again, at the very end of a window it has no life to judge: look again.
    for look in range(LOOKS):
        looked = seen if not look else audit("host", "--window", str(WINDOW_SEC))
        found = looked.about("seen-restarts.service").get("throttled-across-restarts")
        if found is not None:
            break
    assert found is not None, f"not found in {LOOKS} windows"
    counted = {item["label"]: item["value"] for item in found["evidence"]}
    assert counted["NRestarts in the window"] >= 2


@with_controller
def test_the_slice_is_named_and_no_burst_is_advised_to_its_child(seen: Audit, v2: LabHost) -> None:
    assert v2.show("seen-child.service", "CPUQuotaPerSecUSec") == "4s"
    found = seen.about("seen-child.service")
    assert "seen.slice" in found["throttled-by-ancestor"]["message"]
    assert "burst-eligible" not in found


@with_controller
@pytest.mark.usefixtures("v2")
def test_a_quota_of_all_cpus_of_a_cpuset_limits_nothing(seen: Audit) -> None:
    found = seen.about("seen-pinned.service")
    assert "quota-exceeds-host" in found
    assert not found.keys() & {"throttled-often", "burst-eligible"}


@with_controller
def test_chrt_takes_a_service_out_of_its_quota(seen: Audit) -> None:
    found = seen.about("seen-chrt.service")["quota-not-enforced"]
    assert "real-time" in found["message"]


@with_controller
def test_a_main_process_that_left_is_not_held(seen: Audit) -> None:
    found = seen.about("seen-away.service")["quota-not-enforced"]
    assert "seen-elsewhere.scope" in found["message"]


def test_a_file_without_conf_is_never_read(seen: Audit, scene: LabHost) -> None:
    assert scene.show("seen-passed.service", "CPUQuotaPerSecUSec") == "infinity"
    assert "drop-in-never-read" in seen.about("seen-passed.service")


@with_controller
def test_a_period_of_200_ms_is_somebodys_and_a_reload_takes_it_back(
    seen: Audit, v2: LabHost
) -> None:
    found = seen.about("seen-period.service")
    assert "live-quota-not-persisted" in found
    assert "kernel-scaled-period" not in found
    v2.daemon_reload()
    limit = v2.cpu_cgroup(v2.show("seen-period.service", "ControlGroup")) / "cpu.max"
    assert limit.read_text() == "50000 100000\n"


@without_controller
def test_no_controller_at_all_is_named_as_the_cause(seen: Audit) -> None:
    found = seen.about("seen-period.service")["quota-not-enforced"]
    assert "cgroup_disable=cpu" in found["message"]
