"""The dashboard as types of Grafana read it, and its queries as a real Prometheus answers them."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from quota_advisor.cli import run
from quota_advisor.export.dashboard import dashboard, queries
from quota_advisor.export.series import SERIES
from tests.kube.prometheus import Series, prometheus
from tests.programs import needs

SPAN_SEC = 3600
VARIABLES = {
    "$__rate_interval": "2m",
    "$__range": "30m",
    "$job": ".*",
    "$instance": ".*",
    "$namespace": ".*",
}
RATES = {
    "usage_seconds": 0.4,
    "periods": 10,
    "throttled_periods": 3,
    "throttled_seconds": 0.2,
    "stalled_seconds": 0.1,
    "quota_cores": 0.5,
    "info": 1,
}


def always(value: float) -> Callable[[int], float]:
    return lambda _at: value


def series() -> Iterator[Series]:
    for number in range(3):
        labels = {"job": "node", "instance": "a:9100", "cgroup": f"/s/{number}.service"}
        for one in SERIES:
            name = one.name.removesuffix("_total")
            rate = RATES[name.removeprefix("quota_advisor_cgroup_").removeprefix("cpu_")]
            more = {"unit": f"{number}.service"} if one.labels else {}
            yield Series(name, labels | more, always(rate if one.labels else rate / (number + 1)))
    for number in range(3):
        labels = {
            "namespace": "shop",
            "pod": f"web-{number}",
            "container": "app",
            "id": f"/{number}",
        }
        for name, rate in (
            ("container_cpu_usage_seconds", 0.4),
            ("container_cpu_cfs_periods", 10),
            ("container_cpu_cfs_throttled_periods", 3),
            ("container_cpu_cfs_throttled_seconds", 0.2),
            ("container_spec_cpu_quota", 50000),
            ("container_spec_cpu_period", 100000),
        ):
            yield Series(name, labels, always(rate))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus(tmp_path_factory.mktemp("prometheus"), series(), SPAN_SEC) as found:
        yield found


def ask(url: str, expression: str) -> list[dict[str, Any]]:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    question = urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(f"{url}/api/v1/query?{question}") as answer:  # noqa: S310 - loopback
        found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    return found


@needs("prometheus", "promtool")
@pytest.mark.parametrize("expression", list(queries()))
def test_every_query_has_an_answer(url: str, expression: str) -> None:
    found = ask(url, expression)
    assert len(found) == 3
    assert all(float(one["value"][1]) > 0 for one in found)


@needs("prometheus", "promtool")
def test_the_numbers_are_what_was_counted(url: str) -> None:
    ratios = next(q for q in queries() if "throttled_periods" in q)
    found = {one["metric"]["unit"]: float(one["value"][1]) for one in ask(url, ratios)}
    assert found == pytest.approx({f"{n}.service": 0.3 for n in range(3)}, rel=1e-4)
    peaks = next(q for q in queries() if "quota_cores" in q)
    found = {one["metric"]["unit"]: float(one["value"][1]) for one in ask(url, peaks)}
    assert found == pytest.approx({f"{n}.service": 0.8 for n in range(3)}, rel=1e-4)


def test_grafana_knows_every_field() -> None:
    ours = dashboard()
    theirs = json.loads(JSONEncoder().encode(Dashboard.from_json(ours)))
    assert _lost(ours, theirs) == []


def _lost(ours: Any, theirs: Any, where: str = "") -> list[str]:
    """Return the places where something of ours did not come through."""
    if isinstance(ours, dict):
        return [
            place
            for key, value in ours.items()
            for place in (
                _lost(value, theirs[key], f"{where}.{key}") if key in theirs else [f"{where}.{key}"]
            )
        ]
    if isinstance(ours, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [p for i, (a, b) in pairs for p in _lost(a, b, f"{where}[{i}]")]
    return [] if ours == theirs else [where]


def test_panels_have_a_place_and_a_number_of_their_own() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_it_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    assert run(["export", "dashboard", "--output", str(tmp_path / "d.json")]) == 0
    assert json.loads((tmp_path / "d.json").read_text()) == dashboard()
