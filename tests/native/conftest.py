"""A corner of this machine's own CPU hierarchy for tests that need the real kernel."""

from __future__ import annotations

import functools
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, find_hierarchy, join
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.errors import QuotaAdvisorError
from quota_advisor.model.limit import Missing
from quota_advisor.probe.burner import find_burner
from quota_advisor.sandbox import open_sandbox

ROOT = HostRoot(Path("/"))

PATIENCE_SEC = 300
"""How long to wait for what takes a moment on a quiet machine; nobody waits for it in vain."""


class Sandbox:
    """cgroups with a name that is nobody else's, and the processes put into them."""

    def __init__(self, hierarchy: CpuHierarchy) -> None:
        self.hierarchy = hierarchy
        self.name = f"/quota-advisor-test-{os.getpid()}-{secrets.token_hex(4)}"
        self._made: list[Path] = []
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def roots(self) -> list[str]:
        h = self.hierarchy
        return [d for d in dict.fromkeys((h.cpu, h.cpuacct)) if isinstance(d, str)]

    def group(self, path: str) -> str:
        for root in self.roots:
            directory = Path(join(root, path))
            directory.mkdir()
            self._made.append(directory)
        return path

    def limit(self, path: str, quota_usec: int) -> None:
        group = Path(join(self.hierarchy.cpu, path))
        if self.hierarchy.version == 1:
            (group / "cpu.cfs_quota_us").write_text(str(quota_usec))
        else:
            (group / "cpu.max").write_text(f"{quota_usec} 100000")

    def lift(self, path: str) -> None:
        """Take the limit away, as for a measurement."""
        group = Path(join(self.hierarchy.cpu, path))
        if self.hierarchy.version == 1:
            (group / "cpu.cfs_quota_us").write_text("-1")
        else:
            (group / "cpu.max").write_text("max 100000")

    def go_first(self) -> None:
        """Outweigh everybody: on a busy machine the quota, not the crowd, must be what limits."""
        group = Path(join(self.hierarchy.cpu, self.name))
        if self.hierarchy.version == 1:
            (group / "cpu.shares").write_text("262144")
        else:
            (group / "cpu.weight").write_text("10000")

    def hand_down(self, path: str) -> None:
        """Give the children of a v2 group the cpu controller."""
        if self.hierarchy.version == 2:
            (Path(join(self.hierarchy.cpu, path)) / "cgroup.subtree_control").write_text("+cpu")

    def burn(self, path: str, processes: int) -> None:
        files = " ".join(f"{join(root, path)}/cgroup.procs" for root in self.roots)
        # Should this test be killed itself, its loops end by their limit of CPU seconds.
        script = f"ulimit -t 20; for f in {files}; do echo $$ > $f; done; while :; do :; done"
        for _ in range(processes):
            self._started.append(subprocess.Popen(["sh", "-c", script]))

    def burn_until_throttled(self, path: str, processes: int, limited: str) -> None:
        """Start the load, and return once the kernel has held back the group with the limit."""
        self.burn(path, processes)
        stat = Path(join(self.hierarchy.cpu, limited), "cpu.stat")
        wait_until(lambda: counter(stat, "nr_throttled") > 0, f"{limited} is never throttled")

    def wait_for_periods(self, path: str, number: int) -> None:
        """Wait until a limited group was active in so many periods."""
        stat = Path(join(self.hierarchy.cpu, path), "cpu.stat")
        wait_until(lambda: counter(stat, "nr_periods") >= number, f"{path} does not run")

    def clean(self) -> None:
        self.remove(self._made)

    def end(self, path: str) -> None:
        """Kill what was started and remove a group, as the end of a unit does."""
        ended = [Path(join(root, path)) for root in self.roots]
        self.remove(ended)
        self._made = [directory for directory in self._made if directory not in ended]

    def remove(self, directories: list[Path]) -> None:
        for process in self._started:
            process.kill()
            process.wait()
        for directory in reversed(directories):
            # The kernel lets go of a dead process a moment after its parent hears of it.
            wait_until(functools.partial(gone, directory), f"{directory} cannot be removed")


def wait_until(holds: Callable[[], bool], otherwise: str) -> None:
    """Wait for a condition, and fail with a text where it never comes."""
    deadline = time.monotonic() + PATIENCE_SEC
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def counter(stat: Path, name: str) -> int:
    """Return one number of a ``cpu.stat``."""
    return int(dict(line.split() for line in stat.read_text().splitlines())[name])


def gone(directory: Path) -> bool:
    """Whether a cgroup could be removed, or is no more."""
    with suppress(OSError):
        directory.rmdir()
    return not directory.exists()


@pytest.fixture(scope="session")
def measurable() -> None:
    """Skip where this machine cannot be measured: no burner, no root, no cgroup."""
    try:
        find_burner()
        with open_sandbox("test") as sandbox, sandbox.group():
            pass
    except QuotaAdvisorError as error:
        pytest.skip(str(error))


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    hierarchy = find_hierarchy(ROOT)
    if isinstance(hierarchy, Missing):
        pytest.skip(hierarchy.reason)
    if os.geteuid() != 0:
        pytest.skip("needs root")
    box = Sandbox(hierarchy)
    with ExitStack() as stack:
        stack.callback(box.clean)
        try:
            box.group(box.name)
        except OSError as error:
            pytest.skip(f"the cgroup hierarchy of this machine is not writable: {error}")
        if hierarchy.version == 2 and not Path(join(hierarchy.cpu, box.name), "cpu.max").exists():
            pytest.skip("the root cgroup does not hand the cpu controller down")
        box.go_first()
        yield box
