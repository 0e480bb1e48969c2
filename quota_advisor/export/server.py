"""The HTTP server that Prometheus scrapes: small, and hard to hold up.

A client that is slow, silent or many costs a thread for a few seconds and nobody else anything:
connections are counted, each has a deadline over all it does, TLS included.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

from quota_advisor.errors import CollectError, QuotaAdvisorError
from quota_advisor.export.families import HostCollector
from quota_advisor.export.web_config import WebConfig

MAX_CONNECTIONS = 16
"""More at once are turned away: a Prometheus and its twin need two."""

DEADLINE_SEC = 20.0
"""For a whole connection; Prometheus itself gives up after 10 s unless told otherwise."""

SILENCE_SEC = 5.0
"""Longest wait for a client's next byte."""

_PAGE = b"""<!doctype html><html lang="en"><title>quota-advisor</title>
<h1>quota-advisor</h1><p><a href="/metrics">Metrics</a></p></html>
"""

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class MetricsServer(ThreadingMixIn, WSGIServer):
    """Serves on one address until it is closed.

    Args:
        address: Host and port; port 0 takes any that is free.
        collector: What is scraped.
        config: TLS and passwords.
        on_error: Told, in a line, what went wrong while it served.

    Raises:
        CollectError: The address cannot be had.
    """

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64
    allow_reuse_address = True

    def __init__(
        self,
        address: tuple[str, int],
        collector: HostCollector,
        config: WebConfig,
        on_error: Callable[[str], None],
    ) -> None:
        self._config = config
        self._on_error = on_error
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._deadlines: dict[socket.socket, float] = {}
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        try:
            super().__init__(address, _Handler)
        except (OSError, OverflowError) as error:
            raise _cannot_listen(address, error) from error
        self.set_app(_application(collector, config, on_error))

    @property
    def url(self) -> str:
        """Where it is scraped."""
        scheme = "http" if self._config.tls is None else "https"
        name = f"[{self.server_name}]" if ":" in self.server_name else self.server_name
        return f"{scheme}://{name}:{self.server_port}/metrics"

    def server_bind(self) -> None:
        """Bind. The name of this host is not looked up: that would ask a name server."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        host, self.server_port = self.server_address[:2]
        self.server_name = str(host)
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection a thread, or turn it away."""
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._deadlines[request] = time.monotonic() + DEADLINE_SEC
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._done(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection; the handshake is part of it, so that it holds up nobody."""
        try:
            request.settimeout(SILENCE_SEC)
            if self._config.tls is None:
                super().process_request_thread(request, client_address)
            else:
                self._serve_tls(request, client_address)
        finally:
            self._done(request)

    def _serve_tls(self, request: socket.socket, client_address: Any) -> None:
        assert self._config.tls is not None  # noqa: S101 - the caller looked
        try:
            wrapped = self._config.tls.wrap_socket(
                request, server_side=True, do_handshake_on_connect=False
            )
        except OSError:
            self.shutdown_request(request)
            return
        # wrap_socket() moves the descriptor: the deadline must follow it.
        self._deadlines[wrapped] = self._deadlines.pop(request)
        try:
            wrapped.do_handshake()
        except OSError:  # not TLS, a certificate that was refused, silence
            self.shutdown_request(wrapped)
        else:
            super().process_request_thread(wrapped, client_address)
        finally:
            self._deadlines.pop(wrapped, None)

    def service_actions(self) -> None:
        """Cut connections whose time is up; called every half second."""
        now = time.monotonic()
        for request, deadline in list(self._deadlines.items()):
            if now > deadline:
                _cut(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Leave rude clients alone; anything else is said in one line."""
        import sys  # noqa: PLC0415 - the error is told nowhere else

        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self._on_error(f"{client_address[0]}: {type(error).__name__}: {error}")

    def server_close(self) -> None:
        """Stop: take no more, let those finish who are quick, cut the rest."""
        self.socket.close()
        cut = threading.Timer(SILENCE_SEC, self._cut_all)
        cut.start()
        super().server_close()
        cut.cancel()

    def _cut_all(self) -> None:
        for request in list(self._deadlines):
            _cut(request)

    def _done(self, request: socket.socket) -> None:
        self._deadlines.pop(request, None)
        self._slots.release()


class _Handler(WSGIRequestHandler):
    """Speaks HTTP; says nothing about each request, as Prometheus comes every few seconds."""

    timeout = SILENCE_SEC
    server_version = "quota-advisor"
    sys_version = ""

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def address_string(self) -> str:
        """Return the client's address, not its name: that would ask a name server."""
        return str(self.client_address[0])


def _application(
    collector: HostCollector, config: WebConfig, on_error: Callable[[str], None]
) -> Application:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    application = _with_headers(_pages(make_wsgi_app(registry), on_error), config)
    if not config.users:
        return application
    from quota_advisor.export.basic_auth import Gate  # noqa: PLC0415 - few have passwords

    return Gate(application, config.users)


def _pages(metrics: Application, on_error: Callable[[str], None]) -> Application:
    def pages(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path, head = environ["PATH_INFO"], environ["REQUEST_METHOD"] == "HEAD"
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _answer(start_response, "405 Method Not Allowed", b"GET only\n")
        if path == "/metrics":
            try:
                body = metrics({**environ, "REQUEST_METHOD": "GET"}, start_response)
            except QuotaAdvisorError as error:
                on_error(str(error))
                return _answer(start_response, "503 Service Unavailable", f"{error}\n".encode())
            return [] if head else body
        if path == "/-/healthy":
            return _answer(start_response, "200 OK", b"healthy\n", head=head)
        if path == "/":
            return _answer(start_response, "200 OK", _PAGE, head=head, kind="text/html")
        return _answer(start_response, "404 Not Found", b"see /metrics\n", head=head)

    return pages


def _answer(
    start_response: Any, status: str, body: bytes, *, head: bool = False, kind: str = "text/plain"
) -> Iterable[bytes]:
    headers = [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body)))]
    start_response(status, headers)
    return [] if head else [body]


def _with_headers(inner: Application, config: WebConfig) -> Application:
    more = {"X-Content-Type-Options": "nosniff", **config.headers}

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            return start_response(status, [*headers, *more.items()], *rest)

        return inner(environ, start)

    return application


def _cut(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def _cannot_listen(address: tuple[str, int], error: Exception) -> CollectError:
    where = f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"
    number = getattr(error, "errno", None)
    hints = {
        errno.EADDRINUSE: "another exporter? --listen takes another port",
        errno.EACCES: "ports below 1024 are for root",
        errno.EADDRNOTAVAIL: "this machine has no such address",
    }
    reason = os.strerror(number) if isinstance(number, int) and number > 0 else str(error)
    what = f"{where}: cannot listen: {reason[:1].lower()}{reason[1:]}"
    return CollectError(what, hint=hints.get(number or 0, ""))
