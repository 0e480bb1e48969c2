"""What a recording is said to hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from quota_advisor.cli import run
from quota_advisor.record.watch import next_due
from quota_advisor.recording.schema import About
from quota_advisor.recording.writer import Row, Writer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "api.arrows.gz"
    about = About(
        program="test", started_at="2026-12-01T10:00:00+00:00", subject="api.service",
        cgroup="/api.service", host="web", kernel="6.18.0", cgroup_version=2, cpus=2,
        interval_usec=10_000,
    )  # fmt: skip
    with Writer(path, about) as writer:
        for number in range(1_000):
            held = 50_000 if number % 10 == 9 else 0
            quota = 50_000 if number < 500 else 80_000
            writer.add(
                Row(10_000, 5_000, number % 10 == 9, held > 0, held, None, 7, quota, 100_000)
            )
        writer.add(Row(2_000_000, None))
        writer.add(Row(30_000, 9_000))
        writer.finish()
    return path


def described(file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["record", "info", str(file), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = described(file, capsys)
    (track,) = found["tracks"]
    assert track["span_usec"] == 12_030_000
    assert (track["gap_usec"], track["late_windows"], track["held_windows"]) == (2_000_000, 1, 100)
    assert (track["periods"], track["throttled_periods"], track["threads"]) == (100, 100, 7)
    assert [limit["quota_usec"] for limit in track["limits"]] == [50_000, 80_000, None]
    assert track["max_cores"] == pytest.approx(0.5)


def test_as_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["record", "info", str(file)]) == 0
    text = capsys.readouterr().out
    assert "50 %, then 80 %, then none" in text
    assert "100 % of 100 periods" in text
    assert "nobody saw 2 s of it" in text
    assert "1 window was late" in text
    assert "held it back in 10 % of the windows" in text


def test_as_a_picture(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "api.svg"
    assert run(["record", "info", str(file), "--format", f"svg={target}"]) == 0
    root = ET.fromstring(target.read_text(encoding="utf-8"))  # noqa: S314 - our own
    assert "api.service" in "".join(root.itertext())


@pytest.mark.parametrize(
    ("now", "due"),
    [(100, 110), (104, 110), (105, 110), (106, 120), (109, 120), (137, 150), (134, 140)],
)
def test_a_late_reading_leaves_out_points_of_the_grid(now: int, due: int) -> None:
    """Half an interval is the least that a window lasts."""
    assert next_due(100, now, 10) == due
