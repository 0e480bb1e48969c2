"""The same series for prometheus-client, which writes the format that a scraper asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from quota_advisor.export.reading import Reading
from quota_advisor.export.series import SERIES, Series

FRESH_SEC = 1.0
"""Scrapes that come closer together share one look at the host."""


class HostCollector(Collector):
    """Looks at the host when it is scraped; any number of scrapers at once cost one look.

    Args:
        read: Looks.
        on_reading: Told of each new reading.
        now_sec: Monotonic clock.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        on_reading: Callable[[Reading], None],
        now_sec: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._on_reading = on_reading
        self._now_sec = now_sec
        self._lock = threading.Lock()
        self._last: tuple[float, Reading] | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with all its samples.

        Raises:
            CollectError: There is nothing to look at.
        """
        reading = self._reading()
        for series in SERIES:
            yield _family(series, reading)

    def _reading(self) -> Reading:
        with self._lock:
            if self._last is None or self._now_sec() - self._last[0] > FRESH_SEC:
                reading = self._read()
                self._last = (self._now_sec(), reading)
                self._on_reading(reading)
            return self._last[1]


def _family(series: Series, reading: Reading) -> Metric:
    family: CounterMetricFamily | GaugeMetricFamily
    if series.kind == "counter":
        family = CounterMetricFamily(series.name, series.help, labels=series.label_names)
    else:
        family = GaugeMetricFamily(series.name, series.help, labels=series.label_names)
    for labels, value in series.samples(reading.groups):
        family.add_metric(labels, value)
    return family
