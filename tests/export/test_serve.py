"""The server that Prometheus scrapes, asked by real clients, polite and rude ones."""

from __future__ import annotations

import base64
import gzip
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from pathlib import Path

import bcrypt
import pytest

from quota_advisor.cli import run
from quota_advisor.cli.export import parse_listen
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.errors import ConfigError, UsageError
from quota_advisor.export import server as server_module
from quota_advisor.export.families import HostCollector
from quota_advisor.export.reading import HostReader
from quota_advisor.export.server import MAX_CONNECTIONS, MetricsServer
from quota_advisor.export.web_config import WebConfig, load_web_config

PATIENCE_SEC = 60


@contextmanager
def serving(host: Path, config: WebConfig | None = None) -> Iterator[tuple[str, list[str]]]:
    """Serve on a free port; gives the address and what was complained of."""
    said: list[str] = []
    collector = HostCollector(HostReader(HostRoot(host)).read, lambda _reading: None)
    with MetricsServer(("127.0.0.1", 0), collector, config or WebConfig(), said.append) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.url.removesuffix("/metrics"), said
        finally:
            server.shutdown()
            thread.join()


def get(
    url: str,
    headers: dict[str, str] | None = None,
    method: str = "GET",
    context: ssl.SSLContext | None = None,
) -> tuple[int, Message, bytes]:
    request = urllib.request.Request(url, headers=headers or {}, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SEC, context=context) as answer:  # noqa: S310
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_a_scrape_in_each_format(host: Path) -> None:
    with serving(host) as (url, said):
        status, headers, body = get(f"{url}/metrics")
        assert status == 200
        assert headers["Content-Type"].startswith("text/plain; version=")
        assert b'quota_advisor_cgroup_cpu_periods_total{cgroup="/system.slice/api.service"}' in body
        openmetrics = {"Accept": "application/openmetrics-text; version=1.0.0"}
        _, headers, body = get(f"{url}/metrics", openmetrics)
        assert headers["Content-Type"].startswith("application/openmetrics-text")
        assert body.endswith(b"# EOF\n")
        _, headers, body = get(f"{url}/metrics", {"Accept-Encoding": "gzip"})
        assert b"api.service" in gzip.decompress(body)
        assert said == []


def test_other_pages_and_methods(host: Path) -> None:
    with serving(host) as (url, said):
        assert get(f"{url}/-/healthy")[0] == 200
        assert b'href="/metrics"' in get(url)[2]
        assert get(f"{url}/../etc/passwd")[0] == 404
        assert get(f"{url}/metrics", method="POST")[0] == 405
        status, headers, body = get(f"{url}/metrics", method="HEAD")
        assert (status, body) == (200, b"")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert said == []


def test_a_host_that_is_gone_is_an_error_and_no_empty_page(host: Path) -> None:
    with serving(host) as (url, said):
        (host / "sys").rename(host / "gone")
        status, _, body = get(f"{url}/metrics")
        assert status == 503
        assert b"no cgroup hierarchy" in body
        assert len(said) == 1
        (host / "gone").rename(host / "sys")
        assert get(f"{url}/metrics")[0] == 200


def test_silent_clients_hold_up_nobody(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "DEADLINE_SEC", 1.0)
    with serving(host) as (url, said):
        port = int(url.rpartition(":")[2])
        rude = [socket.create_connection(("127.0.0.1", port)) for _ in range(MAX_CONNECTIONS - 1)]
        rude[0].sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        rude[1].sendall(b"\x16\x03\x01nonsense\r\n\r\n")
        rude[2].sendall(b"GET /" + b"a" * 100_000)
        assert get(f"{url}/metrics")[0] == 200
        # One that trickles never falls silent: its deadline ends it.
        started = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - started < PATIENCE_SEC:
                rude[0].sendall(b"a")
                time.sleep(0.05)
            pytest.fail("nobody ended it")
        for connection in rude:
            connection.close()
        assert get(f"{url}/metrics")[0] == 200
        assert said == []


def test_more_clients_than_there_is_room_for_are_turned_away(host: Path) -> None:
    with serving(host) as (url, _):
        port = int(url.rpartition(":")[2])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(MAX_CONNECTIONS)]
        with socket.create_connection(("127.0.0.1", port)) as late:
            late.settimeout(PATIENCE_SEC)
            with suppress(ConnectionError):
                assert late.recv(1) == b""
        for connection in held:
            connection.close()
        deadline = time.monotonic() + PATIENCE_SEC
        status = 0
        while status != 200 and time.monotonic() < deadline:
            with suppress(OSError):
                status = get(f"{url}/metrics")[0]
        assert status == 200


