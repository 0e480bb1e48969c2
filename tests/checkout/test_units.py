"""Unit files of an input are merged as the collector of a host merges them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quota_advisor.checkout.quadlets import merge_quadlets
from quota_advisor.checkout.units import merge_units
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.unit_files import UnitFileReader
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.model.limit import Missing
from quota_advisor.model.unit import UnitConfig, UnitFile
from tests.lint.conftest import Lint

TOPS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system")
NAMES = (
    "a.service", "a-b.service", "a-b-c.service", "a@.service", "a@1.service", "x.slice",
    "a.service.d/10.conf", "a.service.d/90.conf", "a-.service.d/50.conf", "a-b-.service.d/50.conf",
    "service.d/10.conf", "service.d/zz.conf", "slice.d/10.conf", "a@.service.d/10.conf",
    "a@1.service.d/20.conf", "y.service.d/10.conf", "a-b.service.d/10.conf",
)  # fmt: skip
TREES = st.dictionaries(
    st.builds(lambda top, name: f"{top}/{name}", st.sampled_from(TOPS), st.sampled_from(NAMES)),
    st.integers(1, 99),
    max_size=12,
)


def text(percent: int) -> str:
    return f"[Service]\nCPUQuota={percent}%\n[Slice]\nCPUQuota={percent}%\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(TREES)
def test_a_tree_with_the_directories_of_systemd_is_merged_as_on_a_host(
    tmp_path: Path, tree: dict[str, int]
) -> None:
    shutil.rmtree(tmp_path / "host", ignore_errors=True)
    (tmp_path / "host").mkdir()
    for path, percent in tree.items():
        file = tmp_path / "host" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(percent))
    reader = UnitFileReader(HostRoot(tmp_path / "host"))
    merged = units(tree)
    for name in reader.names():
        expected, unit = reader.read(name), merged[name]
        assert unit.drop_ins == expected.drop_ins
        assert isinstance(unit.fragment, Missing) == isinstance(expected.fragment, Missing)
        assert unit.quota_per_sec_usec == expected.quota_per_sec_usec
        assert set(unit.hidden) == set(expected.hidden)


def units(tree: dict[str, int]) -> dict[str, UnitConfig]:
    """Merge the same files as an input."""
    files = [parse_unit_file(path, text(percent).encode()) for path, percent in tree.items()]
    return {unit.name: unit for group in merge_units(files) for unit in group}


def parse(*paths: str) -> list[UnitFile]:
    return [parse_unit_file(path, text(50).encode()) for path in paths]


def test_directories_that_are_not_those_of_systemd_stand_for_themselves() -> None:
    groups = list(merge_units(parse("one/a.service", "two/a.service", "two/a.service.d/1.conf")))
    assert [[[f.path for f in unit.files] for unit in group] for group in groups] == [
        [["one/a.service"]],
        [["two/a.service", "two/a.service.d/1.conf"]],
    ]


def test_two_images_in_one_input_do_not_mix() -> None:
    groups = merge_units(
        parse(
            "old/etc/systemd/system/a.service.d/1.conf",
            "old/usr/lib/systemd/system/a.service",
            "new/usr/lib/systemd/system/a.service",
        )
    )
    assert [len(unit.files) for group in groups for unit in group] == [1, 2]


def test_drop_ins_without_their_unit_are_judged_alone() -> None:
    (group,) = merge_units(
        parse("u/a.service.d/1.conf", "u/b-.service.d/1.conf", "u/slice.d/1.conf")
    )
    assert {unit.name for unit in group} == {"a.service", "b-.service", "slice"}
    assert all(isinstance(unit.fragment, Missing) for unit in group)
    assert all(unit.quota_from is not None for unit in group)


def test_drop_ins_for_a_type_are_judged_with_the_units_that_they_apply_to() -> None:
    (group,) = merge_units(parse("u/a.service", "u/service.d/1.conf"))
    assert [unit.name for unit in group] == ["a.service"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("web.container", "web.service"),
        ("q/web.pod", "web-pod.service"),
        ("q/all.kube", "all.service"),
        ("q/web.container.d/10.conf", "web.service"),
    ],
)
def test_a_quadlet_is_judged_as_the_service_that_it_becomes(path: str, name: str) -> None:
    file = parse_unit_file(path, b"[Container]\nCPUQuota=1%\n[Service]\nCPUQuota=2%\n")
    (quadlet,) = merge_quadlets([file])
    assert quadlet.service.name == name
    assert [judged.assignment.value for judged in quadlet.service.judged] == ["2%"]


def quadlets(*paths: str) -> list[list[str]]:
    return [[file.path for file in quadlet.files] for quadlet in merge_quadlets(parse(*paths))]


def test_a_quadlet_has_its_drop_ins_from_the_same_directory_in_the_order_of_their_names() -> None:
    found = quadlets(
        "q/a-b.container",
        "q/a-b.container.d/50.conf",
        "q/a-.container.d/20.conf",
        "q/container.d/10.conf",
        "q/pod.d/10.conf",
        "other/a-b.container.d/10.conf",
        "q/c.pod",
    )
    drop_ins = ["q/container.d/10.conf", "q/a-.container.d/20.conf", "q/a-b.container.d/50.conf"]
    assert found == [
        ["other/a-b.container.d/10.conf"],
        ["q/a-b.container", *drop_ins],
        ["q/c.pod", "q/pod.d/10.conf"],
    ]


def test_of_drop_ins_with_one_name_the_most_specific_counts() -> None:
    found = quadlets("a.container", "b.container", "container.d/1.conf", "a.container.d/1.conf")
    assert found == [
        ["a.container", "a.container.d/1.conf"],
        ["b.container", "container.d/1.conf"],
    ]


def test_quadlets_of_an_image_have_the_directories_of_quadlet() -> None:
    etc, usr = "image/etc/containers/systemd", "image/usr/share/containers/systemd"
    paths = [f"{usr}/a.container", f"{etc}/a.container.d/1.conf"]
    assert quadlets(*paths, f"{usr}/a.container.d/1.conf") == [paths]


def test_an_instance_has_the_drop_ins_of_its_template() -> None:
    template = ["a@.container", "a@.container.d/1.conf"]
    found = quadlets(*template, "a@x.container", "a@x.container.d/2.conf")
    own, general, specific = "a@x.container", template[1], "a@x.container.d/2.conf"
    assert found == [template, [own, general, specific]]


def test_drop_ins_without_their_quadlet_are_one_of_the_kind_of_their_directory() -> None:
    merged = list(merge_quadlets(parse("q/web.container.d/1.conf", "q/pod.d/1.conf")))
    assert {(q.name, q.kind) for q in merged} == {("web.container", "container"), ("pod", "pod")}


def test_a_quadlet_whose_name_systemd_would_not_take_keeps_its_drop_ins() -> None:
    paths = ["my app.container", "my app.container.d/1.conf"]
    assert quadlets(*paths) == [paths]


@pytest.mark.parametrize("mask", ["link", "empty file"])
def test_a_masked_unit_is_not_judged(lint: Lint, tmp_path: Path, mask: str) -> None:
    bad = "[Service]\nCPUQuota=abc\n"
    vendor = {
        "usr/lib/systemd/system/a.service": bad,
        "usr/lib/systemd/system/a.service.d/x.conf": "[Service]\nCPUQuota=abd\n",
    }
    assert len(lint(files=vendor).lines) == 2
    own = tmp_path / "etc/systemd/system/a.service"
    own.parent.mkdir(parents=True)
    if mask == "link":
        own.symlink_to("/dev/null")
    else:
        own.touch()
    assert lint().out == "nothing found\n"
    own.unlink()
    own.symlink_to("/dev/zero")
    assert len(lint().lines) == 2
    own.unlink()
    own.write_text("# nothing set here\n")
    assert [line.split(":")[0] for line in lint().lines] == [
        "usr/lib/systemd/system/a.service.d/x.conf"
    ]
