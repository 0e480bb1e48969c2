"""What `record` costs at 5 and 10 ms, and how large a day of it is.

Needs root: a load runs in a temporary cgroup under a quota that holds it back now and then, the
worst case for size and cost alike.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quota_advisor.errors import QuotaAdvisorError
from quota_advisor.model.limit import Bandwidth
from quota_advisor.probe.burner import end_child, find_burner, start_burner
from quota_advisor.sandbox import Priority, Sandbox, TemporaryCgroup, open_sandbox, shielded

SECONDS, SHORT_SECONDS = 70, 10
"""Of the two recordings whose difference is what a minute costs, without the start."""
DAY_SEC = 86_400


def main() -> int:
    """Print the figures."""
    print(f"machine: Linux {platform.release()}; a minute of each, without the start")
    try:
        with open_sandbox("bench-record", priority=Priority.NORMAL) as sandbox:
            for every_msec in (5, 10):
                _measure(sandbox, every_msec)
    except QuotaAdvisorError as error:
        print(f"cannot measure: {error}")
        return 3
    return 0


def _measure(sandbox: Sandbox, every_msec: int) -> None:
    with sandbox.group() as group, tempfile.TemporaryDirectory() as directory:
        group.set_limit(Bandwidth(quota_usec=35_000, period_usec=100_000))
        path = Path(directory) / "recording"
        short_sec, _ = _record(group, path.with_suffix(".short"), every_msec, SHORT_SECONDS)
        cpu_sec, peak_mib = _record(group, path, every_msec, SECONDS)
        size = path.stat().st_size
    share = (cpu_sec - short_sec) / (SECONDS - SHORT_SECONDS)
    day = size * DAY_SEC / SECONDS / 1e6
    print(f"every {every_msec} ms: {share:.2%} of a CPU, {peak_mib:.0f} MiB; a day {day:.0f} MB")


def _record(
    group: TemporaryCgroup, path: Path, every_msec: int, seconds: int
) -> tuple[float, float]:
    load = ["burst", "--threads", "2", "--interval", "150", "--work", "15", "--jitter", "60"]
    load += ["--duration", str(seconds + 10), "--drain", "0"]
    with shielded() as exposed:
        child = start_burner(find_burner(), load, join=group.join_files)
        try:
            with exposed():
                time.sleep(1)
                return _run(group.path, path, every_msec, seconds)
        finally:
            end_child(child)


def _run(cgroup: str, path: Path, every_msec: int, seconds: int) -> tuple[float, float]:
    words = [cgroup, "--for", f"{seconds}s", "--every", f"{every_msec}ms", "-o", str(path)]
    script = (
        "import resource, sys; from quota_advisor.cli import run; code = run(sys.argv[1:]);"
        "use = resource.getrusage(resource.RUSAGE_SELF);"
        "print(use.ru_utime + use.ru_stime, use.ru_maxrss / 1024)"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", script, "record", *words],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    cpu_sec, peak_mib = map(float, done.stdout.split())
    return cpu_sec, peak_mib


if __name__ == "__main__":
    sys.exit(main())
