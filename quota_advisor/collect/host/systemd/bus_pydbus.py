"""The manager's bus through pydbus and GLib.

Only pydbus's connection is used, not its proxies: those introspect every object, which took
44 ms a unit where one ``GetAll`` takes 7.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Self

from gi.repository import Gio, GLib
from pydbus.bus import Bus

from quota_advisor.collect.host.systemd.bus import (
    ALL_INTERFACES,
    DAEMON_NAME,
    DAEMON_PATH,
    DIRECT_RETRY_SEC,
    MANAGER_INTERFACE,
    MANAGER_PATH,
    MAX_IN_FLIGHT,
    PROPERTIES_INTERFACE,
    SYSTEMD_NAME,
    BusAddress,
    BusError,
    CallFailure,
    ListedUnit,
    NoBusError,
    Properties,
    connection_lost,
    listed_units,
    no_answer,
)

PEER_INTERFACE = "org.freedesktop.DBus.Peer"

REMOTE_PREFIX = "GDBus.Error:"
"""How GLib begins the text of an error that came over the bus; name and text follow."""


class PydbusBus:
    """A connection to a manager, opened at once.

    Args:
        address: Where the manager is reached.
        timeout_sec: How long connecting, and later each call, may take.

    Raises:
        NoBusError: Nobody listens there.
        BusError: Somebody listens, but no connection comes about.
    """

    def __init__(self, address: BusAddress, timeout_sec: float) -> None:
        self._address = address
        self._timeout_sec = timeout_sec
        # Not pydbus.SystemBus(): GLib ends the process when that shared connection breaks.
        self._bus = Bus(self._connect())

    def has_systemd(self) -> bool:
        """Whether a systemd manager is on this bus; never starts one."""
        if self._address.direct:
            return self._wake()
        arguments = GLib.Variant("(s)", (SYSTEMD_NAME,))
        call = (DAEMON_NAME, DAEMON_PATH, DAEMON_NAME, "NameHasOwner", arguments)
        return bool(self._answer(*call))

    def manager_property(self, name: str) -> object:
        """Return one property of the manager, see :class:`UnitBus`."""
        arguments = GLib.Variant("(ss)", (MANAGER_INTERFACE, name))
        return self._answer(SYSTEMD_NAME, MANAGER_PATH, PROPERTIES_INTERFACE, "Get", arguments)

    def list_units(self) -> tuple[ListedUnit, ...]:
        """Return every unit the manager has in memory, see :class:`UnitBus`."""
        call = (SYSTEMD_NAME, MANAGER_PATH, MANAGER_INTERFACE, "ListUnits", None)
        return listed_units(self._answer(*call))

    def get_all(
        self, paths: Sequence[str], wanted: Collection[str]
    ) -> list[Properties | CallFailure]:
        """Return the wanted properties of many units, see :class:`UnitBus`."""
        return _Batch(self, paths, wanted).run()

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        if not self._bus.con.is_closed():
            try:
                self._bus.con.close_sync(None)
            except GLib.Error:
                # It broke in the meantime: as closed as can be.
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start_get_all(self, path: str, finish: Any) -> None:
        """Send one ``GetAll``; ``finish`` is called with the connection and its result."""
        arguments = GLib.Variant("(s)", (ALL_INTERFACES,))
        call = (SYSTEMD_NAME, path, PROPERTIES_INTERFACE, "GetAll", arguments, None)
        self._bus.con.call(*call, Gio.DBusCallFlags.NO_AUTO_START, self._timeout_msec, None, finish)

    def failure(self, error: GLib.Error) -> CallFailure:
        """Return the error that answered a call.

        Raises:
            BusError: It is none: the call was not answered, or the connection broke.
        """
        if error.message.startswith(REMOTE_PREFIX):
            name, _, text = error.message.removeprefix(REMOTE_PREFIX).partition(": ")
            return CallFailure(name=name, text=text)
        if error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.TIMED_OUT):
            raise no_answer(self._address.label, self._timeout_sec) from error
        raise connection_lost(self._address.label, error.message) from error

    @property
    def _timeout_msec(self) -> int:
        return int(self._timeout_sec * 1000)

    def _connect(self) -> Gio.DBusConnection:
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
        if not self._address.direct:
            flags |= Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        # GLib knows no timeout for connecting, but it can be interrupted.
        given_up = Gio.Cancellable()
        timer = threading.Timer(self._timeout_sec, given_up.cancel)
        timer.start()
        try:
            return Gio.DBusConnection.new_for_address_sync(
                self._address.address, flags, None, given_up
            )
        except GLib.Error as error:
            raise self._connect_error(error) from error
        finally:
            timer.cancel()

    def _connect_error(self, error: GLib.Error) -> BusError:
        label = self._address.label
        absent = (Gio.IOErrorEnum.CONNECTION_REFUSED, Gio.IOErrorEnum.NOT_FOUND)
        if any(error.matches(Gio.io_error_quark(), code) for code in absent):
            return NoBusError(f"nobody listens at {label}")
        if error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED):
            return no_answer(label, self._timeout_sec)
        return BusError(f"{label}: cannot connect ({error.message})")

    def _wake(self) -> bool:
        """Ping systemd on its own socket until it answers, see :data:`DIRECT_RETRY_SEC`."""
        flags, timeout_msec = Gio.DBusCallFlags.NONE, int(DIRECT_RETRY_SEC * 1000)
        call = (SYSTEMD_NAME, MANAGER_PATH, PEER_INTERFACE, "Ping", None, None)
        for _ in range(max(int(self._timeout_sec / DIRECT_RETRY_SEC), 1)):
            try:
                self._bus.con.call_sync(*call, flags, timeout_msec, None)
            except GLib.Error as error:
                if not error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.TIMED_OUT):
                    raise connection_lost(self._address.label, error.message) from error
            else:
                return True
        raise no_answer(self._address.label, self._timeout_sec)

    def _answer(self, name: str, path: str, interface: str, member: str, arguments: Any) -> Any:
        """Return the value that answers a call which every manager understands."""
        flags = Gio.DBusCallFlags.NO_AUTO_START
        call = (name, path, interface, member, arguments, None, flags, self._timeout_msec, None)
        try:
            values = self._bus.con.call_sync(*call).unpack()
        except GLib.Error as error:
            failure = self.failure(error)
            text = failure.text or failure.name
            raise BusError(f"{self._address.label}: {text}") from error
        return values[0] if values else None


class _Batch:
    """Many ``GetAll`` calls, a bounded number of them in flight."""

    def __init__(self, bus: PydbusBus, paths: Sequence[str], wanted: Collection[str]) -> None:
        self._bus = bus
        self._paths = paths
        self._wanted = wanted
        self._found: dict[int, Properties | CallFailure] = {}
        self._error: Exception | None = None

    def run(self) -> list[Properties | CallFailure]:
        # A context of its own: an application around us may have sources in the default one.
        context = GLib.MainContext()
        context.push_thread_default()
        try:
            self._drive(context)
        finally:
            context.pop_thread_default()
        return [self._found[index] for index in range(len(self._paths))]

    def _drive(self, context: GLib.MainContext) -> None:
        pending = iter(enumerate(self._paths))
        for index, path in islice(pending, MAX_IN_FLIGHT):
            self._start(index, path, pending)
        while len(self._found) < len(self._paths):
            context.iteration(True)  # may block
            if self._error is not None:
                raise self._error

    def _start(self, index: int, path: str, pending: Iterator[tuple[int, str]]) -> None:
        def finish(connection: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
            try:
                self._found[index] = self._result(connection, result)
            except Exception as error:  # noqa: BLE001 - GLib would print and forget it
                self._error = error
                return
            for following in islice(pending, 1):
                self._start(*following, pending)

        self._bus.start_get_all(path, finish)

    def _result(
        self, connection: Gio.DBusConnection, result: Gio.AsyncResult
    ) -> Properties | CallFailure:
        try:
            reply = connection.call_finish(result)
        except GLib.Error as error:
            return self._bus.failure(error)
        everything = reply.get_child_value(0)
        return {
            name: _plain(value)
            for name in self._wanted
            if (value := everything.lookup_value(name, None)) is not None
        }


def _plain(value: GLib.Variant) -> object:
    return bytes(value.unpack()) if value.get_type_string() == "ay" else value.unpack()
