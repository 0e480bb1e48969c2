"""The manager's bus through dbus-fast: messages on an event loop of their own, no proxies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from dbus_fast import Message, MessageFlag, MessageType, unpack_variants
from dbus_fast.aio import MessageBus
from dbus_fast.errors import DBusFastError

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


class DbusFastBus:
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
        self._runner = asyncio.Runner()
        # dbus-fast never reads the future of a failed write; the call itself fails anyway.
        self._runner.get_loop().set_exception_handler(lambda _loop, _context: None)
        try:
            self._bus = self._runner.run(self._connect())
        except BaseException:
            self._runner.close()
            raise

    def has_systemd(self) -> bool:
        """Whether a systemd manager is on this bus; never starts one."""
        if self._address.direct:
            return True
        message = Message(
            destination=DAEMON_NAME,
            path=DAEMON_PATH,
            interface=DAEMON_NAME,
            member="NameHasOwner",
            signature="s",
            body=[SYSTEMD_NAME],
        )
        return bool(self._runner.run(self._answer(message)))

    def manager_property(self, name: str) -> object:
        """Return one property of the manager, see :class:`UnitBus`."""
        message = _call(MANAGER_PATH, PROPERTIES_INTERFACE, "Get", MANAGER_INTERFACE, name)
        return unpack_variants(self._runner.run(self._answer(message)))

    def list_units(self) -> tuple[ListedUnit, ...]:
        """Return every unit the manager has in memory, see :class:`UnitBus`."""
        message = _call(MANAGER_PATH, MANAGER_INTERFACE, "ListUnits")
        return listed_units(self._runner.run(self._answer(message)))

    def get_all(
        self, paths: Sequence[str], wanted: Collection[str]
    ) -> list[Properties | CallFailure]:
        """Return the wanted properties of many units, see :class:`UnitBus`."""
        return self._runner.run(self._get_all(paths, wanted))

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        self._bus.disconnect()
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def _connect(self) -> MessageBus:
        label = self._address.label
        try:
            async with asyncio.timeout(self._timeout_sec):
                return await (self._open_direct() if self._address.direct else self._open())
        except TimeoutError as error:
            raise no_answer(label, self._timeout_sec) from error
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise NoBusError(f"nobody listens at {label}") from error
        except (OSError, EOFError, DBusFastError) as error:
            raise BusError(f"{label}: cannot connect ({error})") from error

    async def _open(self) -> MessageBus:
        return await MessageBus(bus_address=self._address.address).connect()

    async def _open_direct(self) -> MessageBus:
        # systemd's private socket does not know Hello and answers with an error, which dbus-fast
        # mistakes for the unique name. The lab checks that this still works.
        patience_sec = DIRECT_RETRY_SEC
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience_sec):
                    return await self._open()
            # On a machine that is slow enough, each of many short attempts would be in vain.
            patience_sec *= 1.5

    async def _get_all(
        self, paths: Sequence[str], wanted: Collection[str]
    ) -> list[Properties | CallFailure]:
        found: dict[int, Properties | CallFailure] = {}
        pending = iter(enumerate(paths))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(MAX_IN_FLIGHT, len(paths))):
                    group.create_task(self._fetch(pending, wanted, found))
        except BaseExceptionGroup as errors:
            # The first error is the cause; the others come from the same broken connection.
            raise errors.exceptions[0] from errors
        return [found[index] for index in range(len(paths))]

    async def _fetch(
        self,
        pending: Iterator[tuple[int, str]],
        wanted: Collection[str],
        found: dict[int, Properties | CallFailure],
    ) -> None:
        for index, path in pending:
            message = _call(path, PROPERTIES_INTERFACE, "GetAll", ALL_INTERFACES)
            reply = await self._reply(message)
            found[index] = _failure(reply) or _properties(reply, wanted)

    async def _answer(self, message: Message) -> Any:
        """Return the value that answers a call which every manager understands."""
        reply = await self._reply(message)
        if failure := _failure(reply):
            raise BusError(f"{self._address.label}: {failure.text or failure.name}")
        return reply.body[0] if reply.body else None

    async def _reply(self, message: Message) -> Message:
        # A call on a closed connection would wait until its time-out.
        if not self._bus.connected:
            raise connection_lost(self._address.label, "closed")
        try:
            async with asyncio.timeout(self._timeout_sec):
                reply = await self._bus.call(message)
        except TimeoutError as error:
            raise no_answer(self._address.label, self._timeout_sec) from error
        except (OSError, EOFError, DBusFastError, ValueError, IndexError) as error:
            # ValueError and IndexError: the decoder raises them for a malformed message.
            raise connection_lost(self._address.label, error) from error
        if reply is None:
            raise connection_lost(self._address.label, "closed")
        return reply


def _call(path: str, interface: str, member: str, *arguments: str) -> Message:
    return Message(
        destination=SYSTEMD_NAME,
        path=path,
        interface=interface,
        member=member,
        signature="s" * len(arguments),
        body=list(arguments),
        flags=MessageFlag.NO_AUTOSTART,
    )


def _failure(reply: Message) -> CallFailure | None:
    if reply.message_type is not MessageType.ERROR:
        return None
    text = str(reply.body[0]) if reply.body else ""
    return CallFailure(name=reply.error_name or "", text=text)


def _properties(reply: Message, wanted: Collection[str]) -> Properties:
    # A unit has about 400 properties: unwrap only what is wanted.
    everything = reply.body[0] if reply.body and isinstance(reply.body[0], dict) else {}
    return {name: unpack_variants(everything[name]) for name in wanted if name in everything}
