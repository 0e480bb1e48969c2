"""What the files of one cgroup mean, and what happens when they lie, hide or vanish."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from quota_advisor.collect.host.cgroup_files import (
    CounterReading,
    GroupReading,
    GroupSettings,
    is_realtime,
    parse_cfs_quota,
    parse_cpu_max,
    parse_pressure,
    parse_stat,
    read_counters,
    read_group,
    read_limit,
)
from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, find_hierarchy
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited

V2 = "/sys/fs/cgroup"
V2_ROOT = {f"{V2}/cgroup.controllers": "cpuset cpu memory\n", f"{V2}/cpu.stat": "usage_usec 5\n"}
V1_ROOT = {
    f"{V2}/cpu/cpu.cfs_quota_us": "-1\n",
    f"{V2}/cpu/cpu.cfs_period_us": "100000\n",
    f"{V2}/cpuacct/cpuacct.usage": "9000\n",
    f"{V2}/cpuset/cpuset.cpus": "0-1\n",
    f"{V2}/cpuset/cpuset.effective_cpus": "0-1\n",
}


class Failing(HostRoot):
    """A host on which reading some files fails in a chosen way."""

    def __init__(self, directory: Path, failures: dict[str, int]) -> None:
        super().__init__(directory)
        self.failures = failures

    def read_in(self, directory: int, name: str) -> str:
        number = self.failures.get(name)
        if number is not None:
            raise OSError(number, os.strerror(number), name)
        return super().read_in(directory, name)


def plant(top: Path, files: dict[str, str]) -> HostRoot:
    for name, text in files.items():
        path = top / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostRoot(top)


def v2(top: Path, group: str, files: dict[str, str]) -> HostRoot:
    named = {f"{V2}{group}/{name}": text for name, text in files.items()}
    return plant(top, V2_ROOT | named)


def v1(top: Path, group: str, files: dict[str, str]) -> HostRoot:
    named = {f"{V2}/{name.split('.')[0]}{group}/{name}": text for name, text in files.items()}
    return plant(top, V1_ROOT | named)


def hierarchy(root: HostRoot) -> CpuHierarchy:
    found = find_hierarchy(root)
    assert isinstance(found, CpuHierarchy)
    return found


def whole(root: HostRoot, path: str) -> GroupReading:
    found = read_group(root, hierarchy(root), path, lambda: 7)
    assert found is not None
    return found


def settings(root: HostRoot, path: str) -> GroupSettings:
    return whole(root, path).settings


def counters(root: HostRoot, path: str) -> CounterReading:
    found = read_counters(root, hierarchy(root), path, lambda: 7)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max 100000\n", Unlimited()),
        ("50000 100000\n", Bandwidth(quota_usec=50_000, period_usec=100_000)),
        ("41700 100000\n", Bandwidth(quota_usec=41_700, period_usec=100_000)),
        ("200000 1000000\n", Bandwidth(quota_usec=200_000, period_usec=1_000_000)),
        ("99 888", Bandwidth(quota_usec=99, period_usec=888)),
    ],
)
def test_cpu_max(text: str, limit: Bandwidth | Unlimited) -> None:
    assert parse_cpu_max(text) == limit


MALFORMED = ["", "max", "99", "-1 888", "0 100000", "50000 0", "50000 max", "1 2 3", "a b",
             "1_0 100", "+5 100", "\u0665 100", "9" * 30 + " 100"]  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_cpu_max_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the reader names file and text
        parse_cpu_max(text)


@pytest.mark.parametrize("text", ["", "-2", "0", "max", "1 2"])
def test_malformed_v1_quota_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the reader names file and text
        parse_cfs_quota(text)


@pytest.mark.parametrize(
    ("periods", "throttled", "nsec", "percent"),
    [
        (66927, 25803, 2075541442327, 38.6),
        (3076, 34, 12070000, 1.1),
        (43210, 31889, 2874651000, 73.8),
        (542100, 184520, 4851230000000, 34.0),
        (128040, 41732, 986543210123, 32.6),
    ],
)
def test_v1_counters_of_the_field(
    tmp_path: Path, periods: int, throttled: int, nsec: int, percent: float
) -> None:
    text = f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time {nsec}\nwait_sum 4\n"
    root = v1(tmp_path, "/a", {"cpu.stat": text, "cpuacct.usage": "123456789\n"})

    found = counters(root, "/a").counters

    assert isinstance(found.nr_periods, int)
    assert isinstance(found.nr_throttled, int)
    assert (found.nr_periods, found.nr_throttled) == (periods, throttled)
    assert round(found.nr_throttled * 100 / found.nr_periods, 1) == percent
    assert found.throttled_usec == nsec // 1000
    assert found.usage_usec == 123_456


def test_v2_counters_of_the_field(tmp_path: Path) -> None:
    text = (
        "usage_usec 700\nuser_usec 1\nsystem_usec 2\nnice_usec 0\n"
        "core_sched.force_idle_usec 0\nnr_periods 184302\nnr_throttled 121957\n"
        "throttled_usec 98421350\nnr_bursts 6\nburst_usec 300000\n"
    )
    root = v2(tmp_path, "/a", {"cpu.stat": text, "cpu.stat.local": "throttled_usec 1418500\n"})

    found = counters(root, "/a").counters

    assert (found.read_at_usec, found.usage_usec) == (7, 700)
    assert (found.nr_periods, found.nr_throttled) == (184302, 121957)
    assert (found.throttled_usec, found.local_throttled_usec) == (98_421_350, 1_418_500)
    assert (found.nr_bursts, found.burst_usec) == (6, 300_000)


def test_v1_times_are_nanoseconds_everywhere(tmp_path: Path) -> None:
    stat = "nr_periods 1\nnr_throttled 0\nthrottled_time 0\nnr_bursts 3\nburst_time 1190000000\n"
    local = {"cpu.stat": stat, "cpu.stat.local": "throttled_time 1418500047\n"}
    root = v1(tmp_path, "/a", {**local, "cpuacct.usage": "1\n"})

    found = counters(root, "/a").counters

    assert (found.burst_usec, found.local_throttled_usec) == (1_190_000, 1_418_500)


def test_without_the_controller_counters_are_missing_not_zero(tmp_path: Path) -> None:
    root = v2(tmp_path, "/a", {"cpu.stat": "usage_usec 700\n", "cpu.stat.local": ""})

    reading = whole(root, "/a")

    assert reading.counters.usage_usec == 700
    assert isinstance(reading.counters.nr_periods, Missing)
    assert isinstance(reading.counters.local_throttled_usec, Missing)
    assert isinstance(reading.counters.pressure_some_usec, Missing)
    assert reading.problems == ()


def test_wrapped_int_counters_are_taken_and_negative_times_are_not() -> None:
    assert parse_stat("nr_periods -2147483648\nnr_throttled -5\n") == {
        "nr_periods": -2147483648,
        "nr_throttled": -5,
    }
    with pytest.raises(ValueError, match="-5"):
        parse_stat("throttled_usec -5\n")


def test_malformed_counters_are_missing_and_a_problem(tmp_path: Path) -> None:
    root = v2(tmp_path, "/a", {"cpu.stat": "usage_usec 7\nnr_periods many\n"})

    reading = whole(root, "/a")

    assert isinstance(reading.counters.usage_usec, Missing)
    assert [p.subject for p in reading.problems] == [f"{V2}/a/cpu.stat"]
    assert "nr_periods many" in reading.problems[0].reason


def test_pressure_totals() -> None:
    text = (
        "some avg10=0.80 avg60=0.37 avg300=0.27 total=4723150\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=2256500\n"
    )
    assert parse_pressure(text) == {"some": 4_723_150, "full": 2_256_500}
    assert parse_pressure(text.splitlines()[0]) == {"some": 4_723_150}
    with pytest.raises(ValueError):  # noqa: PT011
        parse_pressure("some avg10=0\n")


def test_the_v2_root_is_unlimited_not_missing(tmp_path: Path) -> None:
    found = whole(v2(tmp_path, "/a", {"cpu.max": "max 100000\n"}), "/")

    assert found.settings.limit == Unlimited()
    assert found.problems == ()


def test_a_container_sees_the_limit_of_its_own_root(tmp_path: Path) -> None:
    root = v2(tmp_path, "", {"cpu.max": "200000 100000\n"})

    assert settings(root, "/").limit == Bandwidth(quota_usec=200_000, period_usec=100_000)


def test_the_v1_root_is_unlimited(tmp_path: Path) -> None:
    assert settings(plant(tmp_path, V1_ROOT), "/").limit == Unlimited()


def test_a_v1_kernel_without_bandwidth_control_limits_nothing(tmp_path: Path) -> None:
    root = plant(tmp_path, {**V1_ROOT, f"{V2}/cpu/a/cpu.shares": "1024\n"})

    found = settings(root, "/a")

    assert (found.limit, found.weight) == (Unlimited(), 1024)


def thread_stat(name: str, policy: int) -> str:
    """Return ``/proc/TID/stat`` of a thread, as the kernel of this machine writes it."""
    own = Path("/proc/self/stat").read_text()
    fields = own.rpartition(")")[2].split()
    fields[38] = str(policy)
    return f"4711 ({name}) {' '.join(fields)}\n"


@pytest.mark.parametrize(
    ("policy", "escapes"), [(0, False), (1, True), (2, True), (3, False), (6, True), (7, False)]
)
def test_real_time_and_deadline_threads_escape(policy: int, escapes: object) -> None:
    assert is_realtime(thread_stat("a) 1 (b", policy)) is escapes


def test_a_cut_line_names_no_policy() -> None:
    assert not is_realtime("4711 (a) S 1")


def test_the_policy_is_where_this_kernel_puts_it() -> None:
    stat = Path("/proc/self/stat").read_text()
    assert stat.rpartition(")")[2].split()[38] == str(os.sched_getscheduler(0))


def test_real_time_threads_of_a_limited_group_are_counted(tmp_path: Path) -> None:
    files = {"cpu.max": "50000 100000\n", "cgroup.threads": "7\n8\n9\n"}
    root = v2(tmp_path, "/a", files)
    plant(tmp_path, {f"/proc/{tid}/stat": thread_stat("x", tid % 2) for tid in (7, 8)})

    assert settings(root, "/a").realtime_threads == 1


def test_policies_are_not_read_where_nothing_binds(tmp_path: Path) -> None:
    root = v2(tmp_path, "/a", {"cpu.max": "max 100000\n", "cgroup.threads": "7\n"})

    assert isinstance(settings(root, "/a").realtime_threads, Missing)


def test_a_child_without_cpu_max_is_unlimited_itself(tmp_path: Path) -> None:
    root = v2(tmp_path, "/p.slice", {"cpu.max": "30000 100000\n"})
    plant(tmp_path, {f"{V2}/p.slice/c.service/cpu.stat": "usage_usec 1\n"})

    assert settings(root, "/p.slice/c.service").limit == Unlimited()
    assert settings(root, "/p.slice").limit == Bandwidth(quota_usec=30_000, period_usec=100_000)


@pytest.mark.parametrize(
    "name", ["tmp.mount", r"dev-disk-by\x2duuid.swap", "docker.socket", "a b.service"]
)
def test_units_of_every_type_are_read_alike(tmp_path: Path, name: str) -> None:
    root = v2(tmp_path, f"/system.slice/{name}", {"cpu.max": "10000 100000\n"})

    found = whole(root, f"/system.slice/{name}")

    assert found.settings.limit == Bandwidth(quota_usec=10_000, period_usec=100_000)
    assert found.sources[0].locator == f"{V2}/system.slice/{name}/cpu.max"
    assert found.sources[0].raw == "10000 100000\n"


def test_a_name_that_is_no_utf8_is_read(tmp_path: Path) -> None:
    v2(tmp_path, "/a", {"cpu.max": "10000 100000\n"})
    base = os.fsencode(tmp_path) + V2.encode()
    os.rename(base + b"/a", base + b"/\xe9")  # noqa: PTH104 - names of raw bytes

    found = settings(HostRoot(tmp_path), "/\udce9")

    assert found.limit == Bandwidth(quota_usec=10_000, period_usec=100_000)


def test_a_unit_of_ten_percent_on_v1(tmp_path: Path) -> None:
    files = {
        "cpu.cfs_quota_us": "10000\n",
        "cpu.cfs_period_us": "100000\n",
        "cpu.cfs_burst_us": "5000\n",
        "cpu.shares": "512\n",
        "cpuset.effective_cpus": "0\n",
    }
    found = settings(v1(tmp_path, "/a", files), "/a")

    assert found.limit == Bandwidth(quota_usec=10_000, period_usec=100_000)
    assert (found.burst_usec, found.weight, found.cpus) == (5_000, 512, (0,))


@pytest.mark.parametrize("text", ["fifty 100000\n", "99\n", "-1 888\n", "\x00\n"])
def test_a_malformed_limit_is_missing_and_names_file_and_text(tmp_path: Path, text: str) -> None:
    found = whole(v2(tmp_path, "/a", {"cpu.max": text}), "/a")

    assert isinstance(found.settings.limit, Missing)
    assert [p.subject for p in found.problems] == [f"{V2}/a/cpu.max"]
    assert repr(text.strip()) in found.problems[0].reason


def test_a_malformed_v1_period_makes_no_limit(tmp_path: Path) -> None:
    files = {"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "soon\n"}

    found = whole(v1(tmp_path, "/a", files), "/a")

    assert isinstance(found.settings.limit, Missing)
    assert found.problems[0].subject == f"{V2}/cpu/a/cpu.cfs_period_us"


def test_a_file_that_may_not_be_read_is_missing_and_a_problem(tmp_path: Path) -> None:
    v2(tmp_path, "/a", {"cpu.max": "50000 100000\n", "cpu.stat": "usage_usec 1\n"})
    root = Failing(tmp_path, {"cpu.max": errno.EACCES})

    found = whole(root, "/a")

    assert isinstance(found.settings.limit, Missing)
    assert (found.problems[0].subject, found.problems[0].reason) == (
        f"{V2}/a/cpu.max",
        "permission denied",
    )


def test_pressure_switched_off_is_no_problem(tmp_path: Path) -> None:
    v2(tmp_path, "/a", {"cpu.stat": "usage_usec 1\n"})
    root = Failing(tmp_path, {"cpu.pressure": errno.EOPNOTSUPP})

    reading = whole(root, "/a")

    assert isinstance(reading.counters.pressure_some_usec, Missing)
    assert reading.problems == ()


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    root = v2(tmp_path, "/a", {"cpu.stat": "usage_usec 1\n" * 400_000})

    reading = whole(root, "/a")

    assert isinstance(reading.counters.usage_usec, Missing)
    assert "larger than 4 mib" in reading.problems[0].reason.lower()


def test_a_vanished_cgroup_is_dropped_quietly(tmp_path: Path) -> None:
    root = v2(tmp_path, "/a", {"cpu.max": "50000 100000\n"})
    found = hierarchy(root)
    shutil.rmtree(tmp_path / "sys/fs/cgroup/a")

    assert read_group(root, found, "/a", lambda: 0) is None
    assert read_counters(root, found, "/a", lambda: 0) is None
    assert read_limit(root, found, "/a") is None


def test_a_cgroup_that_vanishes_while_it_is_read_is_dropped_quietly(tmp_path: Path) -> None:
    v2(tmp_path, "/a", {"cpu.max": "50000 100000\n"})
    root = Failing(tmp_path, {"cpu.stat": errno.ENODEV})

    assert read_counters(root, hierarchy(root), "/a", lambda: 0) is None


def test_cpus_come_from_the_nearest_cpuset_above(tmp_path: Path) -> None:
    root = v2(tmp_path, "/p", {"cpuset.cpus.effective": "2-3\n"})
    plant(tmp_path, {f"{V2}/p/c/cpu.max": "max 100000\n"})

    assert settings(root, "/p/c").cpus == (2, 3)
    assert isinstance(settings(root, "/").cpus, Missing)


def test_on_v1_a_group_outside_the_cpuset_hierarchy_says_nothing(tmp_path: Path) -> None:
    root = v1(tmp_path, "/a", {"cpu.cfs_quota_us": "-1\n"})

    assert isinstance(settings(root, "/a").cpus, Missing)


def test_processes_threads_and_commands(tmp_path: Path) -> None:
    root = v2(
        tmp_path,
        "/a",
        {"cgroup.procs": "10\n11\n12\n0\n99\n", "cgroup.threads": "10\n11\n12\n13\n14\n"},
    )
    comms = {"10": "gunicorn\n", "11": "my worker\n", "12": "gunicorn\n"}
    plant(tmp_path, {f"/proc/{pid}/comm": text for pid, text in comms.items()})

    found = settings(root, "/a")

    assert (found.processes, found.threads) == (5, 5)
    assert found.commands == ("gunicorn", "my worker")


def test_v1_counts_threads_by_its_tasks_file(tmp_path: Path) -> None:
    root = v1(tmp_path, "/a", {"cpu.cfs_quota_us": "-1\n"})
    base = f"{V2}/cpu/a"
    plant(tmp_path, {f"{base}/cgroup.procs": "10\n10\n", f"{base}/tasks": "10\n11\n"})

    found = settings(root, "/a")

    assert (found.processes, found.threads) == (1, 2)


def test_on_hybrid_hosts_pressure_comes_from_the_other_hierarchy(tmp_path: Path) -> None:
    root = v1(tmp_path, "/a", {"cpu.cfs_quota_us": "-1\n"})
    unified = f"{V2}/unified"
    plant(
        tmp_path,
        {
            f"{unified}/cgroup.controllers": "\n",
            f"{unified}/a/cpu.pressure": "some avg10=0 total=11\nfull avg10=0 total=5\n",
        },
    )

    found = counters(root, "/a").counters

    assert (found.pressure_some_usec, found.pressure_full_usec) == (11, 5)
