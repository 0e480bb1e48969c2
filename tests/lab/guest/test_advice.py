"""Commands that a report shows, pasted into a shell of a real systemd host."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from conftest import LabHost

UNIT = r"lab-paste\x2dme.service"
BUSY = "ExecStart=/bin/sh -c 'while :; do :; done & while :; do :; done'"
WINDOW_SEC = 8
PRESENT = "200ms"
"""What 20 % are for each second, as systemctl shows it."""


def advised(unit: str) -> Any:
    """Return the finding about a unit that stands for a cause and has commands."""
    command = [sys.executable, "-m", "quota_advisor", "audit", "host", "--format", "json"]
    done = subprocess.run(
        [*command, "--window", str(WINDOW_SEC)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr
    (found,) = (
        finding
        for finding in json.loads(done.stdout)["findings"]
        if finding["subject"]["name"] == unit and finding["part_of"] is None
    )
    return found


def test_a_throttled_unit_has_one_finding_whose_command_and_way_back_work(host: LabHost) -> None:
    host.unit(UNIT, f"[Service]\n{BUSY}\nCPUQuota=20%\n")
    host.daemon_reload()
    host.start(UNIT)
    (step,) = advised(UNIT)["recommendation"]["steps"]
    assert host.show(UNIT, "CPUQuotaPerSecUSec") == PRESENT

    host.run("sh", "-c", step["command"])
    assert host.show(UNIT, "CPUQuotaPerSecUSec") not in (PRESENT, "infinity")

    host.run("sh", "-c", step["undo"])
    assert host.show(UNIT, "CPUQuotaPerSecUSec") == PRESENT
    assert "50-CPUQuota.conf" not in host.show(UNIT, "DropInPaths")
