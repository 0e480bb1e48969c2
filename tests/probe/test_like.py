"""A recording as a load."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from quota_advisor.errors import UsageError
from quota_advisor.probe.like import demand_text, on_grid, replay_of
from quota_advisor.sim.trace import Trace, even
from tests.recordings import CYCLE, recording


def test_even_windows_stay_as_they_are() -> None:
    assert list(on_grid(even(array("I", [1, 2, 3]), 10_000), 10_000)) == [1, 2, 3]


def test_uneven_windows_are_spread_and_no_work_is_lost() -> None:
    trace = Trace(
        elapsed_usec=array("I", [15_000, 5_000, 30_000]), used_usec=array("I", [1_500, 100, 9_000])
    )
    assert list(on_grid(trace, 10_000)) == [1_000, 600, 3_000, 3_000, 3_000]


def test_as_many_threads_share_work_as_it_takes() -> None:
    text = demand_text([0, 10_900, 11_100, 40_000], 10_000, 2)
    assert text == "interval_usec 10000\n0 1\n10900 1\n11100 2\n40000 2\n"


def test_a_recording_becomes_a_profile_with_quotas_to_try(tmp_path: Path) -> None:
    file = recording(tmp_path / "api", CYCLE * 400)
    replay = replay_of(file, tmp_path, 2)
    assert replay.length_sec == 60
    profile = replay.profile
    assert (profile.threads, profile.tiers) == (2, (0.35, 2.0))
    assert profile.trace.read_text().count("\n") == 6_001
    assert "api.service" in profile.title


def test_what_cannot_be_replayed_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="record it first"):
        replay_of(tmp_path / "api.service", tmp_path, 2)
    with pytest.raises(UsageError, match="never ran"):
        replay_of(recording(tmp_path / "idle", [0.0] * 9), tmp_path, 2)
