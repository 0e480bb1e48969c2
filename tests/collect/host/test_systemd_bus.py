"""Both D-Bus libraries against a bus of the test's own, without systemd and with a false one."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.parse import quote

import pytest
from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.systemd import BusError, UnitBus, connect, read_units
from quota_advisor.collect.host.systemd.address import find_buses
from quota_advisor.collect.host.systemd.bus import MAX_IN_FLIGHT, BusAddress, CallFailure
from quota_advisor.collect.host.systemd.connect import Adapter
from quota_advisor.model.limit import Missing

SYSTEMD = "org.freedesktop.systemd1"
UNITS = "/org/freedesktop/systemd1/unit/"

GIVEN_UP_SEC = 120
"""How long an answer may take that comes at once on a quiet machine."""

# PyGObject 3.42 imports its modules the old way.
pytestmark = pytest.mark.filterwarnings("ignore:DynamicImporter:ImportWarning")

needs_daemon = pytest.mark.skipif(
    shutil.which("dbus-daemon") is None, reason="dbus-daemon is not installed"
)


@pytest.fixture(params=["dbus-fast", "pydbus"])
def adapter(request: pytest.FixtureRequest) -> Adapter:
    chosen: Adapter = request.param
    if chosen == "pydbus" and importlib.util.find_spec("pydbus") is None:
        pytest.skip("pydbus is not installed (the lab runs this with it)")
    return chosen


@pytest.fixture
def host() -> Iterator[Path]:
    # A short path: a socket's may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="qa-", dir="/tmp") as directory:
        yield Path(directory)


@pytest.fixture
def system_bus(host: Path) -> Iterator[Path]:
    place = host / "run/dbus/system_bus_socket"
    place.parent.mkdir(parents=True)
    with message_bus(place) as started:
        yield started


@contextlib.contextmanager
def message_bus(place: Path) -> Iterator[Path]:
    escaped = quote(str(place)).replace("~", "%7e")
    address = f"--address=unix:path={escaped}"
    command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"]
    daemon = subprocess.Popen([*command, address], stdout=subprocess.PIPE)
    try:
        assert daemon.stdout is not None
        assert daemon.stdout.readline()
        yield place
    finally:
        daemon.terminate()
        daemon.communicate()


def path(name: str) -> str:
    return UNITS + name.replace(".", "_2e")


class FalseSystemd:
    """Answers as systemd would, and as it should not, by the name of the unit asked about."""

    def __init__(self, place: Path, names: list[str]) -> None:
        self.names = names
        self.waiting = 0
        self.most_waiting = 0
        self._address = f"unix:path={place}"
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _serve(self) -> None:
        self._loop.run_until_complete(self._run())
        self._loop.close()

    async def _run(self) -> None:
        self._bus = await MessageBus(bus_address=self._address).connect()
        self._bus.add_message_handler(self._answer)
        await self._bus.request_name(SYSTEMD)
        self._ready.set()
        await self._stop.wait()
        self._bus.disconnect()

    def _answer(self, call: Message) -> Message | bool | None:
        if call.message_type is not MessageType.METHOD_CALL:
            return None
        if call.member == "ListUnits":
            rows = [
                [n, "text", "loaded", "active", "", "", path(n), 0, "", "/"] for n in self.names
            ]
            return Message.new_method_return(call, "a(ssssssouso)", [rows])
        if call.member == "Get":
            return Message.new_method_return(call, "v", [Variant("s", "999 (false)")])
        return self._properties(call, (call.path or "").removeprefix(UNITS))

    def _properties(self, call: Message, name: str) -> Message | bool | None:
        if name.startswith("gone"):
            return Message.new_error(call, f"{SYSTEMD}.NoSuchUnit", f"Unit {name} not found.")
        if name.startswith("denied"):
            return Message.new_error(call, "org.freedesktop.DBus.Error.AccessDenied", "No: you.")
        if name.startswith("silent"):
            return True
        if name.startswith("hangup"):
            self._stop.set()
            return True
        if name.startswith("slow"):
            self.waiting += 1
            self.most_waiting = max(self.most_waiting, self.waiting)
            self._loop.call_later(0.02, self._answer_late, call)
            return True
        return Message.new_method_return(call, "a{sv}", [PROPERTIES])

    def _answer_late(self, call: Message) -> None:
        self.waiting -= 1
        self._bus.send(Message.new_method_return(call, "a{sv}", [PROPERTIES]))


PROPERTIES = {
    "CPUQuotaPerSecUSec": Variant("t", 2**64 - 1),
    "CPUWeight": Variant("t", 100),
    "AllowedCPUs": Variant("ay", b"\x03"),
    "DropInPaths": Variant("as", ["/a", "/b\N{SNOWMAN}"]),
    "Delegate": Variant("b", True),
    "ControlGroup": Variant("s", "/system.slice/a"),
    "Nested": Variant("(sv)", ["a", Variant("i", -1)]),
    "Unwanted": Variant("s", "x"),
}


def connected(host: Path, adapter: Adapter, timeout_sec: float = GIVEN_UP_SEC) -> UnitBus:
    bus = connect(HostRoot(host), "system", adapter, timeout_sec=timeout_sec)
    assert not isinstance(bus, Missing), bus
    return bus


def test_no_systemd_is_one_sentence(host: Path, adapter: Adapter) -> None:
    assert connect(HostRoot(host), "system", adapter) == Missing(
        reason="systemd does not run here: /run/systemd/system does not exist below the root"
    )


def test_systemd_without_a_bus_is_one_sentence(host: Path, adapter: Adapter) -> None:
    (host / "run/systemd/system").mkdir(parents=True)
    assert connect(HostRoot(host), "system", adapter) == Missing(
        reason="systemd runs here but cannot be reached: "
        "/run/dbus/system_bus_socket does not exist below the root"
    )


def test_no_user_manager_is_one_sentence(host: Path, adapter: Adapter) -> None:
    uid = os.getuid()
    assert connect(HostRoot(host), "user", adapter) == Missing(
        reason=f"no systemd manager of user {uid}: /run/user/{uid}/bus does not exist"
    )


def test_a_socket_that_nobody_listens_at_is_no_bus(host: Path, adapter: Adapter) -> None:
    place = host / "run/dbus/system_bus_socket"
    place.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(place))
    assert connect(HostRoot(host), "system", adapter) == Missing(
        reason="nobody listens at /run/dbus/system_bus_socket"
    )


@needs_daemon
@pytest.mark.usefixtures("system_bus")
def test_a_bus_without_systemd_says_so(host: Path, adapter: Adapter) -> None:
    assert connect(HostRoot(host), "system", adapter) == Missing(
        reason="no systemd on the bus at /run/dbus/system_bus_socket"
    )


@needs_daemon
def test_the_environment_names_the_bus_of_the_running_host(
    system_bus: Path, adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={system_bus}")
    answer = connect(HostRoot(Path("/")), "system", adapter)
    assert isinstance(answer, Missing)
    assert answer.reason.startswith("no systemd on the bus at system bus (unix:path=")


@needs_daemon
def test_a_path_with_any_character_is_reached(host: Path, adapter: Adapter) -> None:
    odd = host / "a b,c;d=e%f~g:\N{SNOWMAN}"
    (odd / "run/dbus").mkdir(parents=True)
    with message_bus(odd / "run/dbus/system_bus_socket"):
        answer = connect(HostRoot(odd), "system", adapter)
    assert answer == Missing(reason="no systemd on the bus at /run/dbus/system_bus_socket")


@needs_daemon
def test_values_are_plain_and_in_the_order_asked_for(
    host: Path, system_bus: Path, adapter: Adapter
) -> None:
    names = ["a", "gone", "b"]
    wanted = {"CPUQuotaPerSecUSec", "AllowedCPUs", "DropInPaths", "Delegate", "Nested", "None"}
    with FalseSystemd(system_bus, names), connected(host, adapter) as bus:
        assert [unit.name for unit in bus.list_units()] == names
        first, second, third = bus.get_all([path(name) for name in names], wanted)
        assert bus.get_all([], wanted) == []
        assert bus.manager_property("Version") == "999 (false)"

    assert first == third
    assert second == CallFailure(name=f"{SYSTEMD}.NoSuchUnit", text="Unit gone not found.")
    assert not isinstance(first, CallFailure)
    assert set(first) == wanted - {"None"}
    assert first["CPUQuotaPerSecUSec"] == 2**64 - 1
    assert first["AllowedCPUs"] == b"\x03"
    assert type(first["AllowedCPUs"]) is bytes
    assert first["DropInPaths"] == ["/a", "/b\N{SNOWMAN}"]
    assert first["Delegate"] is True
    assert list(first["Nested"]) == ["a", -1]  # type: ignore[call-overload]


@needs_daemon
def test_errors_about_units_stay_with_those_units(
    host: Path, system_bus: Path, adapter: Adapter
) -> None:
    names = ["a.service", "gone.service", "denied.service", "b.slice", "c.target"]
    with FalseSystemd(system_bus, names), connected(host, adapter) as bus:
        units, problems = read_units(bus, "system")
    assert [unit.name for unit in units] == ["a.service", "b.slice"]
    assert [(p.subject, p.reason) for p in problems] == [("denied.service", "No: you.")]


@needs_daemon
def test_a_bounded_number_of_calls_is_in_flight(
    host: Path, system_bus: Path, adapter: Adapter
) -> None:
    names = [f"slow{number}.service" for number in range(3 * MAX_IN_FLIGHT)]
    with FalseSystemd(system_bus, names) as systemd, connected(host, adapter) as bus:
        units, problems = read_units(bus, "system")
    assert len(units) == len(names)
    assert problems == []
    assert systemd.most_waiting <= MAX_IN_FLIGHT
    # How many really wait depends on how fast the answers come; one at a time would be 1.
    assert systemd.most_waiting > 1


@needs_daemon
def test_a_manager_that_does_not_answer_is_given_up(
    host: Path, system_bus: Path, adapter: Adapter
) -> None:
    names = ["a.service", "silent.service", "b.service"]
    with FalseSystemd(system_bus, names):
        started = time.monotonic()
        with connected(host, adapter) as bus:
            bus.list_units()
        # Much longer than this machine takes for what is answered.
        limit_sec = 1 + round(10 * (time.monotonic() - started))
        with connected(host, adapter, limit_sec) as bus:
            units, problems = read_units(bus, "system")
    assert units == ()
    assert [p.reason for p in problems] == [
        f"/run/dbus/system_bus_socket: no answer from systemd within {limit_sec} s"
    ]


@needs_daemon
def test_a_manager_that_leaves_is_an_error_and_no_traceback(
    host: Path, system_bus: Path, adapter: Adapter
) -> None:
    with FalseSystemd(system_bus, ["hangup.service"]), connected(host, adapter) as bus:
        _, problems = read_units(bus, "system")
    # The bus answers for the manager that is gone: it is the unit's error, or the call's.
    assert len(problems) == 1


@needs_daemon
def test_a_bus_that_breaks_is_an_error_and_stays_one(host: Path, adapter: Adapter) -> None:
    place = host / "run/dbus/system_bus_socket"
    place.parent.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(contextlib.ExitStack())
        daemon.enter_context(message_bus(place))
        systemd = stack.enter_context(FalseSystemd(place, ["a.service"]))
        bus = stack.enter_context(connected(host, adapter, timeout_sec=GIVEN_UP_SEC))
        assert len(bus.list_units()) == 1
        systemd.__exit__()
        daemon.close()
        started = time.monotonic()
        for _ in range(2):
            with pytest.raises(BusError):
                bus.list_units()
            with pytest.raises(BusError):
                bus.get_all([path("a.service")] * 100, {"CPUWeight"})
        # Nobody waited for an answer from a bus that is gone.
        assert time.monotonic() - started < GIVEN_UP_SEC


@pytest.mark.parametrize("speech", [b"", b"220 mail.example ESMTP\r\n", b"\x00\xff" * 40000])
def test_a_socket_that_is_no_bus_is_an_error(host: Path, adapter: Adapter, speech: bytes) -> None:
    place = host / "run/dbus/system_bus_socket"
    place.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        speaker = threading.Thread(target=speak, args=(listener, speech), daemon=True)
        speaker.start()
        with pytest.raises(BusError, match="system_bus_socket"):
            connect(HostRoot(host), "system", adapter, timeout_sec=1)
        speaker.join(GIVEN_UP_SEC)


def speak(listener: socket.socket, speech: bytes) -> None:
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(speech)
            # With nothing to say, hold the line: the caller must give up and hang up by itself.
            while not speech and connection.recv(4096):
                pass


def test_a_library_that_is_not_installed_is_an_error_with_a_way_out(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (host / "run/dbus").mkdir(parents=True)
    (host / "run/dbus/system_bus_socket").touch()
    forget(monkeypatch, "pydbus")
    with pytest.raises(BusError, match="python3-pydbus"):
        connect(HostRoot(host), "system", "pydbus")


def test_auto_falls_back_on_pydbus(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (host / "run/dbus").mkdir(parents=True)
    (host / "run/dbus/system_bus_socket").touch()
    forget(monkeypatch, "dbus_fast")
    forget(monkeypatch, "pydbus")
    with pytest.raises(BusError, match="pydbus cannot be used"):
        connect(HostRoot(host), "system", "auto")


def forget(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """Make a library, and our module that uses it, as if never installed or imported."""
    module = f"quota_advisor.collect.host.systemd.bus_{library}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)


def test_systemds_own_socket_serves_root_where_there_is_no_bus(host: Path) -> None:
    (host / "run/systemd/system").mkdir(parents=True)
    (host / "run/systemd/private").touch()
    root = HostRoot(host)
    ways = find_buses(root, "system", {}, 0)
    assert not isinstance(ways, Missing)
    (found,) = ways
    assert (found.label, found.direct) == ("/run/systemd/private", True)
    behind = Path(found.address.removeprefix("unix:path="))
    assert behind.samefile(host / "run/systemd/private")
    assert isinstance(find_buses(root, "system", {}, 1000), Missing)


def test_the_message_bus_comes_before_systemds_own_socket(host: Path) -> None:
    for name in ("run/dbus/system_bus_socket", "run/systemd/private"):
        (host / name).parent.mkdir(parents=True)
        (host / name).touch()
    root = HostRoot(host)
    assert labels(find_buses(root, "system", {}, 0)) == [
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
    ]
    assert labels(find_buses(root, "system", {}, 1000)) == ["/run/dbus/system_bus_socket"]


def test_the_environment_does_not_count_for_another_host(host: Path) -> None:
    environ = {
        "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/elsewhere",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/elsewhere",
        "XDG_RUNTIME_DIR": "/elsewhere",
    }
    root = HostRoot(host)
    assert isinstance(find_buses(root, "system", environ, 1000), Missing)
    assert isinstance(find_buses(root, "user", environ, 1000), Missing)
    (host / "run/user/1000").mkdir(parents=True)
    (host / "run/user/1000/bus").touch()
    assert labels(find_buses(root, "user", environ, 1000)) == ["/run/user/1000/bus"]


def test_the_runtime_directory_comes_before_the_session_bus(host: Path) -> None:
    environ = {
        "XDG_RUNTIME_DIR": str(host),
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/elsewhere",
    }
    live = HostRoot(Path("/"))
    expected = ["session bus (unix:path=/elsewhere)"]
    assert labels(find_buses(live, "user", environ, 1000)) == expected
    (host / "bus").touch()
    assert labels(find_buses(live, "user", environ, 1000)) == [f"{host}/bus"]


def test_a_link_in_an_image_does_not_lead_to_the_bus_of_this_machine(host: Path) -> None:
    (host / "run").symlink_to("/run")
    assert isinstance(find_buses(HostRoot(host), "system", {}, 0), Missing)


def labels(ways: tuple[BusAddress, ...] | Missing) -> list[str]:
    return [] if isinstance(ways, Missing) else [way.label for way in ways]
