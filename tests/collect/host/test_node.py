"""Facts of the machine: isolation, interrupts, features, and shares of the window."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from quota_advisor.collect.host.cgroup_tree import CgroupTree, find_tree
from quota_advisor.collect.host.cmdline import parse_isolation
from quota_advisor.collect.host.node import (
    NEEDS_WINDOW,
    NodeReading,
    collect_node,
    parse_interrupts,
    read_node,
)
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.limit import Missing, Unlimited
from quota_advisor.model.node import CgroupLayout, Isolation, NodeFacts, PressureShare
from quota_advisor.model.problem import Problem

CPU = "/sys/devices/system/cpu"
CGROUP = "/sys/fs/cgroup"
INTERRUPTS = """\
            CPU0       CPU1       CPU2       CPU3
   0:         36          0          0          0   IO-APIC   2-edge      timer
   8:          0          0          0          0   IO-APIC   8-edge
  24:     123456          7          0          0  PCI-MSIX-0000:1f.2   0-edge      nvme0q1, aux 2
  31:          0          0          0          0  xen-dyn    -event     xenbus
  32:          0          0          0          0     GICv3  27 Level     arch_timer
  33:          0          0          0          0     GICv3  28 Level
 NMI:          0          0          0          0   Non-maskable interrupts
 ERR:          0
