"""What a server may answer instead of what was asked for, and what a kubeconfig may hold."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from quota_advisor.collect.cluster.connection import Connection, RefusedError, connect
from quota_advisor.collect.cluster.facts import Part, collect
from quota_advisor.errors import CollectError, UsageError

TOKEN = "s3cret-token"  # noqa: S105 - it is none


class Answers(BaseHTTPRequestHandler):
    """Answers every question alike, and keeps what it was asked."""

    code: ClassVar[int] = 200
    body: ClassVar[bytes] = b"{}"
    claims: ClassVar[int] = 0
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization", ""))
        self.send_response(self.code)
        self.send_header("Content-Length", str(self.claims or len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[type[Answers]]:
    """Run a server; what is set at the class that it gives is what it answers."""

    class Own(Answers):
        seen: ClassVar[list[str]] = []

    running = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    Own.url = f"http://127.0.0.1:{running.server_address[1]}"  # type: ignore[attr-defined]
    yield Own
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def connection(server: type[Answers], tmp_path: Path) -> Connection:
    return connect(kubeconfig(tmp_path, str(server.url)), None, 5.0)  # type: ignore[attr-defined]


def kubeconfig(directory: Path, url: str) -> Path:
    path = directory / "config"
    path.write_text(
        f"""\
apiVersion: v1
kind: Config
current-context: here
contexts: [{{name: here, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "{url}"}}}}]
users: [{{name: u, user: {{token: {TOKEN}}}}}]
"""
    )
    return path


def test_the_token_is_sent_and_never_shown(server: type[Answers], connection: Connection) -> None:
    server.code = 401
    server.body = b'{"kind": "Status", "message": "Unauthorized"}'
    with pytest.raises(RefusedError) as raised:
        connection.get("/api/v1/pods")
    assert server.seen == [f"Bearer {TOKEN}"]
    assert TOKEN not in str(raised.value)
    assert raised.value.code == 401
    assert "expired" in raised.value.hint


@pytest.mark.parametrize(
    ("code", "body", "claims", "told"),
    [
        (502, b"<html>Bad Gateway</html>", 0, "HTTP 502"),
        (503, b'["no status"]', 0, "HTTP 503"),
        (599, b"", 0, "HTTP 599"),
        (200, b'{"items": [', 0, "broke off"),
        (200, b'{"items": []}', 1000, "the connection broke off|the answer broke off"),
        (200, b"\xff\xfe", 0, "broke off"),
    ],
)
def test_what_is_no_answer_is_one_line(
    server: type[Answers], connection: Connection, code: int, body: bytes, claims: int, told: str
) -> None:
    server.code, server.body, server.claims = code, body, claims
    with pytest.raises(CollectError, match=told):
        connection.get("/api/v1/pods")


@pytest.mark.parametrize("body", [b"[]", b"1", b'"ok"'])
def test_something_else_that_answers_is_told(
    server: type[Answers], connection: Connection, body: bytes
) -> None:
    server.body = body
    with pytest.raises(CollectError, match="no API server"):
        collect(connection, Part())


def test_odd_objects_lose_nothing_else(server: type[Answers], connection: Connection) -> None:
    server.body = b'{"gitVersion": 7, "items": [{}, null, 3, {"spec": []}, {"metadata": "x"}]}'
    facts = collect(connection, Part())
    assert facts.problems == ()


def test_an_answer_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    import socket  # noqa: PLC0415 - one test

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        slow = connect(kubeconfig(tmp_path, url), None, 0.2)
        with pytest.raises(CollectError, match=r"no answer within 0\.2 s"):
            slow.get("/version")


@pytest.mark.parametrize(
    "text", ["", "[", "a: b", "kind: Config", "\x00", "contexts: 7", "users: [{name: secret-name}]"]
)
def test_what_is_no_kubeconfig_is_one_line_without_its_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises((CollectError, UsageError)) as raised:
        connect(path, None, 1.0)
    assert "secret-name" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CollectError, match="kubectl"):
        connect(tmp_path / "none", None, 1.0)


def test_only_dry_runs_are_sent(connection: Connection) -> None:
    with pytest.raises(ValueError, match="nothing is written"):
        connection.send("PATCH", "/apis/apps/v1/x", b"{}", "application/json", "")
