"""Measure what one look at a large host costs: units with files, drop-ins and cgroups.

The host is a tree of files in a temporary directory, read with ``--root`` and ``--window 0``.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (1_000, 5_000)
ROUNDS = 5
BARS_SEC = {1_000: 0.7, 5_000: 3.5}
SNAPSHOT_BAR_SEC = 1.5
MEMORY_BAR_MIB = 120

CPU_STAT = """\
usage_usec {usage}
user_usec {usage}
system_usec 0
nr_periods {periods}
nr_throttled {throttled}
throttled_usec {throttled_usec}
nr_bursts 0
burst_usec 0
"""


def main() -> None:
    """Print wall time and peak memory for each size, and for judging the snapshot alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as directory:
            top = Path(directory)
            write_host(top / "host", size)
            _report(top, size, options.rounds)


def _report(top: Path, size: int, rounds: int) -> None:
    facts = top / "facts.json"
    audit = ("audit", "host", "--root", str(top / "host"), "--window", "0")
    seconds, mebibytes = _measure(audit, rounds)
    _measure((*audit, "--save", str(facts)), 1)
    judged, _ = _measure(("audit", "snapshot", str(facts)), rounds)
    bar = f"  (bar {BARS_SEC[size]:g} s)" if size in BARS_SEC else ""
    print(f"{size:6} units  audit    {seconds:6.2f} s{bar}  {mebibytes:4.0f} MiB")
    print(f"{size:6} units  snapshot {judged:6.2f} s")


def _measure(arguments: tuple[str, ...], rounds: int) -> tuple[float, float]:
    """Return the median seconds and the highest memory in MiB of a command."""
    seconds, peak_kib = [], 0
    for _ in range(rounds):
        start = time.perf_counter()
        child = subprocess.Popen(  # noqa: S603 - this program itself
            [sys.executable, "-m", "quota_advisor", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
        seconds.append(time.perf_counter() - start)
        peak_kib = max(peak_kib, used.ru_maxrss)
    return statistics.median(seconds), peak_kib / 1024


def write_host(top: Path, units: int) -> None:
    """Write a host with cgroup v2 and as many services, one in three with a drop-in."""
    cgroups = top / "sys/fs/cgroup"
    system = top / "etc/systemd/system"
    system.mkdir(parents=True)
    _write_node(top)
    _write_group(cgroups, "", 0)
    (cgroups / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    _write_group(cgroups / "system.slice", "max 100000\n", 0)
    for number in range(units):
        name = f"app-{number:05}.service"
        percent = 20 + number % 300
        unit = f"[Unit]\nDescription=Application {number}\n\n[Service]\nExecStart=/bin/app\n"
        (system / name).write_text(f"{unit}CPUQuota={percent}%\n")
        if number % 3 == 0:
            (system / f"{name}.d").mkdir()
            (system / f"{name}.d/50-quota.conf").write_text("[Service]\nCPUQuota=50%\n")
            percent = 50
        _write_group(cgroups / "system.slice" / name, f"{percent * 1000} 100000\n", number)


def _write_node(top: Path) -> None:
    (top / "proc/sys/kernel").mkdir(parents=True)
    (top / "proc/sys/kernel/osrelease").write_text("6.12.0\n")
    (top / "sys/devices/system/cpu").mkdir(parents=True)
    (top / "sys/devices/system/cpu/online").write_text("0-7\n")


def _write_group(directory: Path, limit: str, number: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    throttled = 900 if number % 50 == 1 else 0
    stat = CPU_STAT.format(
        usage=10_000_000, periods=1_000, throttled=throttled, throttled_usec=throttled * 40_000
    )
    files = {
        "cpu.stat": stat,
        "cpu.weight": "100\n",
        "cgroup.procs": f"{1000 + number}\n",
        "cgroup.threads": f"{1000 + number}\n",
        "cpuset.cpus.effective": "0-7\n",
        "cpu.pressure": "some avg10=0.00 total=10\nfull avg10=0.00 total=10\n",
    }
    if limit:
        files |= {"cpu.max": limit, "cpu.max.burst": "0\n"}
    for name, text in files.items():
        (directory / name).write_text(text)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
