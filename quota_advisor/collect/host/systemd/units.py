"""Loaded units as their manager describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from quota_advisor.collect.host.systemd.bus import (
    BusError,
    CallFailure,
    ListedUnit,
    Manager,
    Properties,
    UnitBus,
)
from quota_advisor.model.limit import Missing, Unlimited, Unset
from quota_advisor.model.problem import Problem
from quota_advisor.model.source import Source, SourceKind
from quota_advisor.model.unit import UnitProperties
from quota_advisor.model.unit_kind import UNIT_SECTIONS

_Infinity = TypeVar("_Infinity", Unlimited, Unset)

UINT64_MAX = 2**64 - 1
"""systemd's infinity of a time, and its "not set" of a weight or a period."""

CPU_PROPERTIES = (
    "CPUQuotaPerSecUSec",
    "CPUQuotaPeriodUSec",
    "CPUWeight",
    "StartupCPUWeight",
    "AllowedCPUs",
    "StartupAllowedCPUs",
    "EffectiveCPUs",
    "CPUAccounting",
)
"""Settings only: ``CPUUsageNSec`` is a counter, and usage comes from the cgroup as a window."""

WANTED = frozenset(
    {
        *CPU_PROPERTIES,
        "ActiveState",
        "ControlGroup",
        "Delegate",
        "DelegateControllers",
        "DropInPaths",
        "FragmentPath",
        "LoadState",
        "MainPID",
        "NRestarts",
        "NeedDaemonReload",
        "Restart",
        "Slice",
        "Transient",
        "UnitFileState",
    }
)
"""Every property that becomes a fact."""

RESTARTS = frozenset({"NRestarts"})
_UP = frozenset({"active", "activating", "deactivating", "reloading"})

GONE = frozenset(
    {
        "org.freedesktop.systemd1.NoSuchUnit",
        "org.freedesktop.DBus.Error.UnknownObject",
        "org.freedesktop.DBus.Error.UnknownMethod",
    }
)
"""Answers about a unit that was unloaded after it was listed."""


def read_units(bus: UnitBus, manager: Manager) -> tuple[tuple[UnitProperties, ...], list[Problem]]:
    """Return every loaded unit of a type that has a cgroup, and what could not be read.

    Args:
        bus: A connection to the manager.
        manager: Whose connection it is.

    A unit that vanishes while the list is worked through is nobody's problem and left out.
    When the manager stops answering, that is one problem and there are no units.
    """
    try:
        listed = [unit for unit in bus.list_units() if _has_cgroup(unit.name)]
        answers = bus.get_all([unit.path for unit in listed], WANTED)
    except BusError as error:
        subject = f"systemd {manager} manager"
        return (), [Problem(subject=subject, reason=error.what, hint=error.hint)]
    return _sort_out(listed, answers, manager)


def read_restarts(bus: UnitBus) -> dict[str, int]:
    """Return how often the manager has restarted each service that is up, by its name.

    Raises:
        BusError: No answer.
    """
    up = [u for u in bus.list_units() if u.name.endswith(".service") and u.active_state in _UP]
    answers = bus.get_all([unit.path for unit in up], RESTARTS)
    counted = zip(up, answers, strict=True)
    found = {u.name: a.get("NRestarts") for u, a in counted if not isinstance(a, CallFailure)}
    return {name: count for name, count in found.items() if isinstance(count, int)}


def restarts_within(
    properties: UnitProperties | Missing, before: Mapping[str, int] | None
) -> int | Missing:
    """Return how often the manager restarted a unit between two readings.

    Args:
        properties: The unit at the second one.
        before: What :func:`read_restarts` returned at the first one; None where there was none.
    """
    if isinstance(properties, Missing):
        return properties
    if isinstance(properties.restarts, Missing):
        return properties.restarts
    if before is None:
        return Missing(reason="restarts are counted over a window")
    first = before.get(properties.name)
    if first is None:
        return Missing(reason="not up when the window began")
    if properties.restarts < first:
        return Missing(reason="started anew in the window, which sets the count back")
    return properties.restarts - first


def read_version(bus: UnitBus) -> str | Missing:
    """Return systemd's version as it names it, for example ``252.39-1~deb12u1``."""
    try:
        return str(bus.manager_property("Version"))
    except BusError as error:
        return Missing(reason=error.what)


def _has_cgroup(name: str) -> bool:
    return name.rpartition(".")[2] in UNIT_SECTIONS


