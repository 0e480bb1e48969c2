"""Connect to a manager with whichever library is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, assert_never

from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.systemd.address import find_buses
from quota_advisor.collect.host.systemd.bus import (
    TIMEOUT_SEC,
    BusAddress,
    BusError,
    Manager,
    NoBusError,
    UnitBus,
)
from quota_advisor.model.limit import Missing

Adapter = Literal["dbus-fast", "pydbus", "auto"]
"""The library to use; ``auto`` takes dbus-fast, and pydbus where only that is installed."""

Opener = Callable[[BusAddress, float], UnitBus]


def connect(
    root: HostRoot,
    manager: Manager = "system",
    adapter: Adapter = "auto",
    *,
    timeout_sec: float = TIMEOUT_SEC,
) -> UnitBus | Missing:
    """Return a connection to a manager, or one sentence on why there is none to connect to.

    Args:
        root: The host; below a directory only a socket found there is used.
        manager: The system's manager, or the one of the calling user.
        adapter: The D-Bus library.
        timeout_sec: How long connecting, and later each call, may take.

    Raises:
        BusError: There is a bus but it cannot be used, or the library is not installed.
    """
    ways = find_buses(root, manager, os.environ, os.getuid())
    if isinstance(ways, Missing):
        return ways
    opener = _opener(adapter)
    absent = []
    for address in ways:
        bus = _open(opener, address, timeout_sec)
        if not isinstance(bus, Missing):
            return bus
        absent.append(bus)
    return absent[0]


def _open(opener: Opener, address: BusAddress, timeout_sec: float) -> UnitBus | Missing:
    try:
        bus = opener(address, timeout_sec)
    except NoBusError as error:
        return Missing(reason=error.what)
    try:
        if bus.has_systemd():
            return bus
    except BaseException:
        bus.close()
        raise
    bus.close()
    return Missing(reason=f"no systemd on the bus at {address.label}")


def _opener(adapter: Adapter) -> Opener:
    # Imported here: a run that never looks at systemd pays for neither library.
    match adapter:
        case "dbus-fast":
            return _dbus_fast()
        case "pydbus":
            return _pydbus()
        case "auto":
            try:
                return _dbus_fast()
            except BusError:
                return _pydbus()
        case _:
            assert_never(adapter)


def _dbus_fast() -> Opener:
    try:
        from quota_advisor.collect.host.systemd.bus_dbus_fast import (  # noqa: PLC0415
            DbusFastBus,
        )
    except ImportError as error:
        hint = "install it with `pip install dbus-fast`"
        raise BusError(f"dbus-fast cannot be used: {error}", hint=hint) from error
    return DbusFastBus


def _pydbus() -> Opener:
    try:
        from quota_advisor.collect.host.systemd.bus_pydbus import PydbusBus  # noqa: PLC0415
    except ImportError as error:
        hint = "install your distribution's python3-pydbus, or use dbus-fast"
        raise BusError(f"pydbus cannot be used: {error}", hint=hint) from error
    return PydbusBus
