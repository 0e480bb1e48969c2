from __future__ import annotations

import os
from dataclasses import replace

import pytest

from quota_advisor.sandbox.names import (
    Owner,
    is_gone,
    new_name,
    owner_of,
    start_ticks,
    this_process,
)


def test_a_name_tells_who_made_it() -> None:
    assert owner_of(new_name("probe")) == this_process()
    assert owner_of(f"{new_name('demo')}.scope") == this_process()


def test_no_two_names_are_alike() -> None:
    assert new_name("probe") != new_name("probe")


@pytest.mark.parametrize(
    "name",
    [
        "quota-advisor-test-17-abc",
        "quota-advisor-probe-1-2-3",
        "quota-advisor-probe-1-2-3-4-5",
        "quota-advisor-probe-1-2-3-4.service",
        "my-quota-advisor-probe-1-2-3-4",
        "quota-advisor-probe-1-2-x-4",
        "",
    ],
)
def test_other_names_are_nobodys(name: str) -> None:
    assert owner_of(name) is None


def test_a_process_that_runs_is_not_gone() -> None:
    assert not is_gone(this_process())


def test_a_number_that_was_used_again_is_another_process() -> None:
    me = this_process()

    assert is_gone(replace(me, start_ticks=me.start_ticks - 1))


def test_a_process_that_ended_is_gone() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    ticks = start_ticks(pid)
    os.waitpid(pid, 0)

    assert ticks is not None
    assert is_gone(Owner(space=this_process().space, pid=pid, start_ticks=ticks))


def test_nothing_is_said_of_processes_of_another_namespace() -> None:
    me = this_process()

    assert not is_gone(replace(me, space=me.space + 1, pid=2**22 + 1))


def test_the_start_of_no_process_is_not_known() -> None:
    assert start_ticks(2**22 + 1) is None
