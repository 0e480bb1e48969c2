"""Which hierarchy holds the CPU controller, and which cgroups there are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quota_advisor.collect.host.cgroup_tree import (
    CpuHierarchy,
    find_hierarchy,
    find_tree,
    lineage,
    list_tree,
)
from quota_advisor.collect.host.root import Entry, HostRoot
from quota_advisor.model.limit import Missing
from quota_advisor.model.node import CgroupLayout

V1_MOUNTS = """\
tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0
"""
SPLIT_MOUNTS = """\
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup /sys/fs/cgroup/cpuacct cgroup rw,relatime,cpuacct 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""
V2_MOUNTS = """\
cgroup2 /host/sys/fs/cgroup cgroup2 ro 0 0
cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0
"""


class Live(HostRoot):
    """A running host as far as its mounts go: the rest lies below a directory."""

    @property
    def live(self) -> bool:
        return True

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        return os.open(self._prefix + path, flags)


class Guarded(HostRoot):
    """A host with a directory that may not be listed."""

    def entries(self, path: str) -> list[Entry]:
        if path.endswith("/secret"):
            raise PermissionError(13, "Permission denied", path)
        return super().entries(path)


def plant(top: Path, files: dict[str, str]) -> HostRoot:
    for name, text in files.items():
        path = top / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return HostRoot(top)


def hierarchy_of(root: HostRoot) -> CpuHierarchy:
    found = find_hierarchy(root)
    assert isinstance(found, CpuHierarchy), found
    return found


def mounted(top: Path, mounts: str, files: dict[str, str] | None = None) -> CpuHierarchy | Missing:
    plant(top, {"/proc/self/mounts": mounts, **(files or {})})
    return find_hierarchy(Live(top))


def test_v1_with_cpu_and_cpuacct_in_one_mount(tmp_path: Path) -> None:
    found = mounted(tmp_path, V1_MOUNTS)

    assert isinstance(found, CpuHierarchy)
    assert (found.layout, found.version) == (CgroupLayout.V1, 1)
    assert found.cpu == found.cpuacct == "/sys/fs/cgroup/cpu,cpuacct"
    assert found.cpuset == "/sys/fs/cgroup/cpuset"
    assert isinstance(found.pressure, Missing)


def test_hybrid_with_each_controller_in_a_mount_of_its_own(tmp_path: Path) -> None:
    found = mounted(tmp_path, SPLIT_MOUNTS)

    assert isinstance(found, CpuHierarchy)
    assert (found.layout, found.version) == (CgroupLayout.HYBRID, 1)
    assert found.cpu == "/sys/fs/cgroup/cpu"
    assert found.cpuacct == "/sys/fs/cgroup/cpuacct"
    assert found.pressure == "/sys/fs/cgroup/unified"


def test_v2_in_the_usual_place_wins_over_a_second_mount(tmp_path: Path) -> None:
    files = {"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory\n"}

    found = mounted(tmp_path, V2_MOUNTS, files)

    assert isinstance(found, CpuHierarchy)
    assert (found.layout, found.version) == (CgroupLayout.V2, 2)
    assert found.cpu == found.cpuacct == found.cpuset == found.pressure == "/sys/fs/cgroup"


def test_a_mount_point_with_a_space_is_decoded(tmp_path: Path) -> None:
    found = mounted(tmp_path, r"cgroup /my\040groups cgroup rw,cpu 0 0" + "\n")

    assert isinstance(found, CpuHierarchy)
    assert found.cpu == "/my groups"
    assert isinstance(found.cpuacct, Missing)


@pytest.mark.parametrize("mounts", ["", "proc /proc proc rw 0 0\n", "garbage\n"])
def test_without_a_cpu_controller_the_reason_is_told(tmp_path: Path, mounts: str) -> None:
    found = mounted(tmp_path, mounts)

    assert isinstance(found, Missing)
    assert "cpu controller" in found.reason