def test_a_client_that_leaves_in_the_middle_is_no_news(host: Path) -> None:
    with serving(host) as (url, said):
        port = int(url.rpartition(":")[2])
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        assert get(f"{url}/metrics")[0] == 200
        assert said == []


def certificate(directory: Path) -> tuple[Path, Path]:
    key, cert = directory / "key.pem", directory / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def test_tls_and_passwords_of_a_web_configuration(host: Path, tmp_path: Path) -> None:
    cert, _ = certificate(tmp_path)
    hashed = bcrypt.hashpw(b"let me in", bcrypt.gensalt(4)).decode()
    config = tmp_path / "web.yml"
    config.write_text(
        "tls_server_config: {cert_file: cert.pem, key_file: key.pem, min_version: TLS13}\n"
        "http_server_config: {headers: {X-Frame-Options: deny}}\n"
        f"basic_auth_users: {{prom: '{hashed}'}}\n"
    )
    context = ssl.create_default_context(cafile=str(cert))
    with serving(host, load_web_config(config)) as (url, said):
        assert url.startswith("https://")
        status, headers, _ = get(f"{url}/metrics", context=context)
        assert status == 401
        assert headers["WWW-Authenticate"].startswith("Basic ")
        for wrong in ("prom:let me out", "nobody:let me in", "prom", ":", "x" * 200):
            assert get(f"{url}/metrics", basic(wrong), context=context)[0] == 401
        assert get(f"{url}/metrics", {"Authorization": "Basic %%%"}, context=context)[0] == 401
        for _ in range(2):
            status, headers, body = get(f"{url}/metrics", basic("prom:let me in"), context=context)
            assert (status, headers["X-Frame-Options"]) == (200, "deny")
            assert b"api.service" in body
        # Somebody who speaks no TLS, and one who says nothing, while others are served.
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            with socket.create_connection(("127.0.0.1", port)):
                assert get(f"{url}/metrics", basic("prom:let me in"), context=context)[0] == 200
        assert said == []


def basic(text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tls_server_confg: {}", "'tls_server_confg' is not supported: did you mean"),
        ("tls_server_config: {cert_file: a}", "lacks key_file"),
        ("tls_server_config: {cert_file: a, key_file: b}", "cannot be used: No such file"),
        ("tls_server_config: {cert_file: a, key_file: b, cipher_suites: [x]}", "not supported"),
        ("tls_server_config: {cert_file: a, key_file: b, min_version: TLS10}", "choose from TLS12"),
        ("basic_auth_users: {a: secret}", "is no bcrypt hash: make one"),
        ("basic_auth_users: [a]", "wants names"),
        ("http_server_config: {http2: false}", "not supported"),
        ('http_server_config: {headers: {X-Frame-Options: "a\\nb"}}', "a text of one line"),
        ("[1, 2]", "holds no settings"),
        ("a: [", "no YAML"),
    ],
)  # fmt: skip
def test_a_web_configuration_that_would_have_no_effect_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "web.yml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_web_config(file)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_no_web_configuration_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_web_config(tmp_path / "missing.yml")
    (tmp_path / "empty.yml").write_text("")
    assert load_web_config(tmp_path / "empty.yml") == WebConfig(users={}, headers={})


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9750", ("127.0.0.1", 9750)),
        ("[::1]:1", ("::1", 1)),
        (":65535", ("0.0.0.0", 65535)),  # noqa: S104 - what is asked for
        ("localhost:0", ("localhost", 0)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_listen(text) == address


@pytest.mark.parametrize("text", ["9750", "a:b", "a:65536", "a:-1", "a:", "a:٣", ""])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="not HOST:PORT"):
        parse_listen(text)


def test_a_port_in_use(host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["export", "serve", "--root", str(host), "--listen", f"127.0.0.1:{port}"]) == 3
    assert f"127.0.0.1:{port}: cannot listen: address already in use" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_program_stops_when_told_and_answers_who_is_being_answered(
    host: Path, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "quota_advisor", "export", "serve", "--root", str(host)]
    program = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    assert program.stderr is not None
    line = program.stderr.readline()
    url = line.split(" on ")[1].strip()
    assert get(url)[0] == 200
    port = int(url.rpartition(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port)) as silent:
        silent.sendall(b"GET /metr")
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.sendall(b"GET /metrics HTTP/1.0\r\n")
            assert get(url)[0] == 200
            os.kill(program.pid, number)
            slow.sendall(b"\r\n")
            assert slow.recv(12) == b"HTTP/1.0 200"
        assert program.wait(timeout=PATIENCE_SEC) == 0
    assert program.stderr.read() == ""
    program.stderr.close()
