from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from quota_advisor.sandbox import SandboxError, removal
from quota_advisor.sandbox.names import Owner, new_name, this_process
from quota_advisor.sandbox.removal import make, remove, remove_orphans


def name_of(owner: Owner, purpose: str = "probe") -> str:
    return f"quota-advisor-{purpose}-{owner.space}-{owner.pid}-{owner.start_ticks}-1"


@pytest.fixture
def dead() -> Owner:
    return replace(this_process(), start_ticks=1)


def test_an_orphan_is_removed(tmp_path: Path, dead: Owner) -> None:
    (tmp_path / name_of(dead)).mkdir()

    assert remove_orphans([tmp_path]) == []
    assert list(tmp_path.iterdir()) == []


def test_an_orphan_is_removed_with_what_is_in_it(tmp_path: Path, dead: Owner) -> None:
    scope = tmp_path / f"{name_of(dead)}.scope"
    (scope / "waiting").mkdir(parents=True)

    assert remove_orphans([tmp_path]) == []
    assert list(tmp_path.iterdir()) == []


def test_a_group_whose_maker_runs_stays(tmp_path: Path) -> None:
    (tmp_path / new_name("probe")).mkdir()

    assert remove_orphans([tmp_path]) == []
    assert len(list(tmp_path.iterdir())) == 1


def test_a_group_of_another_name_stays(tmp_path: Path) -> None:
    (tmp_path / "system.slice").mkdir()

    remove_orphans([tmp_path])

    assert (tmp_path / "system.slice").is_dir()


def test_an_orphan_with_a_process_that_is_not_ours_stays(tmp_path: Path, dead: Owner) -> None:
    orphan = tmp_path / name_of(dead)
    orphan.mkdir()
    (orphan / "cgroup.procs").write_text(f"{os.getpid()}\n")

    assert remove_orphans([tmp_path]) == [orphan]


def test_no_place_to_look_in_is_no_orphan(tmp_path: Path) -> None:
    assert remove_orphans([tmp_path / "nowhere"]) == []


def test_what_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "PATIENCE_SEC", 0.05)
    group = make(tmp_path / "group")
    (group / "cgroup.procs").write_text(f"{os.getpid()}\n")

    with pytest.raises(SandboxError, match=rf"group cannot be removed .*{os.getpid()}"):
        remove([group])
    (group / "cgroup.procs").unlink()
    remove([group])


def test_a_group_that_somebody_else_removed_is_removed(tmp_path: Path) -> None:
    remove([tmp_path / "gone"])
