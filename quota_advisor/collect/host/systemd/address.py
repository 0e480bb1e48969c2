"""Where a manager is reached, if anywhere."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from urllib.parse import quote

from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.systemd.bus import BusAddress, Manager
from quota_advisor.model.limit import Missing

SYSTEM_BUS = "/run/dbus/system_bus_socket"
SYSTEM_PRIVATE = "/run/systemd/private"
BOOTED = "/run/systemd/system"
"""Exists exactly where systemd is the init system: sd_booted(3)."""


def find_buses(
    root: HostRoot, manager: Manager, environ: Mapping[str, str], uid: int
) -> tuple[BusAddress, ...] | Missing:
    """Return the ways to a manager, best first, or one sentence on why there is none.

    A message bus may be there with the manager not on it yet: a user's bus is started by its
    first caller, and the manager joins it later. Then systemd's own socket, which systemctl
    uses too, is the second way.

    Args:
        root: The host. The environment counts only when it is the running one: it describes
            the machine this program runs on, not another.
        manager: Whose bus.
        environ: Environment of the process.
        uid: User that asks; systemd's own socket takes no other than its owner.
    """
    if manager == "user":
        return _find_user_buses(root, environ, uid)
    if root.live and (address := environ.get("DBUS_SYSTEM_BUS_ADDRESS")):
        return (BusAddress(address=address, label=f"system bus ({address})"),)
    ways = _sockets(root, SYSTEM_BUS, SYSTEM_PRIVATE if uid == 0 else None)
    return ways or Missing(reason=_why_none(root))


def _find_user_buses(
    root: HostRoot, environ: Mapping[str, str], uid: int
) -> tuple[BusAddress, ...] | Missing:
    # The user's manager is always below the runtime directory, while
    # DBUS_SESSION_BUS_ADDRESS may name a bus of a desktop or a test that has no systemd on it.
    runtime = (environ.get("XDG_RUNTIME_DIR") if root.live else None) or f"/run/user/{uid}"
    bus, private = posixpath.join(runtime, "bus"), posixpath.join(runtime, "systemd/private")
    ways = _sockets(root, bus, private)
    if not ways and root.live and (address := environ.get("DBUS_SESSION_BUS_ADDRESS")):
        return (BusAddress(address=address, label=f"session bus ({address})"),)
    return ways or Missing(reason=f"no systemd manager of user {uid}: {bus} does not exist")


def _sockets(root: HostRoot, bus: str, private: str | None) -> tuple[BusAddress, ...]:
    direct = _socket(root, private, direct=True) if private else None
    return tuple(way for way in (_socket(root, bus, direct=False), direct) if way)


def _socket(root: HostRoot, path: str, *, direct: bool) -> BusAddress | None:
    try:
        real = root.socket_path(path)
    except OSError:
        return None
    # D-Bus addresses need escapes for everything but slashes and a few other bytes.
    return BusAddress(address=f"unix:path={_escape(real)}", label=path, direct=direct)


def _escape(path: str) -> str:
    # quote() does not escape the tilde, but D-Bus requires it.
    return quote(os.fsencode(path), safe="/").replace("~", "%7e")


def _why_none(root: HostRoot) -> str:
    below = "" if root.live else " below the root"
    if not root.exists(BOOTED):
        return f"systemd does not run here: {BOOTED} does not exist{below}"
    return f"systemd runs here but cannot be reached: {SYSTEM_BUS} does not exist{below}"
