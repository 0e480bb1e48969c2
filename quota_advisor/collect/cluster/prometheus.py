"""Use and throttling of containers over days, asked of a Prometheus or anything with its API.

Percentiles are computed there, by subquery: what travels is a few numbers a container. Queries name
at most :data:`BATCH` pods each, so that none comes near the server's limit of samples.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from http import HTTPStatus
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

import quota_advisor
from quota_advisor.collect.cluster.shape import mapping, maps, text
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.model.cgroup import Basis, CounterWindow, Demand
from quota_advisor.model.cluster import Use
from quota_advisor.model.limit import Missing
from quota_advisor.records import NamedTuple, dataclass

BATCH = 50
"""Pods in one query: over a week at 30 s, with three containers each, 3 million samples."""

WINDOW_SEC = 300
"""Length of the windows of which the highest use counts."""

RATE_SEC = 120
"""Span of one rate: two scrapes at least where they are a minute apart."""

SOURCE = "Prometheus"

USAGE = "container_cpu_usage_seconds_total"
PERIODS = "container_cpu_cfs_periods_total"
THROTTLED = "container_cpu_cfs_throttled_periods_total"
THROTTLED_SECONDS = "container_cpu_cfs_throttled_seconds_total"
STALLED_SECONDS = "container_pressure_cpu_stalled_seconds_total"

_BY = "by (namespace, pod, container)"
_NO_WINDOW = Missing(reason="Prometheus does not tell")
_USEC = 1_000_000


class PodName(NamedTuple):
    """A pod, as series name it."""

    namespace: str
    name: str


Key = tuple[str, str, str]
"""Namespace, pod and container of a series; no container for a pod as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where to ask, and as whom.

    Attributes:
        url: Of the server, with the path below which its API is.
        headers: Sent with each question: a token, a tenant.
        ca: Certificates to trust in place of the system's.
        verify: Whether certificates are looked at.
        timeout_sec: How long one answer may take.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    ca: str | None = None
    verify: bool = True
    timeout_sec: float = 30.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("--prometheus: not an address", hint="https://host[:port][/path]")
        if parts.username or parts.password:
            raise UsageError(
                "--prometheus: no passwords in addresses",
                hint="give --prometheus-user and a file with --prometheus-password-file",
            )