"""
MACHINE = {
    "/proc/sys/kernel/osrelease": "6.1.0-test\n",
    "/proc/sys/kernel/sched_rt_runtime_us": "950000\n",
    "/proc/sys/kernel/sched_rt_period_us": "1000000\n",
    "/proc/cmdline": "quiet isolcpus=managed_irq,domain,2-3 nohz_full=2-3\n",
    "/proc/interrupts": INTERRUPTS,
    "/proc/irq/0/smp_affinity_list": "0-3\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/proc/irq/24/effective_affinity_list": "1\n",
    "/proc/stat": "cpu  100 0 50 800 20 5 5 20 0 0\ncpu0 1 2\n",
    f"{CPU}/online": "0-3\n",
    f"{CPU}/possible": "0-7\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0,2\n",
    f"{CPU}/cpu1/topology/thread_siblings_list": "1,3\n",
    f"{CPU}/cpu2/topology/thread_siblings_list": "0,2\n",
    f"{CPU}/cpu3/topology/thread_siblings_list": "1,3\n",
    "/sys/devices/system/node/node0/cpulist": "0,2\n",
    "/sys/devices/system/node/node1/cpulist": "1,3\n",
    "/sys/devices/system/node/node10/cpulist": "\n",
    "/boot/config-6.1.0-test": "# CONFIG_HZ_100 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n",
}
UNKNOWN = Missing(reason="not asked")


def plant(top: Path, files: dict[str, str]) -> HostRoot:
    for name, text in files.items():
        path = top / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostRoot(top)


def facts(
    root: HostRoot, first: NodeReading | None = None, last: NodeReading | None = None
) -> tuple[NodeFacts, tuple[Problem, ...]]:
    return collect_node(root, find_tree(root), first or read_node(root, lambda: 0), last, UNKNOWN)


def between(top: Path, before: dict[str, str], after: dict[str, str]) -> NodeFacts:
    """Return the facts over a window of two seconds."""
    first = read_node(plant(top, MACHINE | before), lambda: 1_000_000)
    last = read_node(plant(top, after), lambda: 3_000_000)
    return facts(HostRoot(top), first, last)[0]


def test_a_whole_machine(tmp_path: Path) -> None:
    node, problems = facts(plant(tmp_path, MACHINE))

    assert problems == ()
    assert node.kernel_release == "6.1.0-test"
    assert node.systemd_version == UNKNOWN
    assert node.cpus_online == (0, 1, 2, 3)
    assert node.thread_siblings == ((0, 2), (1, 3))
    assert node.numa_nodes == ((0, 2), (1, 3))
    assert node.tick_hz == 1000
    assert (node.rt_runtime_usec, node.rt_period_usec) == (950_000, 1_000_000)
    assert isinstance(node.layout, Missing)
    source = node.source("sched_rt_runtime_us")
    assert source is not None
    assert source.raw == "950000\n"


def test_an_empty_tree_is_missing_everywhere_and_raises_nothing(tmp_path: Path) -> None:
    node, problems = facts(HostRoot(tmp_path))

    assert problems == ()
    assert (node.kernel_release, node.cpus_online, node.irqs) == ("", (), ())
    assert isinstance(node.tick_hz, Missing)
    assert isinstance(node.isolation, Missing)
    assert isinstance(node.rt_runtime_usec, Missing)
    assert isinstance(node.features.burst, Missing)


def test_malformed_files_are_problems_and_no_facts(tmp_path: Path) -> None:
    bad = {
        "/proc/sys/kernel/sched_rt_runtime_us": "lots\n",
        "/proc/cmdline": "isolcpus=5-2\n",
        f"{CPU}/online": "zero\n",
        "/proc/interrupts": "\x00\n",
        "/proc/stat": "cpu 1 2\ncpu0 1\ncpu1 2\n",
    }
    node, problems = facts(plant(tmp_path, MACHINE | bad))

    assert isinstance(node.rt_runtime_usec, Missing)
    assert isinstance(node.isolation, Missing)
    assert node.cpus_online == (0, 1)
    assert node.irqs == ()
    assert {problem.subject for problem in problems} == set(bad)


def test_unlimited_real_time(tmp_path: Path) -> None:
    root = plant(tmp_path, MACHINE | {"/proc/sys/kernel/sched_rt_runtime_us": "-1\n"})

    assert facts(root)[0].rt_runtime_usec == Unlimited()


# ---- tick


FAIR_SERVER = "/sys/kernel/debug/sched/fair_server"


@pytest.mark.parametrize(
    ("runtimes", "guards"), [(("50000000\n",) * 2, True), (("1\n", "0\n"), False)]
)
def test_the_fair_server_guards_where_every_cpu_has_run_time(
    tmp_path: Path, runtimes: tuple[str, ...], guards: object
) -> None:
    files = {f"{FAIR_SERVER}/cpu{n}/runtime": text for n, text in enumerate(runtimes)}
    assert facts(plant(tmp_path, MACHINE | files))[0].fair_server is guards


def test_a_fair_server_that_cannot_be_seen_is_not_known_and_no_problem(tmp_path: Path) -> None:
    node, problems = facts(plant(tmp_path, MACHINE))
    assert isinstance(node.fair_server, Missing)
    assert not problems


def test_the_tick_comes_from_the_running_kernels_own_configuration(tmp_path: Path) -> None:
    root = plant(tmp_path, MACHINE)
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=250\n"))

    assert facts(root)[0].tick_hz == 250


@pytest.mark.parametrize("data", [b"no gzip", gzip.compress(b"\0" * (64 << 20))])
def test_a_broken_or_huge_configuration_is_passed_over(tmp_path: Path, data: bytes) -> None:
    root = plant(tmp_path, MACHINE)
    (tmp_path / "proc/config.gz").write_bytes(data)

    assert facts(root)[0].tick_hz == 1000


# ---- command line


@pytest.mark.parametrize(
    ("cmdline", "isolcpus", "nohz_full", "rcu_nocbs"),
    [
        ("quiet ro", (), (), ()),
        ("isolcpus=2-3", (2, 3), (), ()),
        ("isolcpus=managed_irq,domain,2-3", (2, 3), (), ()),
        ("isolcpus=nohz,domain,1,3", (1, 3), (1, 3), ()),
        ("nohz_full=1-N rcu_nocbs=all", (), (1, 2, 3), (0, 1, 2, 3)),
        ("isolcpus=all", (0, 1, 2, 3), (), ()),
        ("isolcpus=N", (3,), (), ()),
        ("isolcpus=0-3:1/2", (0, 2), (), ()),
        ("rcu_nocbs", (), (), ()),
        ("rcu-nocbs=1", (), (), (1,)),
        ('"isolcpus=2,3"', (2, 3), (), ()),
        ('x="isolcpus=1" isolcpus=2', (2,), (), ()),
        ("quiet -- isolcpus=1", (), (), ()),
        ("isolcpus=1 isolcpus=2", (1, 2), (), ()),
        ("myisolcpus=1 isolcpus.x=2", (), (), ()),
    ],
)
def test_isolation(
    cmdline: str,
    isolcpus: tuple[int, ...],
    nohz_full: tuple[int, ...],
    rcu_nocbs: tuple[int, ...],
) -> None:
    expected = Isolation(isolcpus=isolcpus, nohz_full=nohz_full, rcu_nocbs=rcu_nocbs)

    assert parse_isolation(cmdline + "\n", last_cpu=3) == expected


@pytest.mark.parametrize("cmdline", ["isolcpus=3-1", "nohz_full=x", "isolcpus=0-99999999"])
def test_a_cpu_list_without_sense_is_refused(cmdline: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the collector names the file
        parse_isolation(cmdline, last_cpu=3)


# ---- interrupts


def test_interrupt_lines_with_somebody_behind_them() -> None:
    assert parse_interrupts(INTERRUPTS) == {
        0: "timer",
        24: "nvme0q1, aux 2",
        31: "xenbus",
        32: "arch_timer",
    }


def test_interrupts_know_where_they_may_go_and_where_they_go(tmp_path: Path) -> None:
    node, _ = facts(plant(tmp_path, MACHINE))

    timer, disk = node.irqs
    assert (timer.number, timer.cpus) == (0, (0, 1, 2, 3))
    assert isinstance(timer.effective_cpus, Missing)
    assert (disk.name, disk.effective_cpus) == ("nvme0q1, aux 2", (1,))


# ---- features


def tree_of(root: HostRoot) -> CgroupTree:
    tree = find_tree(root)
    assert isinstance(tree, CgroupTree)
    return tree


def test_what_the_kernel_is_built_with_and_what_its_command_line_takes_away(tmp_path: Path) -> None:
    config = "# CONFIG_CFS_BANDWIDTH is not set\nCONFIG_RT_GROUP_SCHED=y\nCONFIG_HZ=250\n"
    files = {
        "/boot/config-6.1.0-test": config,
        "/proc/cmdline": "quiet cgroup_disable=memory,cpu cgroup-disable=io -- cgroup_disable=x\n",
    }
    node, _ = facts(plant(tmp_path, MACHINE | files))
    assert (node.features.cfs_bandwidth, node.features.rt_group_sched) == (False, True)
    assert node.disabled_controllers == ("memory", "cpu", "io")


def test_without_a_configuration_nothing_is_known_of_the_build(tmp_path: Path) -> None:
    files = {name: text for name, text in MACHINE.items() if not name.startswith("/boot")}
    features = facts(plant(tmp_path, files))[0].features
    assert isinstance(features.cfs_bandwidth, Missing)
    assert isinstance(features.rt_group_sched, Missing)


@pytest.mark.parametrize(("controllers", "there"), [("cpuset cpu\n", True), ("cpuset\n", False)])
def test_the_controllers_at_the_top(tmp_path: Path, controllers: str, there: object) -> None:
    root = plant(tmp_path, {f"{CGROUP}/cgroup.controllers": controllers})
    assert facts(root)[0].features.cpu_controller is there


def test_features_of_a_modern_v2_kernel(tmp_path: Path) -> None:
    group = f"{CGROUP}/system.slice"
    names = ("cpu.max", "cpu.max.burst", "cpu.stat", "cpu.stat.local", "cpu.pressure")
    files = {f"{group}/{name}": "\n" for name in names}
    root = plant(tmp_path, {f"{CGROUP}/cgroup.controllers": "cpu\n", **files})

    node, _ = facts(root)

    assert node.layout is CgroupLayout.V2
    features = node.features
    assert (features.burst, features.stat_local, features.cgroup_pressure) == (True, True, True)


def test_features_of_an_old_v2_kernel(tmp_path: Path) -> None:
    group = f"{CGROUP}/system.slice"
    files = {f"{group}/cpu.max": "max 100000\n", f"{group}/cpu.stat": "usage_usec 1\n"}
    root = plant(tmp_path, {f"{CGROUP}/cgroup.controllers": "cpu\n", **files})

    features = facts(root)[0].features

    assert (features.burst, features.stat_local, features.cgroup_pressure) == (
        False,
        False,
        False,
    )


def test_a_lone_v2_root_tells_nothing_about_burst(tmp_path: Path) -> None:
    files = {f"{CGROUP}/cgroup.controllers": "cpu\n", f"{CGROUP}/cpu.stat": "usage_usec 1\n"}

    features = facts(plant(tmp_path, files))[0].features

    assert isinstance(features.burst, Missing)
    assert isinstance(features.cgroup_pressure, Missing)


def test_the_v1_root_tells_about_burst(tmp_path: Path) -> None:
    files = {f"{CGROUP}/cpu/cpu.cfs_quota_us": "-1\n", f"{CGROUP}/cpu/cpu.cfs_burst_us": "0\n"}

    features = facts(plant(tmp_path, files))[0].features

    assert (features.burst, features.cgroup_pressure) == (True, False)


# ---- shares of the window


def test_steal_and_busy_over_the_window(tmp_path: Path) -> None:
    node = between(tmp_path, {}, {"/proc/stat": "cpu  150 0 70 900 30 10 10 30 0 0\n"})

    # 50 user, 20 system, 100 idle, 10 iowait, 5 irq, 5 softirq, 10 steal: 200 ticks
    assert node.busy_ratio == pytest.approx(80 / 200)
    assert node.steal_ratio == pytest.approx(10 / 200)


def test_iowait_may_go_back_a_little(tmp_path: Path) -> None:
    node = between(tmp_path, {}, {"/proc/stat": "cpu  150 0 50 850 10 5 5 20 0 0\n"})

    assert node.busy_ratio == pytest.approx(0.5)


@pytest.mark.parametrize(
    "line", ["cpu  100 0 50 800 20 5 5 20 0 0", "cpu  99 0 50 900 20 5 5 20 0 0", "garbage"]
)
def test_no_share_is_made_up(tmp_path: Path, line: str) -> None:
    node = between(tmp_path, {}, {"/proc/stat": line + "\n"})

    assert isinstance(node.busy_ratio, Missing)
    assert isinstance(node.steal_ratio, Missing)


def pressure(some: int, full: int) -> str:
    return f"some avg10=1.00 total={some}\nfull avg10=0.00 total={full}\n"


def test_pressure_is_a_share_of_the_window(tmp_path: Path) -> None:
    names = [f"/proc/pressure/{name}" for name in ("cpu", "io", "memory")]

    node = between(
        tmp_path,
        dict.fromkeys(names, pressure(1000, 500)),
        dict.fromkeys(names, pressure(501_000, 200_500)),
    )

    assert node.io_pressure == PressureShare(some_ratio=0.25, full_ratio=0.1)
    assert node.memory_pressure == node.io_pressure
    assert isinstance(node.cpu_pressure, PressureShare)
    assert node.cpu_pressure.some_ratio == 0.25
    assert isinstance(node.cpu_pressure.full_ratio, Missing)


def test_pressure_that_is_not_there_is_missing(tmp_path: Path) -> None:
    node = between(tmp_path, {}, {"/proc/pressure/io": pressure(5, 5)})

    assert isinstance(node.io_pressure, Missing)
    assert isinstance(node.memory_pressure, Missing)


def test_totals_have_no_shares(tmp_path: Path) -> None:
    node, _ = facts(plant(tmp_path, MACHINE | {"/proc/pressure/io": pressure(5, 5)}))

    assert node.steal_ratio == node.busy_ratio == node.io_pressure == NEEDS_WINDOW
