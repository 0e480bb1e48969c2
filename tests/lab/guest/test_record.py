"""A unit under real systemd: recorded over a restart, and what another quota would do to it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import LabHost

UNIT = "lab-recorded.service"
BUSY = "ExecStart=/bin/sh -c 'while :; do :; done'"
SECONDS = 20


def tool(*words: str) -> list[str]:
    return [sys.executable, "-m", "quota_advisor", *words]


def as_json(*words: str) -> Any:
    command = tool(*words, "--format", "json")
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_unit_is_recorded_over_a_restart(host: LabHost, tmp_path: Path) -> None:
    host.unit(UNIT, f"[Service]\n{BUSY}\nCPUQuota=20%\n")
    host.daemon_reload()
    host.start(UNIT)
    file = tmp_path / "unit.arrows.gz"
    recorder = subprocess.Popen(
        tool("record", "lab-recorded", "--for", f"{SECONDS}s", "-o", str(file)),
        stderr=subprocess.PIPE,
        text=True,
    )
    host.run("sleep", "8")
    host.run("systemctl", "restart", UNIT)
    _, said = recorder.communicate(timeout=300)
    assert recorder.returncode == 0, said

    (track,) = as_json("record", "info", str(file))["tracks"]
    assert track["cgroup"].endswith(f"/{UNIT}")
    assert {(c["quota_usec"], c["period_usec"]) for c in track["limits"]} == {(20_000, 100_000)}
    assert 0 < track["gap_usec"] < SECONDS * 1e6 / 2
    assert track["throttled_periods"] > track["periods"] / 2
    assert track["mean_cores"] < 0.4
    assert track["max_cores"] < 2

    found = as_json("simulate", str(file), "--quota", "20%,none", "--sweep")
    first, free = found["candidates"]
    assert first["at_most"]["throttled_ratio"] > 0.5
    assert free["at_least"]["throttled_ratio"] is None
    assert found["need"]["lower_bound"]