class Prometheus:
    """Asks one server.

    Args:
        server: Where and as whom.
    """

    def __init__(self, server: Server) -> None:
        import urllib3  # noqa: PLC0415 - comes with the client of Kubernetes

        self._server = server
        self._pool = urllib3.PoolManager(
            cert_reqs="CERT_REQUIRED" if server.verify else "CERT_NONE", ca_certs=server.ca
        )
        if not server.verify:
            urllib3.disable_warnings()

    def query(self, expression: str) -> list[Mapping[str, Any]]:
        """Return the vector that an expression has now.

        Raises:
            TooMuchError: The server finds the query too large.
            CollectError: It does not answer, or with something else.
        """
        import urllib3  # noqa: PLC0415 - as above

        try:
            answer = self._pool.request(
                "POST",
                f"{self._server.url.rstrip('/')}/api/v1/query",
                fields={"query": expression},
                encode_multipart=False,
                headers={
                    "User-Agent": f"quota-advisor/{quota_advisor.__version__}",
                    **self._server.headers,
                },
                timeout=self._server.timeout_sec,
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise CollectError(
                f"Prometheus at {self._server.url}: {type(error).__name__}",
                hint="does it answer there?",
            ) from None
        return self._vector(answer.status, answer.data)

    def _vector(self, status: int, data: bytes) -> list[Mapping[str, Any]]:
        try:
            decoded: Any = json.loads(data)
        except ValueError:
            decoded = None
        body = decoded if isinstance(decoded, dict) else {}
        if status == HTTPStatus.OK and body.get("status") == "success":
            return maps(mapping(body, "data"), "result")
        said = text(body, "error")[:200] or f"HTTP {status}"
        if status == HTTPStatus.UNPROCESSABLE_ENTITY:
            raise TooMuchError(f"Prometheus at {self._server.url}: {said}")
        raise CollectError(f"Prometheus at {self._server.url}: {said}")


class TooMuchError(CollectError):
    """The server refuses a query for what it would cost."""


def measure(
    server: Prometheus, pods: Iterable[PodName], history_sec: int
) -> Iterator[tuple[Key, Use]]:
    """Yield what was measured of pods and of their containers.

    Args:
        server: The server.
        pods: The pods.
        history_sec: How far to look back.

    Raises:
        CollectError: The server does not answer.
    """
    for namespace, some in groupby(sorted(pods), key=lambda pod: pod.namespace):
        names = [pod.name for pod in some]
        for start in range(0, len(names), BATCH):
            batch = names[start : start + BATCH]
            yield from _measure_batch(server, namespace, batch, history_sec)


def _measure_batch(
    server: Prometheus, namespace: str, names: Sequence[str], history_sec: int
) -> Iterator[tuple[Key, Use]]:
    """Measure pods of a namespace; a query that is too large is asked in halves."""
    try:
        found = list(_Batch(server, namespace, names, history_sec).uses())
    except TooMuchError:
        if len(names) == 1:
            raise
        half = len(names) // 2
        for part in (names[:half], names[half:]):
            yield from _measure_batch(server, namespace, part, history_sec)
    else:
        yield from found


class _Batch:
    """The questions about some pods."""

    def __init__(
        self, server: Prometheus, namespace: str, names: Sequence[str], history_sec: int
    ) -> None:
        alternatives = "|".join(map(re.escape, names)).replace("\\", "\\\\")
        self._selector = f'{{namespace="{namespace}",pod=~"{alternatives}",container!="POD"}}'
        self._server = server
        self._history = history_sec

    def uses(self) -> Iterator[tuple[Key, Use]]:
        rate = f"rate({USAGE}{self._selector}[{RATE_SEC}s])"
        highest = f"max_over_time({rate}[{WINDOW_SEC}s:60s])[{self._history}s:{WINDOW_SEC}s]"
        windows = self._ask(f"max {_BY} (count_over_time({highest}))")
        if not windows:
            return
        p95 = self._ask(f"max {_BY} (quantile_over_time(0.95, {highest}))")
        most = self._ask(f"max {_BY} (max_over_time({highest}))")
        mean = self._ask(f"max {_BY} (avg_over_time({rate}[{self._history}s:{WINDOW_SEC}s]))")
        counts = {name: self._rise(name) for name in (PERIODS, THROTTLED, *_SECONDS)}
        for key, number in windows.items():
            if key in p95 and key in most and key in mean:
                demand = _demand(round(number), p95[key], most[key], mean[key])
                window = _counters(round(number), {n: c.get(key) for n, c in counts.items()})
                yield key, Use(source=SOURCE, demand=demand, counters=window)

    def _rise(self, name: str) -> dict[Key, float]:
        # Two scrapers of one kubelet give each series twice; a restarted container has another id.
        inner = f"increase({name}{self._selector}[{self._history}s])"
        return self._ask(f"sum {_BY} (max by (namespace, pod, container, id) ({inner}))")

    def _ask(self, expression: str) -> dict[Key, float]:
        found: dict[Key, float] = {}
        for series in self._server.query(expression):
            labels, value = mapping(series, "metric"), series.get("value")
            number = _number(value[1]) if isinstance(value, list) and value[1:] else None
            if number is not None:
                key = (text(labels, "namespace"), text(labels, "pod"), text(labels, "container"))
                found[key] = number
        return found


_SECONDS = (THROTTLED_SECONDS, STALLED_SECONDS)


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _demand(windows: int, p95: float, most: float, mean: float) -> Demand:
    return Demand(
        interval_usec=WINDOW_SEC * _USEC,
        windows=windows,
        active_windows=windows,
        mean_cores=mean,
        p95_cores=p95,
        max_cores=most,
        burst_cores=most,
        # How many of them a limit cut cannot be told from averages: the counters say it.
        censored_windows=0,
    )


def _counters(windows: int, counts: Mapping[str, float | None]) -> CounterWindow | Missing:
    periods, throttled = counts[PERIODS], counts[THROTTLED]
    if periods is None or throttled is None:
        return Missing(reason="no periods were counted: it has no limit")
    # Extrapolated to the ends of the span, each by itself.
    whole = round(periods)
    return CounterWindow(
        basis=Basis.WINDOW,
        elapsed_usec=windows * WINDOW_SEC * _USEC,
        usage_usec=_NO_WINDOW,
        periods=whole,
        throttled_periods=min(round(throttled), whole),
        throttled_usec=_usec(counts[THROTTLED_SECONDS]),
        burst_periods=_NO_WINDOW,
        burst_usec=_NO_WINDOW,
        local_throttled_usec=_NO_WINDOW,
        pressure_some_usec=_NO_WINDOW,
        pressure_full_usec=_usec(counts[STALLED_SECONDS]),
    )


def _usec(seconds: float | None) -> int | Missing:
    return _NO_WINDOW if seconds is None else round(seconds * _USEC)
