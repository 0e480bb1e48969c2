"""The seam between what is asked of systemd and the library that asks it.

Two libraries stand behind it, see :mod:`~quota_advisor.collect.host.systemd.bus_dbus_fast` and
:mod:`~quota_advisor.collect.host.systemd.bus_pydbus`. Neither shows through: values are plain
``str``, ``int``, ``bool``, ``bytes`` and lists of them, errors are the types of this module.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Literal, Protocol, Self

from quota_advisor.errors import CollectError
from quota_advisor.records import dataclass

Manager = Literal["system", "user"]
"""The manager of the host, or the one of the calling user."""

Properties = Mapping[str, object]
"""Properties of one unit by name: plain values, byte arrays as ``bytes``."""

SYSTEMD_NAME = "org.freedesktop.systemd1"
MANAGER_PATH = "/org/freedesktop/systemd1"
MANAGER_INTERFACE = "org.freedesktop.systemd1.Manager"
PROPERTIES_INTERFACE = "org.freedesktop.DBus.Properties"
DAEMON_NAME = "org.freedesktop.DBus"
DAEMON_PATH = "/org/freedesktop/DBus"

ALL_INTERFACES = ""
"""``GetAll`` of no interface in particular returns the properties of every one.

One call a unit instead of one for ``Unit`` and one for its type: 2.2 s instead of 2.5 s for
300 units of systemd 252 in the lab, both with 64 calls in flight.
"""

MAX_IN_FLIGHT = 64
"""Calls waiting for an answer at a time.

More gain nothing, and all at once fill the socket: dbus-fast then fails (BlockingIOError).
"""

TIMEOUT_SEC = 10.0
"""How long one call may take. sd-bus and libdbus wait 25 s, who audits a sick host less."""

DIRECT_RETRY_SEC = 1.0
"""How long systemd's own socket is given before it is spoken to once more.

A message that arrives together with the end of the authentication lies unread there until
more bytes come: sd-bus waits for its socket although its buffer is not empty.
"""


class BusError(CollectError):
    """The bus or the manager is there but does not answer as it should."""


class NoBusError(BusError):
    """Nobody listens at the address of the bus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusAddress:
    """Where to reach a manager.

    Attributes:
        address: D-Bus address, for example ``unix:path=/run/dbus/system_bus_socket``.
        label: How messages call it, a path where there is one.
        direct: It leads to systemd itself, with no message bus in between.
    """

    address: str
    label: str
    direct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedUnit:
    """One row of ``ListUnits``.

    Attributes:
        name: Primary name of the unit.
        load_state: ``loaded``, ``not-found`` …
        active_state: ``active``, ``inactive`` …
        path: D-Bus object path of the unit.
    """

    name: str
    load_state: str
    active_state: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailure:
    """An error that was the answer to one call; the bus itself works.

    Attributes:
        name: D-Bus error name, for example ``org.freedesktop.systemd1.NoSuchUnit``.
        text: What the other side says about it.
    """

    name: str
    text: str


class UnitBus(Protocol):
    """A connection to one manager, used from one thread.

    Every method may raise :class:`BusError`: no answer in time, or a broken connection.
    """

    def has_systemd(self) -> bool:
        """Whether a systemd manager is on this bus; never starts one."""
        ...

    def manager_property(self, name: str) -> object:
        """Return one property of the manager.

        Raises:
            BusError: Also when the manager has no such property.
        """
        ...

    def list_units(self) -> tuple[ListedUnit, ...]:
        """Return every unit the manager has in memory, of every type."""
        ...

    def get_all(
        self, paths: Sequence[str], wanted: Collection[str]
    ) -> list[Properties | CallFailure]:
        """Return the wanted properties of many units, in the order of ``paths``.

        A property that a unit does not have is left out. At most :data:`MAX_IN_FLIGHT` calls
        wait for an answer at a time; nothing is introspected.
        """
        ...

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def listed_units(rows: object) -> tuple[ListedUnit, ...]:
    """Return the units in an answer to ``ListUnits``, signature ``a(ssssssouso)``.

    Raises:
        BusError: The answer is none of ``ListUnits``.
    """
    try:
        return tuple(_listed_unit(row) for row in rows)  # type: ignore[attr-defined]
    except (TypeError, IndexError) as error:
        raise BusError("systemd's list of units is malformed") from error


def _listed_unit(row: Sequence[object]) -> ListedUnit:
    return ListedUnit(
        name=str(row[0]), load_state=str(row[2]), active_state=str(row[3]), path=str(row[6])
    )


def no_answer(label: str, timeout_sec: float) -> BusError:
    """Return the error for a call that nobody answered."""
    return BusError(
        f"{label}: no answer from systemd within {timeout_sec:g} s",
        hint="see whether `systemctl list-jobs` answers, then run again",
    )


def connection_lost(label: str, why: object) -> BusError:
    """Return the error for a connection that broke."""
    return BusError(f"{label}: connection to systemd lost ({str(why) or type(why).__name__})")
