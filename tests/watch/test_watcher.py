from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from quota_advisor.cli import run
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.errors import CollectError
from quota_advisor.watch import groups as module
from quota_advisor.watch.groups import Watcher
from quota_advisor.watch.rows import Order, above_text, chosen, limit_text, ratio_text, sparkline
from tests.watch.conftest import Host


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[..., Watcher]


@pytest.fixture
def make(host: Host, clock: Clock) -> Make:
    return lambda *names: Watcher(HostRoot(host.root), names, clock)


def names(watcher: Watcher) -> list[str]:
    return sorted(group.name for group in watcher.groups.values())


def test_what_is_under_a_quota_is_watched_its_own_or_one_above(make: Make) -> None:
    watcher = make()
    watcher.tick()
    assert names(watcher) == ["api.service", "inner.service", "tight.slice"]
    inner = watcher.groups["/tight.slice/inner.service"]
    assert limit_text(inner) == "20%↑"
    assert above_text(inner) == "20% /tight.slice"
    assert limit_text(watcher.groups["/tight.slice"]) == "20%"
    watcher.everything = True
    watcher.rescan()
    watcher.tick()
    assert {"free.service", "system.slice", "/"} <= set(names(watcher))
    assert limit_text(watcher.groups["/system.slice/free.service"]) == "none"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["free"], ["free.service"]),
        (["*.service"], ["api.service", "free.service", "inner.service"]),
        (["/tight.slice/*", "api.service"], ["api.service", "inner.service"]),
        (["nobody"], []),
    ],
)
def test_what_was_named_is_watched(make: Make, wanted: list[str], found: list[str]) -> None:
    watcher = make(*wanted)
    watcher.tick()
    assert names(watcher) == found


def test_groups_and_limits_that_come_and_go(make: Make, host: Host, clock: Clock) -> None:
    watcher = make()
    watcher.tick()
    host.group("system.slice/new.service", "10000 100000")
    host.group("system.slice/free.service", "30000 100000")
    shutil.rmtree(host.top / "system.slice/api.service")
    (host.top / "tight.slice/cpu.max").write_text("max 100000\n")
    clock.now += module.RESCAN_SEC
    watcher.tick()
    assert names(watcher) == ["free.service", "new.service"]


def test_the_worst_comes_first(make: Make, host: Host, clock: Clock) -> None:
    watcher = make()
    watcher.tick()
    clock.now += 1
    host.count("system.slice/api.service", 400_000, 10, 3)
    host.count("tight.slice", 200_000, 10, 9)
    watcher.tick()

    def order(by: Order, text: str = "", *, backwards: bool = False) -> list[str]:
        found = chosen(watcher.groups.values(), by, text, backwards=backwards)
        return [group.name for group in found]

    assert order(Order.THROTTLED) == ["tight.slice", "api.service", "inner.service"]
    assert order(Order.USE)[0] == "api.service"
    assert order(Order.LIMIT)[-1] == "api.service"
    assert order(Order.NAME) == ["api.service", "inner.service", "tight.slice"]
    assert order(Order.NAME, backwards=True)[0] == "tight.slice"
    assert order(Order.NAME, "TIGHT inner") == ["inner.service"]
    assert [Order.THROTTLED, *(o.next for o in Order)][-1] is Order.THROTTLED


def test_a_group_whose_file_says_nonsense_is_dropped(make: Make, host: Host, clock: Clock) -> None:
    watcher = make()
    watcher.tick()
    clock.now += 1
    (host.top / "system.slice/api.service/cpu.stat").write_text("nonsense\n")
    watcher.tick()
    assert "api.service" not in names(watcher)


def test_too_few_files_leave_groups_out_and_are_told(make: Make) -> None:
    watcher = make()
    watcher._most_files = 2 * 5
    watcher.tick()
    assert len(watcher.groups) <= 2
    assert watcher.unwatched > 0


def test_no_hierarchy(host: Host) -> None:
    shutil.rmtree(host.top)
    with pytest.raises(CollectError, match="no cgroup hierarchy"):
        Watcher(HostRoot(host.root))


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(None, "-"), (0.0, "0%"), (0.001, "<1%"), (0.01, "1%"), (0.999, "99%"), (1.0, "100%")],
)
def test_neither_nothing_nor_everything_by_rounding(ratio: float | None, text: str) -> None:
    assert ratio_text(ratio) == text


def test_sparklines() -> None:
    assert sparkline([], 1.0, 4, " 12") == "    "
    assert sparkline([0, 0.01, 0.5, 1.0], 1.0, 4, " 12") == " 112"
    assert sparkline([1, 2, 4], 1.0, 2, " 1234") == "24"


def test_lines_for_a_pipe(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.count("system.slice/api.service", 1, 10, 4)
    arguments = ["watch", "--root", str(host.root), "--interval", "0.1", "--count", "2", "api"]
    assert run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "api.service: limit 50%, now 0%, peak 0%, throttled 1s - 10s - 60s -" in lines[0]
    assert run([*arguments[:-1], "--count", "1"]) == 0
    assert capsys.readouterr().out.endswith("nothing that is watched uses the CPU\n")
