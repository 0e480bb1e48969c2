"""A small host as a directory, for ``--root``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from quota_advisor.cli import run

THROTTLED = """\
usage_usec 51000000000
user_usec 50000000000
system_usec 1000000000
nr_periods 184302
nr_throttled 121957
throttled_usec 98421350
nr_bursts 0
burst_usec 0
"""

QUIET = THROTTLED.replace("121957", "0").replace("98421350", "0")

FILES = {
    "etc/hostname": "db3\n",
    "proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
    "proc/stat": "cpu 1 0 1 99 0 0 0 0 0 0\ncpu0 1 0 1 9 0 0 0 0 0 0\ncpu1 0 0 0 90 0 0 0 0 0 0\n",
    "proc/cmdline": "quiet\n",
    "sys/devices/system/cpu/online": "0-1\n",
    "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
    "sys/fs/cgroup/cgroup.procs": "",
    "sys/fs/cgroup/cpu.stat": "usage_usec 90000000000\nuser_usec 1\nsystem_usec 1\n",
    "sys/fs/cgroup/system.slice/cgroup.procs": "",
    "sys/fs/cgroup/system.slice/cpu.max": "max 100000\n",
    "sys/fs/cgroup/system.slice/cpu.stat": QUIET,
    "sys/fs/cgroup/system.slice/api.service/cgroup.procs": "",
    "sys/fs/cgroup/system.slice/api.service/cpu.max": "100000 100000\n",
    "sys/fs/cgroup/system.slice/api.service/cpu.stat": THROTTLED,
    "etc/systemd/system/api.service": "[Service]\nExecStart=/usr/bin/api\nCPUQuota=100%\n",
}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Make a host with one service whose lifetime totals are 66 % throttled."""
    root = tmp_path / "host"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


Audit = Callable[..., int]


@pytest.fixture
def audit(host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audit:
    """Audit the small host with further arguments; returns the exit code."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, window: str = "0") -> int:
        return run(["audit", "host", "--root", str(host), "--window", window, *arguments])

    return call
