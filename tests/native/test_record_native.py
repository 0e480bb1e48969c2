"""Recording real cgroups under the real kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.collect.host.cgroup_tree import join
from quota_advisor.model.limit import Bandwidth, Unlimited
from quota_advisor.record.info import describe
from quota_advisor.record.session import Wanted, record
from quota_advisor.recording.reader import Recording, Track, read_recording
from quota_advisor.sim.bandwidth import Setting, simulate

pytestmark = pytest.mark.native

PATIENCE_SEC = 60


def command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "quota_advisor", "record", *arguments],
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def recorded(name: str, path: Path, *, seconds: float, every_msec: int = 10) -> Recording:
    span = round(seconds * 1e6)
    record(Wanted(name=name, span_usec=span, interval_usec=every_msec * 1000, path=path))
    return read_recording(path)


def one(recording: Recording) -> Track:
    (track,) = recording.tracks
    return track


def wait_for(path: Path, size: int) -> None:
    end = time.monotonic() + PATIENCE_SEC
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < end, "nothing was written"
        time.sleep(0.1)


def test_a_throttled_group_is_recorded_with_its_limit(sandbox: Any, tmp_path: Path) -> None:
    path = sandbox.group(f"{sandbox.name}/api.service")
    sandbox.limit(path, 30_000)
    sandbox.burn(path, 2)
    track = one(recorded(path, tmp_path / "a", seconds=3))
    assert track.cgroup == path
    assert [(c.quota_usec, c.period_usec) for c in track.limits] == [(30_000, 100_000)]
    assert track.trace.span_usec == pytest.approx(3e6, rel=0.2)
    assert track.trace.mean_cores == pytest.approx(0.3, abs=0.08)
    assert track.periods
    assert track.throttled_periods
    assert track.throttled_periods / track.periods > 0.8
    assert track.held > 10
    assert track.threads
    assert track.threads >= 2


def test_a_unit_is_found_by_its_name_and_a_process_by_its_number(
    sandbox: Any, tmp_path: Path
) -> None:
    path = sandbox.group(f"{sandbox.name}/qa-unique-{os.getpid()}.service")
    sandbox.burn(path, 1)
    by_name = recorded(path.rsplit("/", 1)[1].removesuffix(".service"), tmp_path / "a", seconds=1)
    assert by_name.about.cgroup == path
    text = (Path(join(sandbox.hierarchy.cpu, path)) / "cgroup.procs").read_text()
    by_number = recorded(text.split()[0], tmp_path / "b", seconds=1)
    assert by_number.about.cgroup == path
    assert by_number.about.subject == f"process {text.split()[0]}"


def test_a_changed_limit_is_in_the_recording(sandbox: Any, tmp_path: Path) -> None:
    path = sandbox.group(f"{sandbox.name}/api.service")
    sandbox.limit(path, 20_000)
    sandbox.burn(path, 1)
    change = threading.Timer(1.5, sandbox.limit, (path, 60_000))
    change.start()
    track = one(recorded(path, tmp_path / "a", seconds=4))
    assert [c.quota_usec for c in track.limits] == [20_000, 60_000]


def test_a_group_that_is_made_anew_leaves_a_gap_and_no_spike(sandbox: Any, tmp_path: Path) -> None:
    path = sandbox.group(f"{sandbox.name}/api.service")
    child = command(path, "--for", "6s", "-o", str(tmp_path / "a"))
    directories = [Path(join(root, path)) for root in sandbox.roots]
    wait_for(tmp_path / "a", 0)
    time.sleep(1.5)
    for directory in directories:
        directory.rmdir()
    time.sleep(1)
    for directory in directories:
        directory.mkdir()
    sandbox.burn(path, 1)
    child.communicate(timeout=PATIENCE_SEC)
    assert child.returncode == 0
    recording = read_recording(tmp_path / "a")
    track = one(recording)
    assert track.gaps == 1
    (info,) = describe(recording).tracks
    assert 0.9e6 < info.gap_usec < 4e6
    highest = max(u / e for u, e in zip(track.used_usec, track.elapsed_usec, strict=True))
    assert highest < 2.5
    assert track.used_usec[-1] > 0
    assert not recording.is_cut


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_a_whole_file(sandbox: Any, tmp_path: Path, number: int) -> None:
    path = sandbox.group(f"{sandbox.name}/api.service")
    child = command(path, "--for", "1h", "-o", str(tmp_path / "a"))
    wait_for(tmp_path / "a", 0)
    time.sleep(1)
    child.send_signal(number)
    _, said = child.communicate(timeout=PATIENCE_SEC)
    assert child.returncode == 0
    assert "stopped early" in said
    assert not read_recording(tmp_path / "a").is_cut


def test_kill_9_leaves_what_was_written(sandbox: Any, tmp_path: Path) -> None:
    path = sandbox.group(f"{sandbox.name}/api.service")
    sandbox.burn(path, 1)
    child = command(path, "--for", "1h", "--every", "1ms", "-o", str(tmp_path / "a"))
    wait_for(tmp_path / "a", 1_000)
    child.kill()
    child.communicate()
    recording = read_recording(tmp_path / "a")
    assert recording.is_cut
    assert one(recording).trace.span_usec > 1e6


def test_every_limited_group_is_recorded_with_system(sandbox: Any, tmp_path: Path) -> None:
    paths = [sandbox.group(f"{sandbox.name}/{name}") for name in ("a", "b", "free")]
    for path in paths[:2]:
        sandbox.limit(path, 50_000)
    sandbox.burn(paths[0], 1)
    found = recorded("", tmp_path / "host", seconds=2, every_msec=100)
    tracks = {track.cgroup: track for track in found.tracks}
    assert paths[2] not in tracks
    assert tracks[paths[0]].trace.mean_cores == pytest.approx(0.5, abs=0.15)
    assert tracks[paths[1]].trace.mean_cores < 0.02


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nothing-of-this-name", "-o", "{dir}/a"], 2, "runs here"),
        (["/nothing/here", "-o", "{dir}/a"], 2, "no cgroup /nothing/here"),
        (["4194304", "-o", "{dir}/a"], 3, "process 4194304"),
        (["/", "--every", "100us", "-o", "{dir}/a"], 2, "finer than the kernel accounts"),
        (["/", "--for", "1ms", "-o", "{dir}/a"], 2, "no window"),
        (["/"], 2, "-o FILE is missing"),
        (["-o", "{dir}/a"], 2, "--system"),
        (["/", "-o", "{dir}/not/there"], 3, "no such file or directory"),
        (["/", "--for", "1s", "-o", "/dev/full"], 3, "exists"),
    ],
)
def test_what_cannot_be_recorded_is_said(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    child = command(*(word.format(dir=tmp_path) for word in arguments))
    _, error = child.communicate(timeout=PATIENCE_SEC)
    assert (child.returncode, said in error, error.count("\n")) == (code, True, 1), error
    assert list(tmp_path.iterdir()) == []


def test_what_was_recorded_freely_predicts_a_quota(sandbox: Any, tmp_path: Path) -> None:
    """The short version of ``make bench-sim``: record, predict, compare with the real kernel."""
    path = sandbox.group(f"{sandbox.name}/api.service")
    sandbox.go_first()
    sandbox.burn(path, 1)
    free = one(recorded(path, tmp_path / "free", seconds=5))
    limit = Bandwidth(quota_usec=40_000, period_usec=100_000)
    told = simulate(free.trace, Setting(limit=limit, cpus=1))
    assert simulate(free.trace, Setting(limit=Unlimited(), cpus=1)).periods == 0
    sandbox.limit(path, limit.quota_usec)
    real = one(recorded(path, tmp_path / "held", seconds=5))
    assert real.periods
    assert real.throttled_periods is not None
    ratio = told.throttled_ratio
    assert isinstance(ratio, float)
    assert ratio == pytest.approx(real.throttled_periods / real.periods, abs=0.1)
    assert told.used_usec == pytest.approx(sum(real.used_usec), rel=0.1)
