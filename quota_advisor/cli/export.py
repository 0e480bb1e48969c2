"""``quota-advisor export``: counters, rules and a dashboard for Prometheus."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quota_advisor.cli.streams import say, write_report
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.errors import UsageError
from quota_advisor.export.reading import HostReader, Reading
from quota_advisor.files.writing import check_file, write_file
from quota_advisor.printable import printable

if TYPE_CHECKING:
    from quota_advisor.export.server import MetricsServer

EXIT_BLIND = 3

_root = click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default="/",
    show_default=True,
    help="Read every host file below this directory: a host mounted into a container.",
)
_output = click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file, in one step.  [default: standard output]",
)


@click.group("export")
def command() -> None:
    """Give the counters of this host to Prometheus, with rules and a dashboard for them."""


@command.command("textfile")
@_root
@_output
def textfile(*, root: Path, output: Path | None) -> int:
    """Write the counters of every cgroup once, for node_exporter's textfile collector.

    \b
    quota-advisor export textfile
    quota-advisor export textfile --output /var/lib/prometheus/node-exporter/quota_advisor.prom
    """  # noqa: D301 - click's mark for lines to keep
    from quota_advisor.export.text import exposition  # noqa: PLC0415 - of this command alone

    _check(output)
    reading = HostReader(HostRoot(root)).read()
    _write(output, exposition(reading))
    if output is not None and output.suffix not in ("", ".prom") and output.is_file():
        say(f"quota-advisor: {output}: node_exporter reads files that end in .prom alone")
    _tell(reading)
    return EXIT_BLIND if reading.problems else 0


@command.command("serve")
@click.option(
    "--listen",
    default="127.0.0.1:9750",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; [::1]:9750 for IPv6. :9750 is every address of this machine.",
)
@click.option(
    "--web-config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="TLS and passwords, in the form of Prometheus' web configuration files.",
)
@_root
def serve(*, listen: str, web_config: Path | None, root: Path) -> int:
    """Serve the counters of every cgroup over HTTP until it is told to stop.

    Scraped at /metrics. The host is read when it is scraped.

    \b
    quota-advisor export serve
    quota-advisor export serve --listen 0.0.0.0:9750 --web-config web.yml
    """  # noqa: D301 - as above
    address = parse_listen(listen)
    try:
        from quota_advisor.export.families import HostCollector  # noqa: PLC0415 - an extra
        from quota_advisor.export.server import MetricsServer  # noqa: PLC0415 - the same
        from quota_advisor.export.web_config import WebConfig, load_web_config  # noqa: PLC0415
    except ModuleNotFoundError as error:
        hint = "pip install 'quota-advisor[export]'"
        raise UsageError(f"export serve needs {error.name}", hint=hint) from error
    config = WebConfig() if web_config is None else load_web_config(web_config)
    reader = HostReader(HostRoot(root))
    first = reader.read()
    told = _Told()
    told(first)
    # A command that ends soon does without; this one does not end.
    gc.enable()
    with MetricsServer(address, HostCollector(reader.read, told), config, _say) as server:
        _say(f"{len(first.groups)} cgroups on {server.url}")
        _serve(server)
    return 0


def _serve(server: MetricsServer) -> None:
    """Serve until a signal comes; a second one ends the program at once."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    thread = threading.Thread(target=server.serve_forever, name="accept")
    thread.start()
    stop.wait()
    for number, handler in before.items():
        signal.signal(number, handler)
    server.shutdown()
    thread.join()


def parse_listen(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``; no host is every address.

    Raises:
        UsageError: It is neither.
    """
    host, colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004
        raise UsageError(f"--listen {text}: not HOST:PORT", hint="for example 127.0.0.1:9750")
    return host or "0.0.0.0", int(port)  # noqa: S104 - as every exporter reads :PORT


class _Told:
    """Says what could not be read, once as long as it stays the same."""

    def __init__(self) -> None:
        self._last: Iterable[object] = ()

    def __call__(self, reading: Reading) -> None:
        if reading.problems != self._last:
            self._last = reading.problems
            _tell(reading)


def _tell(reading: Reading) -> None:
    for problem in reading.problems[:10]:
        hint = f": {problem.hint}" if problem.hint else ""
        _say(f"{problem.subject}: {problem.reason}{hint}")
    if len(reading.problems) > 10:  # noqa: PLR2004 - as above
        _say(f"and {len(reading.problems) - 10} more")


def _say(text: str) -> None:
    say(f"quota-advisor: {printable(text)}")


def _check(output: Path | None) -> None:
    if output is not None:
        check_file(output)


def _write(output: Path | None, text: str | Iterable[str]) -> None:
    if output is None:
        write_report(text)
    else:
        write_file(output, text)


@command.command("rules")
@click.argument("target", type=click.Choice(["host", "kubernetes", "all"]), default="all")
@click.option(
    "--for",
    "hold",
    metavar="DURATION",
    help="How long a share must stay too high before an alert fires.  [default: 5m on hosts, 15m"
    " in Kubernetes]",
)
@_output
def rules(*, target: str, hold: str | None, output: Path | None) -> int:
    """Write alerts and recordings for Prometheus, for hosts and for Kubernetes.

    On hosts, of the series of this exporter: 5 % of the active periods throttled. In Kubernetes, of
    those of cAdvisor: 25 %, and a ranking from 5 % on.

    \b
    quota-advisor export rules host --output /etc/prometheus/rules/quota-advisor.yml
    quota-advisor export rules --for 10m
    """  # noqa: D301 - as above
    from quota_advisor.export.rules import rules_text  # noqa: PLC0415 - of this command alone

    text = rules_text(target, hold)
    _check(output)
    _write(output, text)
    return 0


@command.command("dashboard")
@_output
def dashboard(*, output: Path | None) -> int:
    """Write a dashboard for Grafana: what is throttled, worst first, and quotas beside peaks."""
    from quota_advisor.export.dashboard import dashboard_text  # noqa: PLC0415 - as above

    _check(output)
    _write(output, dashboard_text())
    return 0
