"""The text that node_exporter reads, as promtool and the library of Prometheus read it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from quota_advisor.cli import run
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.export.families import HostCollector
from quota_advisor.export.reading import HostReader, unit_of
from quota_advisor.export.text import exposition
from tests.export.conftest import CONTAINER, POD, UID, make_group
from tests.programs import needs

PREFIX = "quota_advisor_cgroup"
Samples = dict[tuple[str, str], tuple[float, dict[str, str]]]


def parse(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, sample.labels["cgroup"]
            assert key not in found
            found[key] = sample.value, sample.labels
    return found


def written(host: Path) -> str:
    return "".join(exposition(HostReader(HostRoot(host)).read()))


def test_every_counter_of_a_cgroup_in_base_units(host: Path) -> None:
    samples = parse(written(host))
    api = {
        name: value for (name, path), (value, _) in samples.items() if path.endswith("/api.service")
    }
    assert api == {
        f"{PREFIX}_cpu_usage_seconds_total": 51.0,
        f"{PREFIX}_cpu_periods_total": 184302,
        f"{PREFIX}_cpu_throttled_periods_total": 121957,
        f"{PREFIX}_cpu_throttled_seconds_total": 98.42135,
        f"{PREFIX}_cpu_stalled_seconds_total": 2.5,
        f"{PREFIX}_cpu_quota_cores": 0.5,
        f"{PREFIX}_info": 1,
    }


def test_what_the_kernel_does_not_tell_has_no_sample(host: Path) -> None:
    names = {name for name, path in parse(written(host)) if path == "/"}
    # The root has no quota, no periods, and a "full" pressure that means nothing.
    assert names == {f"{PREFIX}_cpu_usage_seconds_total", f"{PREFIX}_info"}
    names = {n for n, path in parse(written(host)) if path == "/system.slice/_cpu.service"}
    assert f"{PREFIX}_cpu_quota_cores" not in names
    assert f"{PREFIX}_cpu_stalled_seconds_total" not in names


def test_counters_that_the_kernel_prints_negative_go_on_rising(host: Path) -> None:
    samples = parse(written(host))
    path = "/system.slice/wrapped.service"
    assert samples[f"{PREFIX}_cpu_periods_total", path][0] == 2**31
    assert samples[f"{PREFIX}_cpu_throttled_periods_total", path][0] == 2**31 - 1


def test_whose_a_cgroup_is(host: Path) -> None:
    info = {
        path: labels
        for (name, path), (_, labels) in parse(written(host)).items()
        if name == f"{PREFIX}_info"
    }
    assert info["/system.slice/api.service/worker"]["unit"] == "api.service"
    container = info[f"/{POD}/cri-containerd-{CONTAINER}.scope"]
    assert (container["container"], container["pod_uid"]) == (CONTAINER, UID)
    assert set(container) == {"cgroup", "unit", "container", "pod_uid"}
    assert info[f"/{POD}"]["pod_uid"] == UID
    assert info["/"] == {"cgroup": "/", "unit": "", "container": "", "pod_uid": ""}


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/", ""),
        ("/system.slice", "system.slice"),
        ("/a.slice/a-b.slice", "a-b.slice"),
        ("/system.slice/web.service/inner.service", "web.service"),
        ("/system.slice/_cpu.service", "cpu.service"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", "user@1000.service"),
        ("/docker/abc", ""),
        ("/system.slice/strange/x.service", ""),
    ],
)
def test_the_unit_is_the_first_part_below_slices(path: str, unit: str) -> None:
    assert unit_of(path) == unit


def test_names_with_quotes_newlines_and_stray_bytes(host: Path) -> None:
    top = host / "sys/fs/cgroup"
    make_group(top, b"byte-\xff", "max 100000", (1, 0, 0, 0))
    paths = {path for _, path in parse(written(host))}
    assert '/odd "quoted" \\ back\nslash' in paths
    assert "/byte-\\xff" in paths
    # One more that would look the same: Prometheus refuses a scrape with a series twice.
    make_group(top, "byte-\\xff", "max 100000", (1, 0, 0, 0))
    reading = HostReader(HostRoot(host)).read()
    assert sum(group.path == "/byte-\\xff" for group in reading.groups) == 1
    assert [p.reason for p in reading.problems] == ["another cgroup has the same label"]


def test_the_text_is_what_the_library_writes(host: Path) -> None:
    registry = CollectorRegistry()
    registry.register(HostCollector(HostReader(HostRoot(host)).read, lambda _reading: None))
    assert parse(generate_latest(registry).decode()) == parse(written(host))


@needs("promtool")
def test_promtool_has_nothing_to_say(host: Path) -> None:
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=written(host),
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_five_thousand_cgroups_and_some_that_vanish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "sys/fs/cgroup"
    top.mkdir(parents=True)
    (top / "cgroup.controllers").write_text("cpu\n")
    for number in range(5000):
        make_group(top, f"many.slice/u{number}.service", "50000 100000", (number, 10, 1, 5))
    root = HostRoot(tmp_path)
    entries = HostRoot.entries

    def listed(self: HostRoot, path: str) -> object:
        found = entries(self, path)
        if path.endswith("many.slice"):
            for gone in range(0, 5000, 100):
                shutil.rmtree(top / f"many.slice/u{gone}.service")
        return found

    monkeypatch.setattr(HostRoot, "entries", listed)
    reading = HostReader(root).read()
    assert len(reading.groups) == 1 + 1 + 5000 - 50
    assert reading.problems == ()


def test_the_file_is_replaced_in_one_step_and_everybody_may_read_it(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "quota_advisor.prom"
    output.write_text("old\n")
    old = output.stat().st_ino
    mask = os.umask(0o022)
    try:
        assert run(["export", "textfile", "--root", str(host), "--output", str(output)]) == 0
    finally:
        os.umask(mask)
    assert output.stat().st_ino != old
    assert stat.S_IMODE(output.stat().st_mode) == 0o644
    assert parse(output.read_text())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["host", "quota_advisor.prom"]


def test_what_cannot_be_written_or_read_is_said_and_leaves_the_old_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "a.prom"
    output.write_text("old\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(["export", "textfile", "--root", str(empty), "--output", str(output)]) == 3
    assert "no cgroup hierarchy" in capsys.readouterr().err
    assert output.read_text() == "old\n"
    missing = tmp_path / "no/such/a.prom"
    assert run(["export", "textfile", "--root", str(empty), "--output", str(missing)]) == 3
    assert f"{missing}: cannot be written: no such file or directory" in capsys.readouterr().err


def test_a_file_that_node_exporter_would_not_read_gets_a_word(
    host: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["export", "textfile", "--root", str(host), "--output", "metrics.txt"]) == 0
    assert "files that end in .prom" in capsys.readouterr().err
