"""A real Prometheus on loopback with series that a test wrote, from Debian's package."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from quota_advisor.export.series import SERIES

STEP_SEC = 30
"""Seconds between two scrapes, as kube-prometheus has it."""

PATIENCE_SEC = 120

TYPES = {
    "container_cpu_usage_seconds": "counter",
    "container_cpu_cfs_periods": "counter",
    "container_cpu_cfs_throttled_periods": "counter",
    "container_cpu_cfs_throttled_seconds": "counter",
    "container_spec_cpu_quota": "gauge",
    "container_spec_cpu_period": "gauge",
    **{series.name.removesuffix("_total"): series.kind for series in SERIES},
}


class Series(NamedTuple):
    """One counter or gauge.

    Attributes:
        name: Without ``_total``.
        labels: As cAdvisor writes them.
        rate: What it rises by in a second, at so many seconds from the start; the value of a gauge.
    """

    name: str
    labels: dict[str, str]
    rate: Callable[[int], float]


def missing() -> str:
    """Return why there is no server to start; empty where there is one."""
    absent = [name for name in ("prometheus", "promtool") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not installed" if absent else ""


def open_metrics(series: Iterable[Series], span_sec: int, end: int) -> Iterator[str]:
    """Yield the text of series that end now, grouped by name as the format wants it."""
    by_name: dict[str, list[Series]] = {}
    for one in series:
        by_name.setdefault(one.name, []).append(one)
    for name, some in by_name.items():
        yield f"# TYPE {name} {TYPES[name]}\n"
        for one in some:
            labels = ",".join(f'{key}="{value}"' for key, value in one.labels.items())
            total = 0.0
            for at in range(0, span_sec + 1, STEP_SEC):
                if TYPES[name] == "gauge":
                    yield f"{name}{{{labels}}} {one.rate(at):.6f} {end - span_sec + at}\n"
                    continue
                total += one.rate(at) * STEP_SEC
                yield f"{name}_total{{{labels}}} {total:.6f} {end - span_sec + at}\n"
    yield "# EOF\n"


@contextmanager
def prometheus(directory: Path, series: Iterable[Series], span_sec: int) -> Iterator[str]:
    """Run a server that holds the series; gives its address."""
    text, data = directory / "series.txt", directory / "data"
    with text.open("w") as out:
        out.writelines(open_metrics(series, span_sec, int(time.time())))
    backfill = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
    subprocess.run(backfill, check=True, capture_output=True)
    with running(directory, "scrape_configs: []\n") as url:
        yield url


@contextmanager
def running(directory: Path, config: str) -> Iterator[str]:
    """Run a server with a configuration, its data in a directory; gives its address."""
    (directory / "prometheus.yml").write_text(config)
    port = free_port()
    with (directory / "prometheus.log").open("wb") as log:
        server = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={directory}/prometheus.yml",
                f"--storage.tsdb.path={directory}/data",
                "--storage.tsdb.retention.time=30d",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_ready(url, server, directory / "prometheus.log")
        yield url
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_until_ready(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SEC
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            with urllib.request.urlopen(f"{url}/-/ready") as answer:  # noqa: S310 - loopback
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{url} is not ready: {log.read_text(errors='replace')[-2000:]}")
