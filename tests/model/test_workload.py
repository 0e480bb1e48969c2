"""Units, containers and cgroups joined into what findings are about."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest

from quota_advisor.model.cgroup import CgroupFacts, Engine
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited
from quota_advisor.model.unit import UnitConfig, UnitProperties
from quota_advisor.model.unit_kind import unit_kind
from quota_advisor.model.workload import Host, Workload, ancestor_paths, join
from tests.rules.facts import (
    CgroupCase,
    ContainerCase,
    Facts,
    NodeCase,
    UnitCase,
    host_facts,
)

API = "/system.slice/api.service"
API_FILE = {"/etc/systemd/system/api.service": "[Service]\nCPUQuota=50%\n"}
USER = "/user.slice/user-1000.slice/user@1000.service"
ID = "4f" * 32
DOCKER = f"/system.slice/docker-{ID}.scope"
LIMITED = CgroupCase(limit="50000 100000")


def joined(
    directory: Path,
    cgroups: Mapping[str, CgroupCase],
    units: Mapping[str, UnitCase] | None = None,
    files: Mapping[str, str] | None = None,
    cpus: int = 8,
) -> Host:
    facts = Facts(node=NodeCase(cpus=cpus), cgroups=cgroups, units=units or {}, files=files or {})
    return join(host_facts(facts, directory))


def at(host: Host, path: str) -> Workload:
    found = [w for w in host.workloads if w.subject.cgroup == path]
    assert len(found) == 1, path
    return found[0]


def paths(groups: tuple[CgroupFacts, ...]) -> list[str]:
    return [group.path for group in groups]


def container(name: str | None = "web") -> ContainerCase:
    return ContainerCase(engine=Engine.DOCKER, id=ID, name=name)


# ---- units


def test_a_unit_is_found_by_the_cgroup_that_its_manager_names(tmp_path: Path) -> None:
    units = {"api.service": UnitCase(quota="50%", control_group="/elsewhere/odd")}
    host = joined(tmp_path, {"/elsewhere/odd": LIMITED, API: LIMITED}, units)
    odd = at(host, "/elsewhere/odd")
    assert (odd.kind, odd.name) == ("service", "api.service")
    assert isinstance(odd.properties, UnitProperties)
    # The manager said where the unit is: a group that only has its name is not the unit.
    assert at(host, API).unit is None


def test_without_a_manager_a_unit_is_found_by_its_name(tmp_path: Path) -> None:
    host = joined(tmp_path, {API: LIMITED}, files=API_FILE)
    api = at(host, API)
    assert (api.kind, api.name) == ("service", "api.service")
    assert isinstance(api.properties, Missing)
    assert isinstance(api.config, UnitConfig)
    assert api.configured == Bandwidth(quota_usec=50_000, period_usec=100_000)


def test_the_manager_counts_before_the_files(tmp_path: Path) -> None:
    host = joined(tmp_path, {API: LIMITED}, {"api.service": UnitCase(quota="80%")}, API_FILE)
    assert at(host, API).configured == Bandwidth(quota_usec=80_000, period_usec=100_000)


def test_a_unit_without_a_cgroup_is_kept_as_not_running(tmp_path: Path) -> None:
    host = joined(tmp_path, {}, files=API_FILE)
    assert [w.name for w in host.workloads] == ["api.service"]
    idle = host.workloads[0]
    assert (idle.kind, idle.subject.cgroup) == ("service", None)
    assert idle.limit == Missing(reason="no cgroup: the unit is not running")
    assert isinstance(idle.counters, Missing)
    assert isinstance(idle.tightest, Missing)


def test_below_a_user_manager_names_are_that_users_own(tmp_path: Path) -> None:
    inside = f"{USER}/app.slice/api.service"
    host = joined(tmp_path, {inside: LIMITED}, files=API_FILE)
    assert at(host, inside).unit is None
    assert (at(host, inside).kind, at(host, inside).name) == ("service", "api.service")
    assert isinstance(at(host, inside).configured, Missing)


def test_a_users_unit_is_found_by_the_path_that_its_manager_names(tmp_path: Path) -> None:
    inside = f"{USER}/app.slice/sync.service"
    units = {"sync.service": UnitCase(quota="20%", manager="user", control_group=inside)}
    host = joined(tmp_path, {inside: LIMITED}, units)
    assert isinstance(at(host, inside).properties, UnitProperties)


def test_the_user_manager_itself_is_a_unit_of_the_system(tmp_path: Path) -> None:
    files = {"/etc/systemd/system/user@.service": "[Service]\nCPUQuota=90%\n"}
    host = joined(tmp_path, {USER: LIMITED}, {"user@1000.service": UnitCase()}, files)
    assert at(host, USER).name == "user@1000.service"
    assert isinstance(at(host, USER).config, UnitConfig)


def test_escaped_names_are_taken_as_they_are(tmp_path: Path) -> None:
    name = r"system-getty\x2dx.slice"
    files = {f"/etc/systemd/system/{name}": "[Slice]\nCPUQuota=20%\n"}
    host = joined(tmp_path, {f"/system.slice/{name}": LIMITED}, files=files)
    slice_ = at(host, f"/system.slice/{name}")
    assert (slice_.kind, slice_.name) == ("slice", name)
    assert isinstance(slice_.config, UnitConfig)


# ---- names


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        (API, "service", "api.service"),
        ("/system.slice/srv-data.mount", "mount", "srv-data.mount"),
        ("/system.slice/dev-sda2.swap", "swap", "dev-sda2.swap"),
        ("/system.slice/api.socket", "socket", "api.socket"),
        ("/user.slice/user-1000.slice/session-1.scope", "scope", "session-1.scope"),
        ("/batch/night", "cgroup", "/batch/night"),
        ("/odd.name", "cgroup", "/odd.name"),
        ("/batch/service", "cgroup", "/batch/service"),
        ("/with space", "cgroup", "/with space"),
    ],
)
def test_a_group_is_named_as_a_person_would(
    tmp_path: Path, path: str, kind: str, name: str
) -> None:
    group = at(joined(tmp_path, {path: LIMITED}), path)
    assert (group.kind, group.name) == (kind, name)


@pytest.mark.parametrize(("known", "name"), [("web", "web"), (None, f"docker-{ID}.scope")])
def test_a_container_is_named_by_its_engine_or_by_its_scope(
    tmp_path: Path, known: str | None, name: str
) -> None:
    group = CgroupCase(limit="50000 100000", container=container(known))
    units = {f"docker-{ID}.scope": UnitCase(quota="50%", transient=True)}
    web = at(joined(tmp_path, {DOCKER: group}, units), DOCKER)
    assert (web.kind, web.name, web.transient) == ("container", name, True)


def test_a_unit_inside_a_container_is_none_of_the_hosts(tmp_path: Path) -> None:
    inside = f"{DOCKER}/system.slice/api.service"
    group = CgroupCase(limit="50000 100000", container=container())
    host = joined(tmp_path, {DOCKER: group, inside: group}, files=API_FILE)
    assert at(host, inside).unit is None
    assert (at(host, inside).kind, at(host, DOCKER).kind) == ("service", "container")


@pytest.mark.parametrize(
    "above",
    [
        "/machine.slice/systemd-nspawn@web.service/payload/system.slice",
        "/machine.slice/machine-web.scope/system.slice",
        "/lxc.payload.web/system.slice",
        "/system.slice/supervisor.service",
    ],
)
def test_only_slices_lead_to_a_unit_of_the_host(tmp_path: Path, above: str) -> None:
    path = f"{above}/api.service"
    host = joined(tmp_path, {path: LIMITED}, files=API_FILE)
    assert at(host, path).unit is None


def test_unit_kinds_are_those_with_a_cgroup() -> None:
    names = ("a.service", "a.slice", "a.timer", "a.target", "service", "a.service.d")
    assert [unit_kind(name) for name in names] == ["service", "slice", "", "", "", ""]


# ---- neighbours


def test_ancestors_are_nearest_first_without_an_unlimited_root(tmp_path: Path) -> None:
    path = "/a.slice/a-b.slice/x.service"
    x = at(joined(tmp_path, {path: LIMITED}), path)
    assert paths(x.ancestors) == ["/a.slice/a-b.slice", "/a.slice"]
    assert paths(x.lineage) == [path, "/a.slice/a-b.slice", "/a.slice"]
    assert list(ancestor_paths(path)) == ["/a.slice/a-b.slice", "/a.slice"]


def test_a_limited_root_is_a_workload_and_an_ancestor(tmp_path: Path) -> None:
    host = joined(tmp_path, {"/": LIMITED, "/job": CgroupCase()})
    assert (at(host, "/").kind, at(host, "/").name, at(host, "/").ancestors) == ("cgroup", "/", ())
    assert paths(at(host, "/job").ancestors) == ["/"]
    tightest = at(host, "/job").tightest
    assert isinstance(tightest, tuple)
    assert tightest[1].path == "/"


def test_an_unlimited_root_is_no_workload(tmp_path: Path) -> None:
    host = joined(tmp_path, {API: LIMITED})
    assert [w.subject.cgroup for w in host.workloads] == ["/system.slice", API]


def test_members_are_direct_children_with_processes_somewhere_inside(tmp_path: Path) -> None:
    busy = CgroupCase(processes=2)
    host = joined(
        tmp_path,
        {
            "/a.slice": CgroupCase(processes=1),
            "/a.slice/z.service": busy,
            "/a.slice/empty.service": CgroupCase(),
            "/a.slice/unknown.service": CgroupCase(processes=Missing(reason="denied")),
            "/a.slice/a-b.slice/deep.service": busy,
        },
    )
    # In the order of the facts, which is the same in every run.
    assert paths(at(host, "/a.slice").members) == ["/a.slice/a-b.slice", "/a.slice/z.service"]
    assert paths(at(host, "/a.slice/a-b.slice").members) == ["/a.slice/a-b.slice/deep.service"]
    assert at(host, "/a.slice/z.service").members == ()


def test_members_come_in_one_order_whatever_the_hash_seed(tmp_path: Path) -> None:
    names = [f"/a.slice/{letter}{number}.service" for letter in "qwertz" for number in range(9)]
    host = joined(tmp_path, {name: CgroupCase(processes=1) for name in names})
    assert paths(at(host, "/a.slice").members) == sorted(names)


# ---- limits


def tightest(directory: Path, own: str | Missing, above: str | Missing) -> object:
    cgroups = {"/a.slice": CgroupCase(limit=above), "/a.slice/x.service": CgroupCase(limit=own)}
    found = at(joined(directory, cgroups), "/a.slice/x.service").tightest
    return (found[0].percent, found[1].path) if isinstance(found, tuple) else found


DENIED = Missing(reason="permission denied")


@pytest.mark.parametrize(
    ("own", "above", "expected"),
    [
        ("50000 100000", "max 100000", (50.0, "/a.slice/x.service")),
        ("max 100000", "50000 100000", (50.0, "/a.slice")),
        ("50000 100000", "40000 100000", (40.0, "/a.slice")),
        ("40000 100000", "50000 100000", (40.0, "/a.slice/x.service")),
        ("20000 100000", "200000 1000000", (20.0, "/a.slice/x.service")),
        ("50000 100000", DENIED, (50.0, "/a.slice/x.service")),
        (DENIED, "50000 100000", (50.0, "/a.slice")),
        ("max 100000", DENIED, DENIED),
        (DENIED, "max 100000", DENIED),
        ("max 100000", "max 100000", Unlimited()),
    ],
    ids=str,
)
def test_the_tightest_limit_on_the_way_up_counts(
    tmp_path: Path, own: str | Missing, above: str | Missing, expected: object
) -> None:
    assert tightest(tmp_path, own, above) == expected


def test_without_a_cpuset_the_manager_tells_the_cpus(tmp_path: Path) -> None:
    api = at(joined(tmp_path, {API: LIMITED}, {"api.service": UnitCase(quota="80%")}), API)
    assert api.cpus_available == 8
    assert api.unit is not None
    assert isinstance(api.properties, UnitProperties)
    told = dataclasses.replace(api.properties, effective_cpus=(1, 2, 3))
    unit = dataclasses.replace(api.unit, properties=told)
    assert dataclasses.replace(api, unit=unit).cpus_available == 3


@pytest.mark.parametrize(
    ("own", "above", "expected"),
    [
        ((), (), 8),
        ((2, 3), (), 2),
        ((), (0, 1, 2), 3),
        ((2, 3), (0, 1, 2, 3), 2),
        ((6, 7, 8, 9), (), 2),  # CPUs 8 and 9 are off line
        ((64, 65), (), 2),  # nothing of it on line: the cpuset's word is all there is
    ],
)
def test_the_cpuset_tells_how_many_cpus_there_are(
    tmp_path: Path, own: tuple[int, ...], above: tuple[int, ...], expected: int
) -> None:
    none = Missing(reason="no cpuset")
    cgroups = {
        "/a.slice": CgroupCase(cpus=above or none),
        "/a.slice/x.service": CgroupCase(cpus=own or none),
    }
    assert at(joined(tmp_path, cgroups), "/a.slice/x.service").cpus_available == expected
