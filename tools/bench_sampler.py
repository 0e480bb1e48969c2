"""Measure what sampling 300 cgroups every 100 ms costs on this machine.

Needs root: it makes 300 empty cgroups of its own, some of them with a quota, and removes them
however it ends. Prints the share of one core beside that of a bare loop over the same files.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from quota_advisor.collect.host.cgroup_files import GroupLimit, read_limit
from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, find_hierarchy, join
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.sampler import Clock, Sampler, Schedule
from quota_advisor.model.limit import Missing

TARGET_PERCENT = {1: 2.0, 2: 5.0}


def main() -> int:
    """Run both loops and print what each used."""
    options = _options()
    root = HostRoot(Path("/"))
    hierarchy = find_hierarchy(root)
    if isinstance(hierarchy, Missing):
        print(f"cannot measure: {hierarchy.reason}")
        return 3
    # A plain kill must remove the cgroups as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with temporary_groups(hierarchy, options.groups, options.limited) as paths:
            bare, sampler = _measure(root, hierarchy, paths, options)
    except OSError as error:
        print(f"cannot measure: {error}")
        return 3
    target = TARGET_PERCENT[hierarchy.version]
    print(f"machine: Linux {platform.release()}, {os.cpu_count()} CPUs, cgroup {hierarchy.layout}")
    print(
        f"{options.groups} cgroups ({options.limited} limited), every {options.interval_ms} ms, "
        f"{options.seconds:g} s; CPU time as a share of one core:"
    )
    print(f"  bare loop over open files  {bare:5.2f} %")
    print(f"  sampler, demand included   {sampler:5.2f} %  (target: {target:g} %)")
    return 0 if sampler <= target else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=300)
    parser.add_argument("--limited", type=int, default=60, help="groups with a quota")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--interval-ms", type=int, default=100)
    return parser.parse_args()


def _measure(
    root: HostRoot, hierarchy: CpuHierarchy, paths: list[str], options: argparse.Namespace
) -> tuple[float, float]:
    """Return the cost of the bare loop and of the sampler, in percent of one core."""
    schedule = Schedule(
        window_usec=round(options.seconds * 1e6), interval_usec=options.interval_ms * 1000
    )
    limits: dict[str, GroupLimit] = {}
    for path in paths:
        limit = read_limit(root, hierarchy, path)
        if limit is not None:
            limits[path] = limit
    bare = _cost(lambda: _bare_loop(hierarchy, paths, schedule))
    with Sampler(root, hierarchy, limits, Clock()) as sampler:
        return bare, _cost(lambda: sampler.run(schedule))


def _cost(work: Callable[[], object]) -> float:
    wall, used = time.monotonic(), time.process_time()
    work()
    return (time.process_time() - used) * 100 / (time.monotonic() - wall)


def _bare_loop(hierarchy: CpuHierarchy, paths: list[str], schedule: Schedule) -> None:
    """Do nothing but read every file at every tick."""
    name = "cpuacct.usage" if hierarchy.version == 1 else "cpu.stat"
    with ExitStack() as stack:
        files = []
        for path in paths:
            descriptor = os.open(f"{_usage_root(hierarchy)}{path}/{name}", os.O_RDONLY)
            stack.callback(os.close, descriptor)
            files.append(descriptor)
        start = time.monotonic()
        for tick in range(schedule.ticks + 1):
            time.sleep(max(0.0, start + schedule.at_usec(tick) / 1e6 - time.monotonic()))
            for descriptor in files:
                os.pread(descriptor, 1024, 0)


def _usage_root(hierarchy: CpuHierarchy) -> str:
    if isinstance(hierarchy.cpuacct, Missing):
        raise OSError(hierarchy.cpuacct.reason)
    return hierarchy.cpuacct


@contextmanager
def temporary_groups(hierarchy: CpuHierarchy, count: int, limited: int) -> Iterator[list[str]]:
    """Make cgroups below the root and remove them in the end."""
    roots = list(dict.fromkeys((hierarchy.cpu, _usage_root(hierarchy))))
    paths = [f"/quota-advisor-bench-{os.getpid()}-{number}" for number in range(count)]
    made: list[Path] = []
    try:
        for path in paths:
            for directory in roots:
                group = Path(join(directory, path))
                made.append(group)
                group.mkdir()
        for path in paths[:limited]:
            _limit(hierarchy, path)
        yield paths
    finally:
        for group in made:
            with suppress(FileNotFoundError):
                group.rmdir()


def _limit(hierarchy: CpuHierarchy, path: str) -> None:
    group = Path(join(hierarchy.cpu, path))
    if hierarchy.version == 1:
        (group / "cpu.cfs_quota_us").write_text("50000")
    elif (group / "cpu.max").exists():
        (group / "cpu.max").write_text("50000 100000")


if __name__ == "__main__":
    sys.exit(main())
