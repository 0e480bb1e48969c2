"""What `watch` costs with 300 limited groups that all run, redrawn each second on a terminal.

Needs root and a CPU cgroup hierarchy of version 1 or 2; the groups are removed afterwards.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, find_hierarchy, join
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.limit import Missing

GROUPS = 300
SETTLE_SEC, MEASURE_SEC = 8, 30
ROWS, COLUMNS = 50, 120
HZ = os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Make the groups, watch them, print the cost."""
    hierarchy = find_hierarchy(HostRoot(Path("/")))
    if isinstance(hierarchy, Missing) or os.geteuid() != 0:
        print("bench-watch: needs root and a CPU cgroup hierarchy", file=sys.stderr)
        return 3
    with groups(hierarchy), watching() as process:
        time.sleep(SETTLE_SEC)
        before, started = cpu_sec(process), time.monotonic()
        time.sleep(MEASURE_SEC)
        spent = cpu_sec(process) - before
        share = spent / (time.monotonic() - started)
    print(f"{GROUPS} groups under a quota, all running, every second, {COLUMNS}x{ROWS}:")
    print(f"{share:.2%} of a core ({spent:.2f} s of CPU in {MEASURE_SEC} s)")
    return 0


@contextlib.contextmanager
def groups(hierarchy: CpuHierarchy) -> Iterator[None]:
    """Make groups with a quota and a process each that wakes three times a second."""
    top = f"/quota-advisor-bench-watch-{os.getpid()}"
    roots = [d for d in dict.fromkeys((hierarchy.cpu, hierarchy.cpuacct)) if isinstance(d, str)]
    paths = [top, *(f"{top}/unit-{n:03}.service" for n in range(GROUPS))]
    children: list[int] = []
    try:
        for path in paths:
            for root in roots:
                Path(join(root, path)).mkdir()
            if path == top and hierarchy.version != 1:
                (Path(join(hierarchy.cpu, top)) / "cgroup.subtree_control").write_text("+cpu")
            if path != top:
                limit(hierarchy, path)
                children.append(wake(path, roots))
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for path in reversed(paths):
            for root in roots:
                remove(Path(join(root, path)))


def limit(hierarchy: CpuHierarchy, path: str) -> None:
    """Give a group half a CPU."""
    group = Path(join(hierarchy.cpu, path))
    if hierarchy.version == 1:
        (group / "cpu.cfs_quota_us").write_text("50000")
    else:
        (group / "cpu.max").write_text("50000 100000")


def wake(path: str, roots: list[str]) -> int:
    """Start a process in a group that runs a little three times a second."""
    child = os.fork()
    if child:
        return child
    try:
        for root in roots:
            Path(f"{join(root, path)}/cgroup.procs").write_text(str(os.getpid()))
        while True:
            time.sleep(0.33)
            sum(range(2000))
    finally:
        os._exit(1)


def remove(directory: Path) -> None:
    """Remove a group; the kernel lets go of dead processes a moment later."""
    for _ in range(200):
        with contextlib.suppress(OSError):
            directory.rmdir()
            return
        if not directory.exists():
            return
        time.sleep(0.05)


@contextlib.contextmanager
def watching() -> Iterator[int]:
    """Run the view on a terminal of its own whose output is read; gives its process."""
    process, terminal = pty.fork()
    if not process:
        os.environ |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        os.execv(sys.executable, [sys.executable, "-m", "quota_advisor", "watch"])  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    reader = threading.Thread(target=drain, args=(terminal,), daemon=True)
    reader.start()
    try:
        yield process
    finally:
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)


def drain(terminal: int) -> None:
    """Read what the view draws, as a terminal does."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 1 << 16):
            pass


def cpu_sec(process: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / HZ


if __name__ == "__main__":
    sys.exit(main())
