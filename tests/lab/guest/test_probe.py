"""The probe where systemd owns the cgroups: in a transient scope, which goes with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE_SEC, LabHost

PROBE = [sys.executable, "-m", "quota_advisor", "probe"]
BRIEF = ["--tiers", "0.5", "--rounds", "1", "--force", "--priority", "high"]

CLOCK = 0.25
"""An emulated machine's scheduler may have no better clock than its tick of 4 ms."""


def probe(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [*PROBE, *BRIEF, *arguments, "--format", "json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SEC,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def temporary_cgroups() -> list[Path]:
    # os.walk, unlike rglob, takes it that directories vanish while it looks.
    return [
        Path(top, name)
        for top, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if name.startswith("quota-advisor-probe-")
    ]


def scopes(host: LabHost) -> str:
    return host.run("systemctl", "list-units", "--all", "--plain", "--no-legend", "*.scope")


def wait_for(what: str, found: Any) -> None:
    deadline = time.monotonic() + PATIENCE_SEC
    while not found():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def nothing_is_left(host: LabHost) -> Iterator[None]:
    yield
    wait_for("a cgroup is left", lambda: not temporary_cgroups())
    wait_for("a scope is left", lambda: "quota-advisor" not in scopes(host))


def test_the_counters_of_a_scope_fit_its_quota(host: LabHost) -> None:
    document = probe("--duration", "2")

    assert document["node"]["cgroups"] == f"cgroup v{host.cgroup_version}, scope of systemd"
    (run,) = document["runs"]
    kernel, wall_usec = run["kernel"], run["load"]["wall_ns"] / 1_000
    assert kernel["nr_periods"] >= 20
    assert kernel["nr_throttled"] >= 0.8 * kernel["nr_periods"]
    assert kernel["usage_usec"] == pytest.approx(0.5 * wall_usec, rel=CLOCK)
    assert kernel["throttled_usec"] > 0.5 * wall_usec


def test_a_daemon_reload_in_mid_run_leaves_the_limit_alone(host: LabHost) -> None:
    with subprocess.Popen(
        [*PROBE, *BRIEF, "--duration", "4", "--format", "json"], stdout=subprocess.PIPE
    ) as running:
        wait_for("no cgroup", lambda: any(load_of(group) for group in temporary_cgroups()))
        host.daemon_reload()
        out, _ = running.communicate(timeout=PATIENCE_SEC)

    (run,) = json.loads(out)["runs"]
    allowed_usec = 0.5 * run["load"]["wall_ns"] / 1_000
    assert run["kernel"]["usage_usec"] == pytest.approx(allowed_usec, rel=CLOCK)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_scope(number: signal.Signals) -> None:
    with subprocess.Popen(
        [*PROBE, *BRIEF, "--duration", "600"], stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            wait_for("no cgroup", lambda: any(load_of(group) for group in temporary_cgroups()))
        finally:
            running.send_signal(number)
        running.communicate(timeout=PATIENCE_SEC)

    wait_for("a cgroup is left", lambda: not temporary_cgroups())


def load_of(group: Path) -> bool:
    """Whether the load, not only the helper that holds the scope, runs in a cgroup."""
    try:
        pids = (group / "cgroup.procs").read_text().split()
        return any("quota-burner" in os.readlink(f"/proc/{pid}/exe") for pid in pids)  # noqa: PTH115
    except OSError:
        return False


def test_without_systemd_the_cgroup_is_a_plain_directory(host: LabHost) -> None:
    # A mount namespace in which systemd's sign of being there is hidden.
    command = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run/systemd; exec "$@"']
    done = subprocess.run(
        [*command, "sh", *PROBE, *BRIEF, "--duration", "2", "--format", "json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SEC,
    )

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["node"]["cgroups"] == f"cgroup v{host.cgroup_version}"
    kernel = document["runs"][0]["kernel"]
    assert kernel["nr_throttled"] >= 0.8 * kernel["nr_periods"] > 10
