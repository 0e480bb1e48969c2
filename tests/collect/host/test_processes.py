"""Where a process says that it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from quota_advisor.collect.host.processes import group_of_process, parse_process_group
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.limit import Missing


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("0::/system.slice/api.service\n", "/system.slice/api.service"),
        ("4:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/c\n", "/a"),
        ("5:cpuset:/x\n0::/c\n", "/c"),
        ("0::/a:b/c\n", "/a:b/c"),
    ],
)
def test_the_hierarchy_of_the_cpu_controller_counts(text: str, path: str) -> None:
    assert parse_process_group(text) == path


@pytest.mark.parametrize("text", ["", "0::/../other\n", "0::/gone (deleted)\n", "garbage\n"])
def test_a_path_that_cannot_be_named_from_here_is_missing(text: str) -> None:
    assert isinstance(parse_process_group(text), Missing)


def test_a_process_that_ended_is_missing(tmp_path: Path) -> None:
    assert isinstance(group_of_process(HostRoot(tmp_path), 4711), Missing)


def test_without_a_main_process_there_is_no_group(tmp_path: Path) -> None:
    reason = Missing(reason="this systemd does not report MainPID")
    assert group_of_process(HostRoot(tmp_path), reason) == reason


def test_the_group_of_a_process_below_a_root(tmp_path: Path) -> None:
    place = tmp_path / "proc/4711"
    place.mkdir(parents=True)
    (place / "cgroup").write_text("0::/a\n")
    assert group_of_process(HostRoot(tmp_path), 4711) == "/a"
