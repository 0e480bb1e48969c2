"""A probe that is ended at any moment leaves nothing behind; one that is killed, to the next."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quota_advisor.collect.host.cgroup_tree import find_hierarchy
from quota_advisor.model.limit import Missing
from quota_advisor.sandbox import open_sandbox
from quota_advisor.sandbox.cgroup import HOST
from quota_advisor.sandbox.names import owner_of
from quota_advisor.sandbox.removal import BURNER

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("measurable")]

TIMES = 50
AT_ONCE = 5
PATIENCE_SEC = 300
"""How long a program may take to end, or to make its cgroup, on a busy machine."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
PROBE = [sys.executable, "-m", "quota_advisor", "probe", "--force", "--tiers", "0.2"]


def tops() -> list[Path]:
    hierarchy = find_hierarchy(HOST)
    assert not isinstance(hierarchy, Missing)
    both = (hierarchy.cpu, hierarchy.cpuacct)
    return [Path(base) for base in dict.fromkeys(both) if isinstance(base, str)]


def groups_of(pids: set[int]) -> Iterator[Path]:
    for top in tops():
        # os.walk, unlike rglob, takes it that directories vanish while it looks.
        for directory, names, _ in os.walk(top):
            owners = ((name, owner_of(name)) for name in names)
            yield from (Path(directory, n) for n, owner in owners if owner and owner.pid in pids)


def load_of(marks: set[str]) -> Iterator[int]:
    """Yield every burner that one of our probes started: each carries a mark in its environment."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if (directory / "exe").readlink().name != BURNER:
                continue
            environment = (directory / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(f"QA_TEST_MARK={mark}".encode() in environment for mark in marks):
            yield int(directory.name)


def start(mark: str) -> subprocess.Popen[bytes]:
    """Start a probe that lasts much longer than anybody waits here."""
    return subprocess.Popen(
        [*PROBE, "--rounds", "200", "--duration", "0.4", "--format", "json=/dev/null"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "QA_TEST_MARK": mark},
    )


def test_killed_fifty_times_nothing_is_left() -> None:
    dice = random.Random(5)  # noqa: S311 - any moments will do, the same ones each time
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    start_sec = seconds_until_the_cgroup(mark)
    pids: set[int] = set()
    codes: dict[signal.Signals, set[int]] = {number: set() for number in SIGNALS}
    for _ in range(TIMES // AT_ONCE):
        begin = time.monotonic()
        running = [start(mark) for _ in range(AT_ONCE)]
        # Some at any moment of the start, which is that much longer where all share a CPU; some
        # after it.
        early = AT_ONCE // 2
        moments = sorted(dice.uniform(0, AT_ONCE * start_sec) for _ in range(early))
        for place, child in enumerate(running):
            if place < early:
                time.sleep(max(begin + moments[place] - time.monotonic(), 0))
            else:
                wait_for_group(child.pid)
                time.sleep(dice.uniform(0, start_sec))
            number = SIGNALS[len(pids) % len(SIGNALS)]
            child.send_signal(number)
            pids.add(child.pid)
            codes[number].add(child.wait(timeout=PATIENCE_SEC))

    # Only SIGKILL may leave something, and only until the next run.
    with open_sandbox("test"):
        pass
    settle(pids, {mark})
    # Before Python has set up anything, a signal ends it the plain way.
    assert codes[signal.SIGINT] <= {130, 1, -signal.SIGINT}
    assert codes[signal.SIGTERM] <= {128 + signal.SIGTERM, -signal.SIGTERM}
    assert codes[signal.SIGKILL] == {-signal.SIGKILL}


def test_the_orphan_of_a_killed_run_is_removed_by_the_next() -> None:
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    child = start(mark)
    wait_for_group(child.pid)
    child.kill()
    child.wait()
    orphans = set(groups_of({child.pid}))

    with open_sandbox("test"):
        pass

    assert orphans, "the kill came too late"
    settle({child.pid}, {mark})


def seconds_until_the_cgroup(mark: str) -> float:
    """Return how long a run takes to start on this machine at this time."""
    begin = time.monotonic()
    child = start(mark)
    wait_for_group(child.pid)
    took = time.monotonic() - begin
    child.kill()
    child.wait()
    return took


def wait_for_group(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_SEC
    while not any(groups_of({pid})):
        assert time.monotonic() < deadline, "no cgroup was made"
        time.sleep(0.005)


def settle(pids: set[int], marks: set[str]) -> None:
    """Wait until the load has seen that its parent is gone; then nothing may be there."""
    deadline = time.monotonic() + PATIENCE_SEC
    while time.monotonic() < deadline and (any(load_of(marks)) or any(groups_of(pids))):
        time.sleep(0.05)
    assert list(load_of(marks)) == []
    assert list(groups_of(pids)) == []


ANY_PROGRAM = """
import threading, time
from quota_advisor.sandbox import open_sandbox
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
with open_sandbox("test") as sandbox, sandbox.group():
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_program_with_threads_that_knows_nothing_of_signals_leaves_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ANY_PROGRAM], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    assert list(groups_of({child.pid}))
    child.terminate()
    child.communicate(timeout=30)

    assert child.returncode == 128 + signal.SIGTERM
    assert list(groups_of({child.pid})) == []
