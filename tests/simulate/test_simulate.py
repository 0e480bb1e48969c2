"""From a recording to an answer, through the command line."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from quota_advisor.cli import run
from quota_advisor.cli import simulate as command
from quota_advisor.errors import UsageError
from quota_advisor.recording.schema import About
from quota_advisor.recording.writer import Row, Writer
from quota_advisor.simulate.order import parse_cores, parse_periods, parse_target
from quota_advisor.simulate.report import FORMATS
from tests.recordings import CYCLE, MSEC, recording


@pytest.fixture
def api(tmp_path: Path) -> Path:
    return recording(tmp_path / "api.arrows.gz", CYCLE * 400)


def asked(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = run(["simulate", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    code, out, err = asked(capsys, *arguments, "--format", "json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_each_quota_with_each_period_and_burst(
    api: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(
        capsys, api, "--quota", "30%,1.5,2000m", "--period", "100ms,50ms", "--burst", "0,10ms"
    )
    assert len(found["candidates"]) == 12
    quotas = {(c["quota_percent"], c["period_usec"], c["burst_usec"]) for c in found["candidates"]}
    assert (150.0, 50_000, 10_000) in quotas
    first = found["candidates"][0]
    assert first["quota_usec"] == 30_000
    assert 0 < first["at_least"]["throttled_ratio"] < 1
    assert first["at_most"] is None
    assert found["use"]["mean_cores"] == pytest.approx(0.2)


def test_no_quota_is_one_candidate_whatever_the_bursts(
    api: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys, api, "--quota", "none", "--burst", "0,10ms")
    (only,) = found["candidates"]
    assert only["quota_usec"] is None
    assert only["at_least"]["throttled_ratio"] is None
    assert only["at_least"]["delay_max_usec"] == 0
    assert only["meets_target"]


def test_a_sweep_names_the_smallest_quota_that_keeps_the_target(
    api: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys, api, "--sweep")
    frontier = found["frontier"]
    assert found["answer"] == frontier[:1]
    assert [c["quota_percent"] for c in frontier] == sorted(c["quota_percent"] for c in frontier)
    assert all(c["meets_target"] for c in frontier)
    plain = [c for c in frontier if c["period_usec"] == 100_000 and c["burst_usec"] == 0]
    below = as_json(capsys, api, "--quota", f"{plain[0]['quota_percent'] - 5}%")
    assert not below["candidates"][0]["meets_target"]
    assert frontier[0]["quota_percent"] <= plain[0]["quota_percent"]


def test_the_number_with_headroom_is_the_one_of_audit(
    api: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys, api, "--sweep")
    assert found["need"]["percent"] == 45
    assert "p95 of 400 active windows" in found["need"]["formula"]
    _, out, _ = asked(capsys, api, "--sweep")
    assert "with headroom: CPUQuota=45%" in out


def test_the_target_decides(api: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strict = as_json(capsys, api, "--sweep", "--target", "throttled=0.1%,p99=1ms")
    loose = as_json(capsys, api, "--sweep", "--target", "throttled=90%,p99=1s")
    assert loose["answer"][0]["quota_percent"] < strict["answer"][0]["quota_percent"]


def test_always_busy_means_no_quota(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    busy = recording(tmp_path / "busy", [20.0] * 3_000)
    code, out, _ = asked(capsys, busy, "--sweep", "--target", "throttled=0.1%,p99=1ms")
    assert code == 0
    assert "CPUQuota=200%" in out or "set none" in out
    assert "always busy" in out


def test_what_was_held_back_is_at_least_and_at_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cycle = [20.0, 10.0, *[0.0] * 6, 20.0, 0.0]
    held = {index * 10 + 8: 60 * MSEC for index in range(300)}
    path = recording(tmp_path / "held", cycle * 300, throttled_usec=held)
    found = as_json(capsys, path, "--quota", "60%")
    (only,) = found["candidates"]
    assert found["held_ratio"] == pytest.approx(0.1)
    assert only["at_most"]["throttled_ratio"] >= only["at_least"]["throttled_ratio"]
    assert any("set-property --runtime api.service" in note for note in found["notes"])
    _, out, _ = asked(capsys, path, "--quota", "60%")
    assert "…" in out


def test_rarely_held_back_is_moved_and_not_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recording(tmp_path / "a", CYCLE * 200, throttled_usec={15: 1})
    assert as_json(capsys, path, "--quota", "60%")["candidates"][0]["at_most"] is None


def test_csv_has_a_row_for_each_estimate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = dict.fromkeys(range(0, 3000, 10), 1)
    path = recording(tmp_path / "a", CYCLE * 200, throttled_usec=held)
    _, out, _ = asked(capsys, path, "--quota", "30%,none", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["demand"] for row in rows] == ["least", "most"] * 2
    assert rows[2]["quota_usec"] == ""
    assert float(rows[0]["throttled_ratio"]) > 0


def test_the_picture_is_drawn(api: Path, tmp_path: Path) -> None:
    for more in (["--sweep"], ["--quota", "20%,30%,none"]):
        target = tmp_path / "picture.svg"
        assert run(["simulate", str(api), *more, "--format", f"svg={target}"]) == 0
        root = ET.fromstring(target.read_text(encoding="utf-8"))  # noqa: S314 - our own
        assert len(root.findall(".//{http://www.w3.org/2000/svg}polyline")) > 1


def test_the_page_shows_names_of_strangers_as_texts(tmp_path: Path) -> None:
    path = recording(tmp_path / "a", CYCLE * 100, subject="<script>alert(1)</script>")
    for more in (["--sweep"], ["--quota", "20%,30%"], ["--quota", "none"]):
        target = tmp_path / "page.html"
        assert run(["simulate", str(path), *more, "--format", f"html={target}"]) == 0
        page = target.read_text(encoding="utf-8")
        assert "<script>alert" not in page
        assert "Content-Security-Policy" in page
        assert "All figures" in page


def test_the_formats_of_the_command_are_those_there_are() -> None:
    assert command.FORMATS == FORMATS


def test_the_seed_decides_the_phase_alone(api: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = as_json(capsys, api, "--quota", "30%")
    again = as_json(capsys, api, "--quota", "30%")
    other = as_json(capsys, api, "--quota", "30%", "--seed", "7")
    assert first == again
    assert first["candidates"] != other["candidates"]


def test_fewer_cpus_than_it_ran_on_are_said(api: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = asked(capsys, api, "--quota", "none", "--cpus", "1")
    assert "up to 2 CPUs at once, and 1 is simulated" in out


def test_more_threads_stall_longer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recording(tmp_path / "a", [10.0] * 2_000, cpus=8)
    one = as_json(capsys, path, "--quota", "60%", "--threads", "1")
    four = as_json(capsys, path, "--quota", "60%", "--threads", "4")
    one_late, four_late = (f["candidates"][0]["at_least"]["stalled_usec"] for f in (one, four))
    assert four_late >= one_late


def test_one_of_many_has_to_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "host"
    about = About(
        program="t", started_at="", subject="", cgroup="", host="h", kernel="", cgroup_version=1,
        cpus=2, interval_usec=10_000,
    )  # fmt: skip
    with Writer(path, about) as writer:
        for cgroup in ("/a", "/b"):
            for _ in range(100):
                writer.add(Row(10_000, 5_000), cgroup)
        writer.finish()
    code, _, err = asked(capsys, path, "--quota", "50%")
    assert code == 2
    assert "--cgroup" in err
    assert as_json(capsys, path, "--quota", "50%", "--cgroup", "/b")["name"] == "/b"
    assert asked(capsys, path, "--quota", "50%", "--cgroup", "/c")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no quota to try"),
        (["--quota", "0.5%"], "below 1 ms"),
        (["--quota", "5%", "--period", "10ms"], "below 1 ms"),
        (["--quota", "20%", "--burst", "30ms"], "more than the quota"),
        (["--quota", "x"], "--quota 'x'"),
        (["--quota", "-5%"], "--quota '-5%'"),
        (["--quota", "nan"], "--quota 'nan'"),
        (["--quota", "20%", "--period", "2s"], "--period 2s"),
        (["--quota", "20%", "--period", "0"], "--period 0"),
        (["--quota", "20%", "--target", "p42=1ms"], "--target 'p42=1ms'"),
        (["--quota", "20%", "--target", "throttled=0%"], "--target"),
        (["--quota", ",".join(f"{n}%" for n in range(1, 20_000))], "10000 candidates"),
    ],
)
def test_what_cannot_be_simulated_is_wrong_usage(
    api: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, out, err = asked(capsys, api, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_who_never_ran_cannot_be_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recording(tmp_path / "idle", [0.0, None, 0.0])
    code, _, err = asked(capsys, path, "--quota", "50%")
    assert code == 3
    assert "never ran" in err


def test_the_bounds_of_the_kernel_are_taken() -> None:
    assert parse_periods("1ms,1s") == (1_000, 1_000_000)
    assert parse_cores("1%") == 0.01
    assert parse_cores("MAX") is None
    assert parse_target("p99=5ms").p99_usec == 5_000
    assert parse_target("").throttled_ratio == 0.01
    with pytest.raises(UsageError):
        parse_periods("999us")
    with pytest.raises(UsageError):
        parse_periods("1000001us")


def test_without_the_library_the_extra_is_named(api: Path, tmp_path: Path) -> None:
    (tmp_path / "nanoarrow.py").write_text("raise ImportError")
    done = subprocess.run(
        [sys.executable, "-m", "quota_advisor", "simulate", str(api), "--sweep"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "quota-advisor[record]" in done.stderr


def test_without_the_simulator_the_wheel_is_named(api: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quota_advisor", "simulate", str(api), "--sweep"],
        env={"QUOTA_ADVISOR_SIM": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "libquota_sim.so" in done.stderr
