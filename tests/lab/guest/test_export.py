"""What is exported of a unit on a machine with real systemd."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from conftest import LabHost


def series(text: str, name: str) -> dict[str, float]:
    """Return a metric's value by cgroup."""
    lines = re.findall(rf'^{name}{{cgroup="([^"]*)"[^}}]*}} (\S+)$', text, re.MULTILINE)
    return {path: float(value) for path, value in lines}


def test_a_throttled_unit_is_exported_with_its_name(host: LabHost, tmp_path: Path) -> None:
    busy = "ExecStart=\nExecStart=/bin/sh -c 'while :; do :; done'\nCPUQuota=20%"
    host.service("lab-export.service", busy)
    host.daemon_reload()
    host.start("lab-export.service")
    path = "/system.slice/lab-export.service"
    file = tmp_path / "quota_advisor.prom"
    command = [sys.executable, "-m", "quota_advisor", "export", "textfile", "--output", str(file)]
    throttled: dict[str, float] = {}
    for _ in range(100):
        subprocess.run(command, check=True, capture_output=True)
        text = file.read_text()
        throttled = series(text, "quota_advisor_cgroup_cpu_throttled_periods_total")
        if throttled.get(path, 0) > 0:
            break
    assert throttled[path] > 0
    assert f'quota_advisor_cgroup_info{{cgroup="{path}",unit="lab-export.service"' in text
    assert series(text, "quota_advisor_cgroup_cpu_quota_cores")[path] == 0.2
    assert series(text, "quota_advisor_cgroup_cpu_throttled_seconds_total")[path] > 0
    if host.cgroup_version == 2:
        assert series(text, "quota_advisor_cgroup_cpu_stalled_seconds_total")[path] > 0