@pytest.mark.parametrize("base", ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"])
def test_v2_without_the_cpu_controller_is_looked_at_all_the_same(tmp_path: Path, base: str) -> None:
    root = plant(
        tmp_path, {f"{base}/cgroup.controllers": "memory pids\n", f"{base}/a/cpu.stat": ""}
    )

    found = find_tree(root)

    assert not isinstance(found, Missing)
    assert (found.hierarchy.cpu, found.paths) == (base, ("/", "/a"))


def test_a_mounted_v2_without_the_cpu_controller_is_looked_at(tmp_path: Path) -> None:
    found = mounted(tmp_path, V2_MOUNTS, {"/sys/fs/cgroup/cgroup.controllers": "memory\n"})

    assert isinstance(found, CpuHierarchy)
    assert found.version == 2


def test_no_hierarchy_is_missing(tmp_path: Path) -> None:
    found = find_tree(plant(tmp_path, {"/sys/fs/cgroup/memory/tasks": ""}))

    assert isinstance(found, Missing)
    assert "/sys/fs/cgroup" in found.reason


def test_below_a_root_v2_is_recognised_by_its_files(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/sys/fs/cgroup/cgroup.controllers": "cpu\n"})

    assert hierarchy_of(root).layout is CgroupLayout.V2


def test_below_a_root_v1_is_recognised_through_the_links_of_distributions(tmp_path: Path) -> None:
    base = "/sys/fs/cgroup/cpu,cpuacct"
    root = plant(tmp_path, {f"{base}/cpu.cfs_quota_us": "-1\n", f"{base}/cpuacct.usage": "0\n"})
    (tmp_path / "sys/fs/cgroup/cpu").symlink_to("cpu,cpuacct")

    found = hierarchy_of(root)

    assert found.layout is CgroupLayout.V1
    assert root.resolve(found.cpu) == base


def test_below_a_root_hybrid_is_recognised_by_its_files(tmp_path: Path) -> None:
    base = "/sys/fs/cgroup"
    root = plant(
        tmp_path,
        {
            f"{base}/cpu/cpu.cfs_quota_us": "-1\n",
            f"{base}/cpuacct/cpuacct.usage": "0\n",
            f"{base}/cpuset/cpuset.cpus": "0-1\n",
            f"{base}/unified/cgroup.controllers": "\n",
        },
    )

    found = hierarchy_of(root)

    assert found.layout is CgroupLayout.HYBRID
    assert (found.cpuacct, found.cpuset) == (f"{base}/cpuacct", f"{base}/cpuset")


def test_an_image_without_cgroups_is_missing(tmp_path: Path) -> None:
    assert isinstance(find_tree(HostRoot(tmp_path)), Missing)


def test_parents_come_before_children_and_odd_names_are_kept(tmp_path: Path) -> None:
    base = tmp_path / "sys/fs/cgroup"
    root = plant(tmp_path, {"/sys/fs/cgroup/cgroup.controllers": "cpu\n"})
    odd = [r"system.slice/dev-disk-by\x2duuid.swap", "system.slice/a b.service", "user.slice"]
    for name in odd:
        (base / name).mkdir(parents=True)
    os.mkdir(os.fsencode(base) + b"/latin-\xe9")  # noqa: PTH102 - a name of raw bytes

    tree = find_tree(root)

    assert not isinstance(tree, Missing)
    assert tree.paths == (
        "/",
        "/latin-\udce9",
        "/system.slice",
        "/system.slice/a b.service",
        r"/system.slice/dev-disk-by\x2duuid.swap",
        "/user.slice",
    )


def test_links_are_not_followed(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/sys/fs/cgroup/cgroup.controllers": "cpu\n"})
    (tmp_path / "sys/fs/cgroup/loop").symlink_to(".")

    assert list_tree(root, hierarchy_of(root)).paths == ("/",)


def test_a_deep_tree_is_listed(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/sys/fs/cgroup/cgroup.controllers": "cpu\n"})
    (tmp_path / "sys/fs/cgroup" / "/".join("d" * 500)).mkdir(parents=True)

    assert len(list_tree(root, hierarchy_of(root)).paths) == 501


def test_a_directory_that_may_not_be_listed_is_a_problem(tmp_path: Path) -> None:
    plant(tmp_path, {"/sys/fs/cgroup/cgroup.controllers": "cpu\n"})
    (tmp_path / "sys/fs/cgroup/secret").mkdir()
    root = Guarded(tmp_path)

    tree = list_tree(root, hierarchy_of(root))

    assert tree.paths == ("/", "/secret")
    assert [p.subject for p in tree.problems] == ["/sys/fs/cgroup/secret"]


def test_lineage_ends_at_the_root() -> None:
    assert lineage("/a/b") == ("/a/b", "/a", "/")
    assert lineage("/") == ("/",)
