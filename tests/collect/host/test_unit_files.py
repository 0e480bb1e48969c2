from __future__ import annotations

import errno
import os
import posixpath
from pathlib import Path

import pytest

from quota_advisor.collect.host.root import Entry, HostRoot
from quota_advisor.collect.host.unit_files import UnitFileReader
from quota_advisor.documents.systemd.names import SYSTEM_SEARCH_PATH, user_search_path
from quota_advisor.errors import CollectError
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.unit import HiddenFile, UnitConfig

ETC = "/etc/systemd/system"
LIB = "/usr/lib/systemd/system"
SERVICE = "[Service]\nExecStart=/bin/true\n"


class Host:
    """A host below a directory."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def write(self, path: str, text: str = SERVICE) -> None:
        target = self.top / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")

    def quota(self, path: str, quota: str, section: str = "Service") -> None:
        self.write(path, f"[{section}]\nCPUQuota={quota}\n")

    def link(self, path: str, target: str) -> None:
        place = self.top / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def reader(self) -> UnitFileReader:
        return UnitFileReader(HostRoot(self.top))

    def read(self, name: str) -> UnitConfig:
        return self.reader().read(name)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def paths(config: UnitConfig) -> list[str]:
    return [file.path for file in config.files]


def test_first_directory_wins_and_the_other_file_is_hidden(host: Host) -> None:
    host.quota(f"{ETC}/a.service", "10%")
    host.quota(f"{LIB}/a.service", "20%")
    config = host.read("a.service")
    assert paths(config) == [f"{ETC}/a.service"]
    assert config.hidden == (HiddenFile(path=f"{LIB}/a.service", hidden_by=f"{ETC}/a.service"),)


def test_merged_usr_is_one_directory(host: Host) -> None:
    host.quota(f"{LIB}/a.service", "20%")
    host.quota(f"{LIB}/a.service.d/1.conf", "30%")
    host.link("/lib", "usr/lib")
    config = host.read("a.service")
    assert config.hidden == ()
    assert paths(config) == [f"{LIB}/a.service", f"{LIB}/a.service.d/1.conf"]


def test_split_usr_is_two_directories(host: Host) -> None:
    host.write("/lib/systemd/system/a.service")
    host.quota(f"{LIB}/a.service.d/1.conf", "30%")
    assert paths(host.read("a.service")) == [
        "/lib/systemd/system/a.service",
        f"{LIB}/a.service.d/1.conf",
    ]


def test_drop_ins_apply_by_file_name_and_the_first_of_a_name_counts(host: Host) -> None:
    host.write(f"{LIB}/a.service")
    host.quota("/etc/systemd/system.control/a.service.d/50-CPUQuota.conf", "20%")
    host.quota("/run/systemd/system.control/a.service.d/50-CPUQuota.conf", "90%")
    host.quota(f"{ETC}/a.service.d/override.conf", "80%")
    config = host.read("a.service")
    assert paths(config)[1:] == [
        "/etc/systemd/system.control/a.service.d/50-CPUQuota.conf",
        f"{ETC}/a.service.d/override.conf",
    ]
    assert [entry.path for entry in config.hidden] == [
        "/run/systemd/system.control/a.service.d/50-CPUQuota.conf"
    ]
    assert config.quota_per_sec_usec == 800_000


def test_specificity_only_decides_between_equal_names_of_one_directory(host: Host) -> None:
    host.write(f"{LIB}/a-b@.service")
    for number, folder in enumerate(
        ("a-b@i.service.d", "a-b@.service.d", "a-.service.d", "a-@i.service.d", "a-@.service.d")
    ):
        host.write(f"{ETC}/{folder}/1.conf", f"# {number}\n")
    host.write(f"{ETC}/service.d/1.conf")
    host.write("/etc/systemd/system.control/service.d/1.conf")
    config = host.read("a-b@i.service")
    assert paths(config) == [f"{LIB}/a-b@.service", f"{ETC}/a-b@i.service.d/1.conf"]
    assert [os.path.basename(os.path.dirname(e.path)) for e in config.hidden] == [  # noqa: PTH119, PTH120
        "a-b@.service.d",
        "a-.service.d",
        "a-@i.service.d",
        "a-@.service.d",
        "service.d",
        "service.d",
    ]


def test_only_visible_conf_files_are_drop_ins(host: Host) -> None:
    host.write(f"{LIB}/a.service")
    for name in ("1.conf", ".2.conf", "3.conf~", "4.conf.bak", "5"):
        host.write(f"{ETC}/a.service.d/{name}", "")
    assert paths(host.read("a.service"))[1:] == [f"{ETC}/a.service.d/1.conf"]


@pytest.mark.parametrize("kind", ["link", "empty"])
def test_masked_drop_in_hides_the_others_of_its_name(host: Host, kind: str) -> None:
    host.quota(f"{LIB}/a.service", "20%")
    host.quota(f"{LIB}/a.service.d/1.conf", "60%")
    if kind == "link":
        host.link(f"{ETC}/a.service.d/1.conf", "/dev/null")
    else:
        host.write(f"{ETC}/a.service.d/1.conf", "")
    reader = host.reader()
    config = reader.read("a.service")
    assert config.quota_per_sec_usec == 200_000
    assert config.hidden[0].hidden_by == f"{ETC}/a.service.d/1.conf"
    assert reader.problems == ()


@pytest.mark.parametrize("kind", ["link", "empty"])
def test_masked_unit_has_no_file(host: Host, kind: str) -> None:
    host.quota(f"{LIB}/a.service", "20%")
    if kind == "link":
        host.link(f"{ETC}/a.service", "/dev/null")
    else:
        host.write(f"{ETC}/a.service", "")
    config = host.read("a.service")
    assert isinstance(config.fragment, Missing)
    assert f"masked by {ETC}/a.service" in config.fragment.reason
    assert config.hidden[0].path == f"{LIB}/a.service"


def test_alias_leads_to_the_unit_and_adds_its_drop_ins(host: Host) -> None:
    host.write(f"{LIB}/networkd.service")
    host.link(f"{ETC}/dbus-org.x.service", f"{LIB}/networkd.service")
    host.quota(f"{ETC}/dbus-org.x.service.d/1.conf", "30%")
    reader = host.reader()
    config = reader.read("dbus-org.x.service")
    assert config.name == "networkd.service"
    assert config == reader.read("networkd.service")
    assert config.quota_per_sec_usec == 300_000
    assert reader.names() == ["networkd.service"]


def test_template_alias_adds_its_drop_ins_to_each_instance(host: Host) -> None:
    host.write(f"{LIB}/a@.service")
    host.link(f"{LIB}/b@.service", "a@.service")
    host.quota(f"{ETC}/b@1.service.d/1.conf", "30%")
    config = host.read("b@1.service")
    assert config.name == "a@1.service"
    assert config.quota_per_sec_usec == 300_000
    assert host.read("a@2.service").quota_from is None


def test_link_between_slices_is_no_alias(host: Host) -> None:
    host.quota(f"{ETC}/a.slice", "20%", "Slice")
    host.link(f"{ETC}/b.slice", "a.slice")
    assert isinstance(host.read("b.slice").fragment, Missing)


def test_loop_of_aliases_ends(host: Host) -> None:
    host.link(f"{ETC}/a.service", "b.service")
    host.link(f"{ETC}/b.service", "a.service")
    assert isinstance(host.read("a.service").fragment, Missing)


def test_linked_unit_file_keeps_its_place_in_the_search_path(host: Host) -> None:
    host.quota("/opt/app/app.service", "20%")
    host.link(f"{ETC}/app.service", "/opt/app/app.service")
    config = host.read("app.service")
    assert paths(config) == [f"{ETC}/app.service"]
    assert config.quota_per_sec_usec == 200_000


def test_link_never_leaves_the_root(host: Host, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.service"
    outside.write_text("[Service]\nCPUQuota=99%\n", "utf-8")
    host.link(f"{ETC}/a.service", f"../../../../../../../..{outside}")
    reader = host.reader()
    config = reader.read("a.service")
    assert isinstance(config.fragment, Missing)
    assert [problem.subject for problem in reader.problems] == [f"{ETC}/a.service"]


def test_unit_without_a_file_says_so(host: Host) -> None:
    host.quota("/run/systemd/transient/run-1.scope.d/50-CPUQuota.conf", "20%", "Scope")
    config = host.read("run-1.scope")
    assert config.fragment == Missing(
        reason="no directory of the search path has a file for run-1.scope"
    )
    assert config.quota_per_sec_usec == 200_000


def test_names_are_units_that_may_have_a_quota(host: Host) -> None:
    for name in ("a.service", "b.slice", "c.timer", "d@.service", "d@1.service", "notes.txt"):
        host.write(f"{ETC}/{name}")
    for name in ("e.service", "f-.service", "g@.service", "g@1.service", "-.slice", "service"):
        host.write(f"{ETC}/{name}.d/1.conf")
    (host.top / ETC.lstrip("/") / "folder.service").mkdir()
    assert host.reader().names() == [
        "-.slice",
        "a.service",
        "b.slice",
        "d@1.service",
        "e.service",
        "g@1.service",
    ]


def test_what_cannot_be_read_is_a_problem_not_an_error(host: Host) -> None:
    host.link(f"{ETC}/a.service", "/opt/gone.service")
    host.quota(f"{ETC}/b.service", "20%")
    (host.top / f"{ETC}/b.service.d/1.conf".lstrip("/")).mkdir(parents=True)
    os.mkfifo(host.top / f"{ETC}/b.service.d/2.conf".lstrip("/"))
    host.write(f"{ETC}/c.service.d", "not a folder")
    reader = host.reader()
    assert isinstance(reader.read("a.service").fragment, Missing)
    assert reader.read("b.service").quota_per_sec_usec == 200_000
    reader.read("c.service")
    assert {problem.subject.removeprefix(f"{ETC}/") for problem in reader.problems} == {
        "a.service",
        "b.service.d/1.conf",
        "b.service.d/2.conf",
        "c.service.d",
    }


@pytest.mark.parametrize("place", ["b.service", "b.service.d/1.conf", "b.service.d", ""])
def test_what_may_not_be_read_leaves_the_limit_open(host: Host, place: str) -> None:
    host.quota(f"{ETC}/b.service", "20%")
    host.quota(f"{ETC}/b.service.d/1.conf", "50%")
    closed = posixpath.join(ETC, place).removesuffix("/")
    limit = UnitFileReader(Refusing(host.top, closed)).read("b.service").limit
    assert limit == Missing(reason=f"{closed}: permission denied")


class Refusing(HostRoot):
    """A host on which one file or directory may not be read."""

    def __init__(self, top: Path, closed: str) -> None:
        super().__init__(top)
        self._closed = closed

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        if path == self._closed and not flags & os.O_PATH:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return super().open(path, flags)


def test_what_systemd_cannot_read_either_leaves_nothing_open(host: Host) -> None:
    host.quota(f"{ETC}/b.service", "20%")
    (host.top / f"{ETC}/b.service.d/1.conf".lstrip("/")).mkdir(parents=True)
    assert isinstance(host.reader().read("b.service").limit, Bandwidth)


def test_host_without_systemd_is_no_problem(host: Host) -> None:
    reader = host.reader()
    assert (reader.names(), reader.problems) == ([], ())


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        ".service",
        "@a.service",
        "a/b.service",
        "../a.service",
        "a.service/..",
        "a b.service",
        "a\n.service",
        "ä.service",
        "a.serviced",
        "a.service.d",
        "x" * 250 + ".service",
    ],
)
def test_what_is_no_unit_name_is_refused_before_any_path_is_built(host: Host, name: str) -> None:
    with pytest.raises(CollectError, match="is not the name of a unit"):
        host.read(name)


@pytest.mark.parametrize(
    "name", ["a.service", "a@b@c.service", "dev-disk-by\\x2duuid.swap", "-.slice", "..service"]
)
def test_odd_names_that_systemd_takes_are_taken(host: Host, name: str) -> None:
    assert host.read(name).name == name


def test_explicit_directories(host: Host) -> None:
    host.quota("/one/a.service", "10%")
    host.quota("/two/a.service.d/1.conf", "20%")
    reader = UnitFileReader(HostRoot(host.top), ["/two", "/one"])
    assert reader.read("a.service").quota_per_sec_usec == 200_000


def test_search_path_of_a_user(host: Host) -> None:
    home, runtime = "/home/ann", "/run/user/1000"
    host.write("/usr/lib/systemd/user/a.service")
    host.quota(f"{home}/.config/systemd/user.control/a.service.d/50-CPUQuota.conf", "20%")
    host.quota(f"{runtime}/systemd/user.control/a.service.d/50-CPUQuota.conf", "30%")
    reader = UnitFileReader(HostRoot(host.top), user_search_path(home, runtime))
    config = reader.read("a.service")
    assert config.quota_per_sec_usec == 200_000
    assert len(config.hidden) == 1


class Counting(HostRoot):
    """A host that notes which directories are listed."""

    def __init__(self, top: Path) -> None:
        super().__init__(top)
        self.listed: list[str] = []

    def entries(self, path: str) -> list[Entry]:
        self.listed.append(path)
        return super().entries(path)


def test_thousands_of_units_list_each_directory_once(host: Host) -> None:
    for number in range(300):
        host.write(f"{LIB}/a-{number}.service")
    root = Counting(host.top)
    listed, reader = root.listed, UnitFileReader(root)
    for name in reader.names():
        reader.read(name)
    assert len(listed) == len(set(listed)) <= len(SYSTEM_SEARCH_PATH)
