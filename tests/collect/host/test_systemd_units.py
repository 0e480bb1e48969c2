"""What a unit's properties become, without any bus."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Self

import pytest

from quota_advisor.collect.host.systemd.bus import (
    BusError,
    CallFailure,
    ListedUnit,
    Properties,
    listed_units,
)
from quota_advisor.collect.host.systemd.units import (
    UINT64_MAX,
    WANTED,
    decode_cpus,
    decode_unit,
    read_restarts,
    read_units,
    read_version,
    restarts_within,
)
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited, Unset
from quota_advisor.model.problem import Problem

API: Mapping[str, object] = {
    "ActiveState": "active",
    "AllowedCPUs": b"\x05\x80",
    "CPUAccounting": True,
    "CPUQuotaPerSecUSec": 500_000,
    "CPUQuotaPeriodUSec": 20_000,
    "CPUWeight": 200,
    "ControlGroup": "/system.slice/api.service",
    "Delegate": True,
    "DelegateControllers": ["cpu", "memory"],
    "DropInPaths": ["/etc/systemd/system/api.service.d/10-cpu.conf"],
    "EffectiveCPUs": b"\x05",
    "FragmentPath": "/etc/systemd/system/api.service",
    "LoadState": "loaded",
    "MainPID": 712,
    "NRestarts": 3,
    "NeedDaemonReload": True,
    "Restart": "always",
    "Slice": "system.slice",
    "StartupAllowedCPUs": b"\x01",
    "StartupCPUWeight": 900,
    "Transient": False,
    "UnitFileState": "enabled",
}


class FakeBus:
    """A bus that answers from a dictionary."""

    def __init__(self, answers: Mapping[str, Properties | CallFailure]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def has_systemd(self) -> bool:
        return True

    def manager_property(self, name: str) -> object:
        if name != "Version":
            raise BusError("no such property")
        return "252.39-1~deb12u1"

    def list_units(self) -> tuple[ListedUnit, ...]:
        return tuple(listed(name) for name in self.answers)

    def get_all(
        self, paths: Sequence[str], wanted: Collection[str]
    ) -> list[Properties | CallFailure]:
        assert wanted in (WANTED, {"NRestarts"})
        self.asked.extend(paths)
        return [self.answers[path.removeprefix("/unit/")] for path in paths]

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class HungBus(FakeBus):
    """A bus whose manager stops answering after the list."""

    def get_all(
        self, paths: Sequence[str], wanted: Collection[str]
    ) -> list[Properties | CallFailure]:
        raise BusError(f"no answer about {len(paths)} units", hint=f"{len(wanted)} wanted")

    def manager_property(self, name: str) -> object:
        raise BusError(f"no answer about {name}")


def listed(name: str, load_state: str = "loaded") -> ListedUnit:
    return ListedUnit(name=name, load_state=load_state, active_state="active", path=f"/unit/{name}")


def test_every_property_of_a_unit_becomes_its_fact() -> None:
    unit = decode_unit(listed("api.service"), API, "user")

    assert (unit.name, unit.manager) == ("api.service", "user")
    assert (unit.load_state, unit.active_state) == ("loaded", "active")
    assert unit.fragment_path == "/etc/systemd/system/api.service"
    assert unit.drop_in_paths == ("/etc/systemd/system/api.service.d/10-cpu.conf",)
    assert unit.need_daemon_reload
    assert not unit.transient
    assert unit.control_group == "/system.slice/api.service"
    assert (unit.slice, unit.restart, unit.delegate) == ("system.slice", "always", True)
    assert unit.quota_per_sec_usec == 500_000
    assert unit.period_usec == 20_000
    assert unit.cpu_weight == 200
    assert unit.allowed_cpus == (0, 2, 15)
    assert (unit.startup_cpu_weight, unit.startup_allowed_cpus) == (900, (0,))
    assert (unit.effective_cpus, unit.cpu_accounting) == ((0, 2), True)
    assert unit.delegate_controllers == ("cpu", "memory")
    assert unit.unit_file_state == "enabled"
    assert (unit.main_pid, unit.restarts) == (712, 3)
    assert unit.limit == Bandwidth(quota_usec=10_000, period_usec=20_000)


def test_every_cpu_property_names_its_source_and_raw_value() -> None:
    unit = decode_unit(listed("api.service"), API, "system")

    assert [(source.locator, source.raw) for source in unit.sources] == [
        ("api.service CPUQuotaPerSecUSec", "500000"),
        ("api.service CPUQuotaPeriodUSec", "20000"),
        ("api.service CPUWeight", "200"),
        ("api.service StartupCPUWeight", "900"),
        ("api.service AllowedCPUs", "0x8005"),
        ("api.service StartupAllowedCPUs", "0x01"),
        ("api.service EffectiveCPUs", "0x05"),
        ("api.service CPUAccounting", "True"),
    ]


def test_the_largest_number_means_infinite_or_not_set() -> None:
    unit = decode_unit(
        listed("api.service"),
        {
            **API,
            "CPUQuotaPerSecUSec": UINT64_MAX,
            "CPUQuotaPeriodUSec": UINT64_MAX,
            "CPUWeight": UINT64_MAX,
            "AllowedCPUs": b"",
        },
        "system",
    )

    assert unit.quota_per_sec_usec == Unlimited()
    assert unit.period_usec == Unset()
    assert unit.cpu_weight == Unset()
    assert unit.allowed_cpus == ()


def test_a_property_that_an_old_systemd_does_not_have_is_missing_and_not_unset() -> None:
    properties = {name: value for name, value in API.items() if name != "CPUQuotaPeriodUSec"}
    unit = decode_unit(listed("api.service"), properties, "system")

    assert unit.period_usec == Missing(reason="this systemd does not report CPUQuotaPeriodUSec")
    assert unit.limit == Bandwidth(quota_usec=50_000, period_usec=100_000)
    assert "api.service CPUQuotaPeriodUSec" not in {source.locator for source in unit.sources}


@pytest.mark.parametrize(
    "property_name", ["CPUQuotaPerSecUSec", "CPUQuotaPeriodUSec", "CPUWeight", "AllowedCPUs"]
)
@pytest.mark.parametrize("value", ["500000", True, 0.5, None, ["a"]])
def test_a_cpu_property_of_another_type_is_missing(property_name: str, value: object) -> None:
    unit = decode_unit(listed("api.service"), {**API, property_name: value}, "system")

    read = {
        "CPUQuotaPerSecUSec": unit.quota_per_sec_usec,
        "CPUQuotaPeriodUSec": unit.period_usec,
        "CPUWeight": unit.cpu_weight,
        "AllowedCPUs": unit.allowed_cpus,
    }
    assert read[property_name] == Missing(reason=f"{property_name} is of an unexpected type")


def test_a_unit_without_any_property_is_empty_and_not_an_error() -> None:
    unit = decode_unit(listed("api.service"), {}, "system")

    assert (unit.load_state, unit.active_state) == ("loaded", "active")
    assert unit.control_group == ""
    assert unit.drop_in_paths == ()
    assert isinstance(unit.quota_per_sec_usec, Missing)
    assert isinstance(unit.cpu_accounting, Missing)
    assert unit.sources == ()


@pytest.mark.parametrize(
    ("mask", "cpus"),
    [
        (b"", ()),
        (b"\x00", ()),
        (b"\x01", (0,)),
        (b"\x80", (7,)),
        (b"\x00\x01", (8,)),
        (b"\xff", tuple(range(8))),
        (b"\x00" * 16 + b"\x02", (129,)),
    ],
)
def test_a_cpu_mask_counts_from_the_lowest_bit_of_the_first_byte(
    mask: bytes, cpus: tuple[int, ...]
) -> None:
    assert decode_cpus(mask) == cpus


def test_only_units_that_can_have_a_cgroup_are_asked_about() -> None:
    types = ("service", "slice", "scope", "socket", "mount", "swap")
    others = ("target", "timer", "path", "device", "automount")
    bus = FakeBus({f"x.{kind}": API for kind in (*types, *others)})

    units, problems = read_units(bus, "system")

    assert [unit.name for unit in units] == [f"x.{kind}" for kind in types]
    assert problems == []
    assert bus.asked == [f"/unit/x.{kind}" for kind in types]


def test_names_are_taken_as_they_are() -> None:
    names = ["a\\x2db.service", "a\\x20b@c\\x20d.service", "-.slice", "-.mount"]
    units, _ = read_units(FakeBus(dict.fromkeys(names, API)), "system")
    assert [unit.name for unit in units] == names


@pytest.mark.parametrize(
    "error",
    [
        "org.freedesktop.systemd1.NoSuchUnit",
        "org.freedesktop.DBus.Error.UnknownObject",
        "org.freedesktop.DBus.Error.UnknownMethod",
    ],
)
def test_a_unit_that_vanished_is_left_out_quietly(error: str) -> None:
    bus = FakeBus({"a.service": API, "b.service": CallFailure(name=error, text="gone")})
    units, problems = read_units(bus, "system")
    assert [unit.name for unit in units] == ["a.service"]
    assert problems == []


def test_a_unit_that_systemd_had_to_load_again_has_vanished() -> None:
    gone = {**API, "LoadState": "not-found", "ActiveState": "inactive"}
    units, problems = read_units(FakeBus({"a.service": gone}), "system")
    assert units == ()
    assert problems == []


def test_a_running_unit_whose_file_was_removed_is_kept() -> None:
    running = {**API, "LoadState": "not-found", "ActiveState": "active"}
    units, _ = read_units(FakeBus({"a.service": running}), "system")
    assert [unit.load_state for unit in units] == ["not-found"]


def test_any_other_error_is_a_problem_of_that_unit_alone() -> None:
    denied = CallFailure(name="org.freedesktop.DBus.Error.AccessDenied", text="")
    bus = FakeBus({"a.service": API, "b.service": denied, "c.service": API})

    units, problems = read_units(bus, "system")

    assert [unit.name for unit in units] == ["a.service", "c.service"]
    assert problems == [
        Problem(subject="b.service", reason="org.freedesktop.DBus.Error.AccessDenied")
    ]


def test_a_manager_that_stops_answering_is_one_problem() -> None:
    units, problems = read_units(HungBus({"a.service": API, "b.service": API}), "user")
    assert units == ()
    assert problems == [
        Problem(
            subject="systemd user manager",
            reason="no answer about 2 units",
            hint=f"{len(WANTED)} wanted",
        )
    ]


def test_the_version_is_the_managers_own_text() -> None:
    assert read_version(FakeBus({})) == "252.39-1~deb12u1"
    assert read_version(HungBus({})) == Missing(reason="no answer about Version")


@pytest.mark.parametrize("rows", [None, 7, [("a.service", "text")], [3]])
def test_a_malformed_list_of_units_is_an_error_and_no_traceback(rows: object) -> None:
    with pytest.raises(BusError, match="malformed"):
        listed_units(rows)


def test_restarts_are_read_of_services_that_are_up() -> None:
    gone = CallFailure(name="org.freedesktop.systemd1.NoSuchUnit", text="gone")
    bus = FakeBus({"a.service": API, "b.slice": API, "c.service": gone, "d.service": {}})
    assert read_restarts(bus) == {"a.service": 3}
    assert bus.asked == ["/unit/a.service", "/unit/c.service", "/unit/d.service"]


@pytest.mark.parametrize(
    ("before", "within"),
    [
        ({"api.service": 1}, 2),
        ({"api.service": 3}, 0),
        ({"api.service": 4}, "started anew"),
        ({"web.service": 1}, "not up"),
        (None, "over a window"),
    ],
)
def test_restarts_within_the_window(before: Mapping[str, int] | None, within: int | str) -> None:
    found = restarts_within(decode_unit(listed("api.service"), API, "system"), before)
    assert found == within if isinstance(within, int) else isinstance(found, Missing)
    assert not isinstance(found, Missing) or str(within) in found.reason


def test_an_old_systemd_counts_no_restarts() -> None:
    old = {name: value for name, value in API.items() if name != "NRestarts"}
    unit = decode_unit(listed("api.service"), old, "system")
    assert isinstance(restarts_within(unit, {"api.service": 0}), Missing)
