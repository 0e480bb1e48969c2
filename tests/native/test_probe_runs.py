"""The probe against this machine's own bandwidth control: counters and ratios, not speed."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.collect.host.cgroup_tree import find_hierarchy
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.probe.order import available_cpus
from quota_advisor.sandbox import Sandbox, SandboxError, open_sandbox
from quota_advisor.sandbox.cgroup import HOST
from quota_advisor.sandbox.names import owner_of, this_process

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("measurable")]

PATIENCE_SEC = 600
"""How long a command may take that takes seconds on a quiet machine."""


def probe(*arguments: str) -> subprocess.CompletedProcess[str]:
    # High priority: on a busy machine the quota, not the crowd, must be what limits.
    command = [sys.executable, "-m", "quota_advisor", "probe", "--force", "--priority", "high"]
    return subprocess.run(
        [*command, *arguments], check=False, capture_output=True, text=True, timeout=PATIENCE_SEC
    )


def document_of(*arguments: str) -> dict[str, Any]:
    done = probe(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_two_threads_and_half_a_core_have_the_shape_of_the_field_report() -> None:
    if available_cpus() < 2:
        pytest.skip("needs two CPUs")
    document = document_of("--rounds", "1", "--duration", "2", "--tiers", "0.5,1")

    half, whole = document["runs"]
    for run, cores in ((half, 0.5), (whole, 1.0)):
        allowed_usec = cores * run["load"]["wall_ns"] / 1_000
        assert run["kernel"]["usage_usec"] == pytest.approx(allowed_usec, rel=0.08)
        assert run["kernel"]["usage_usec"] == pytest.approx(
            run["load"]["cpu_user_usec"] + run["load"]["cpu_system_usec"], rel=0.05
        )
    assert half["kernel"]["nr_periods"] >= 20
    assert half["kernel"]["nr_throttled"] >= 0.9 * half["kernel"]["nr_periods"] - 1
    rates = [run["load"]["throughput_req_per_sec"] for run in (half, whole)]
    assert rates[1] / rates[0] == pytest.approx(2, rel=0.2)
    assert half["load"]["lat_p999_ns"] > 20 * half["load"]["lat_p50_ns"]


def test_a_period_and_a_burst_reach_the_kernel(tmp_path: Path) -> None:
    target = tmp_path / "runs.csv"
    done = probe(
        *("--profile", "steady", "--rounds", "2", "--duration", "0.5", "--tiers", "0.5"),
        *("--period", "20ms", "--burst", "10ms", "--format", f"csv={target}"),
    )
    if "this kernel has no" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr

    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert [row["round"] for row in rows] == ["1", "2"]
    for row in rows:
        assert (row["quota_usec"], row["period_usec"], row["burst_usec"]) == (
            *("10000", "20000", "10000"),
        )
        # 0.7 s of load, or more on a busy machine, at 20 ms a period; the timer rests where the
        # group does, and goes on while the load ends.
        most = int(row["wall_usec"]) / 20_000
        assert 10 <= int(row["nr_periods"]) <= 1.5 * most + 10


def test_a_search_ends_with_a_confirmed_quota_and_what_to_write() -> None:
    done = probe(
        *("--slo", "p50=1s", "--rounds", "2", "--duration", "0.3", "--tiers", "0.2,0.4"),
        *("--format", "table"),
    )

    assert done.returncode == 0, done.stderr
    assert "p50 ≤ 1 s is kept from 0.2 cores: in 2 of 2 runs" in done.stdout
    assert "with 95% confidence at least" in done.stdout
    for form in ("CPUQuota=20%", "20000 100000", "limits.cpu: 200m", 'cpus: "0.2"'):
        assert form in done.stdout


def test_a_target_that_no_quota_keeps_is_said_to_be_none() -> None:
    done = probe(
        *("--slo", "p50=1us", "--rounds", "1", "--duration", "0.3", "--tiers", "0.2,0.4"),
    )

    assert done.returncode == 0, done.stderr
    assert "p50 ≤ 1 us is not kept by any quota" in done.stdout


def test_a_profile_from_a_file_is_run(tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text("interval_usec 10000\n2000\n0\n")
    profile = tmp_path / "mine.yaml"
    profile.write_text(
        "name: mine\ntitle: Mine\ndescription: Recorded.\nmode: trace\nthreads: 1\n"
        "trace: trace.txt\ntiers: [0.5]\n"
    )

    (run,) = document_of("--profile", str(profile), "--rounds", "1", "--duration", "0.5")["runs"]

    assert run["load"]["mode"] == "trace"
    assert run["load"]["requests"] > 0


def test_a_machine_that_is_busier_than_allowed_is_left_alone() -> None:
    command = [sys.executable, "-m", "quota_advisor", "probe", "--max-load", "0.1"]
    # On a quiet machine nothing else is busy. Should this test be killed, the loop ends itself.
    with subprocess.Popen(["sh", "-c", "ulimit -t 600; while :; do :; done"]) as busy:
        try:
            done = subprocess.run(
                [*command, "--rounds", "1"],
                check=False,
                capture_output=True,
                text=True,
                timeout=PATIENCE_SEC,
            )
        finally:
            busy.kill()

    assert done.returncode == 3, done.stdout
    assert "this machine is busy" in done.stderr
    assert "--force" in done.stderr


@pytest.fixture
def sandbox() -> Any:
    with open_sandbox("test") as found:
        yield found


def test_limits_can_be_changed_in_any_order(sandbox: Sandbox) -> None:
    with sandbox.group() as group:
        for quota, period, burst in [
            (50_000, 100_000, 50_000),
            (10_000, 20_000, 0),
            (1_000_000, 1_000_000, 1_000_000),
            (1_000, 1_000, 1_000),
            (200_000, 100_000, 0),
        ]:
            try:
                group.set_limit(Bandwidth(quota_usec=quota, period_usec=period), burst)
            except SandboxError as error:
                assert "has no" in error.what  # noqa: PT017 - a kernel without burst
                group.set_limit(Bandwidth(quota_usec=quota, period_usec=period))


def test_a_limit_that_the_kernel_refuses_is_an_error_with_the_file(sandbox: Sandbox) -> None:
    with sandbox.group() as group, pytest.raises(SandboxError, match="does not take '999"):
        group.set_limit(Bandwidth(quota_usec=999, period_usec=100_000))


def test_a_group_carries_the_name_of_its_maker_and_is_gone_afterwards(sandbox: Sandbox) -> None:
    with sandbox.group() as group:
        directories = group.directories
        assert all(owner_of(directory.name) == this_process() for directory in directories)
    assert not any(directory.exists() for directory in directories)


def test_a_group_goes_whatever_happens_in_it(sandbox: Sandbox) -> None:
    with pytest.raises(RuntimeError), sandbox.group() as group:  # noqa: PT012
        directories = group.directories
        raise RuntimeError
    assert not any(directory.exists() for directory in directories)


# Everything is loaded before root is given up: nobody else may be able to read this installation.
WITHOUT_ROOT = """
import os, sys
import quota_advisor.probe.order, quota_advisor.probe.session
from quota_advisor import cli
cli.run(["probe", "--list"])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sys.exit(cli.run(["probe", "--force"]))
"""


def test_without_root_it_ends_with_three_and_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOT],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SEC,
    )
    if "is not installed" in done.stderr or "is no program" in done.stderr:
        pytest.skip("another user cannot read this installation")

    assert done.returncode == 3, done.stderr
    assert done.stderr.endswith("made by root: run it with sudo\n")


def test_nothing_of_all_this_is_left() -> None:
    hierarchy = find_hierarchy(HOST)
    assert not isinstance(hierarchy, Missing)
    ours = this_process()
    names = [name for _, names, _ in os.walk(hierarchy.cpu) for name in names]
    assert [name for name in names if owner_of(name) == ours] == []