def _sort_out(
    listed: Sequence[ListedUnit], answers: Sequence[Properties | CallFailure], manager: Manager
) -> tuple[tuple[UnitProperties, ...], list[Problem]]:
    units: list[UnitProperties] = []
    problems: list[Problem] = []
    for unit, answer in zip(listed, answers, strict=True):
        if isinstance(answer, CallFailure):
            if answer.name not in GONE:
                problems.append(Problem(subject=unit.name, reason=answer.text or answer.name))
        elif not _vanished(unit, answer):
            units.append(decode_unit(unit, answer, manager))
    return tuple(units), problems


def _vanished(unit: ListedUnit, properties: Properties) -> bool:
    # Asked about a unit it has unloaded, systemd loads it again and says "not-found".
    return unit.load_state != "not-found" and (
        properties.get("LoadState") == "not-found" and properties.get("ActiveState") == "inactive"
    )


def decode_unit(unit: ListedUnit, properties: Properties, manager: Manager) -> UnitProperties:
    """Return one unit from its properties.

    Args:
        unit: Its row in the list of units.
        properties: Its properties; one that is absent or of another type than systemd
            documents is missing or empty, never guessed.
        manager: The manager that knows it.
    """
    return UnitProperties(
        name=unit.name,
        manager=manager,
        load_state=_text(properties, "LoadState") or unit.load_state,
        active_state=_text(properties, "ActiveState") or unit.active_state,
        fragment_path=_text(properties, "FragmentPath"),
        drop_in_paths=_texts(properties, "DropInPaths"),
        need_daemon_reload=properties.get("NeedDaemonReload") is True,
        transient=properties.get("Transient") is True,
        control_group=_text(properties, "ControlGroup"),
        slice=_text(properties, "Slice"),
        restart=_text(properties, "Restart"),
        delegate=properties.get("Delegate") is True,
        quota_per_sec_usec=_number(properties, "CPUQuotaPerSecUSec", Unlimited()),
        period_usec=_number(properties, "CPUQuotaPeriodUSec", Unset()),
        cpu_weight=_number(properties, "CPUWeight", Unset()),
        allowed_cpus=_cpus(properties, "AllowedCPUs"),
        startup_cpu_weight=_number(properties, "StartupCPUWeight", Unset()),
        startup_allowed_cpus=_cpus(properties, "StartupAllowedCPUs"),
        effective_cpus=_cpus(properties, "EffectiveCPUs"),
        cpu_accounting=_flag(properties, "CPUAccounting"),
        delegate_controllers=_texts(properties, "DelegateControllers"),
        unit_file_state=_text(properties, "UnitFileState"),
        restarts=_count(properties, "NRestarts"),
        main_pid=_count(properties, "MainPID"),
        sources=_sources(unit.name, properties),
    )


def decode_cpus(mask: bytes) -> tuple[int, ...]:
    """Return the CPU numbers in systemd's bit mask, lowest bit of the first byte first."""
    return tuple(
        index * 8 + bit for index, byte in enumerate(mask) for bit in range(8) if byte >> bit & 1
    )


def _number(properties: Properties, name: str, infinity: _Infinity) -> int | _Infinity | Missing:
    value = properties.get(name)
    if value == UINT64_MAX:
        return infinity
    # A bool is an int to Python, but never a quota.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _missing(properties, name)


def _count(properties: Properties, name: str) -> int | Missing:
    value = properties.get(name)
    # Only services have it; a bool is an int to Python, but no count.
    plain = isinstance(value, int) and not isinstance(value, bool)
    return value if plain else _missing(properties, name)  # type: ignore[return-value]


def _cpus(properties: Properties, name: str) -> tuple[int, ...] | Missing:
    value = properties.get(name)
    return decode_cpus(value) if isinstance(value, bytes) else _missing(properties, name)


def _flag(properties: Properties, name: str) -> bool | Missing:
    value = properties.get(name)
    return value if isinstance(value, bool) else _missing(properties, name)


def _missing(properties: Properties, name: str) -> Missing:
    if name in properties:
        return Missing(reason=f"{name} is of an unexpected type")
    return Missing(reason=f"this systemd does not report {name}")


def _text(properties: Properties, name: str) -> str:
    value = properties.get(name)
    return value if isinstance(value, str) else ""


def _texts(properties: Properties, name: str) -> tuple[str, ...]:
    value = properties.get(name)
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _sources(unit: str, properties: Properties) -> tuple[Source, ...]:
    return tuple(
        Source(kind=SourceKind.DBUS_PROPERTY, locator=f"{unit} {name}", raw=_raw(properties[name]))
        for name in CPU_PROPERTIES
        if name in properties
    )


def _raw(value: object) -> str:
    return f"0x{value[::-1].hex() or '0'}" if isinstance(value, bytes) else str(value)
