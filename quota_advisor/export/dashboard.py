"""A dashboard for Grafana: what is held back, worst first, and what quotas are beside peaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

WORST = 20
"""Lines of a table, and of a graph."""

_OWN = "quota_advisor_cgroup_cpu"
_HOST = '{job=~"$job", instance=~"$instance"}'
_INFO = (
    f" * on (job, instance, cgroup) group_left (unit, container) quota_advisor_cgroup_info{_HOST}"
)
_POD = '{namespace=~"$namespace", container!="", container!="POD"}'
_BY = "sum by (namespace, pod, container)"
_RATE = "[$__rate_interval]"
_ACTIVE = 0.2
"""Active periods in a second below which a share says nothing; see the rules."""

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_RED_FROM = ((None, "green"), (0.05, "orange"), (0.25, "red"))


def dashboard_text() -> str:
    """Return the dashboard as Grafana imports it."""
    return json.dumps(dashboard(), indent=2) + "\n"


def dashboard() -> dict[str, Any]:
    """Return the dashboard: two rows of panels, one for hosts and one for Kubernetes."""
    return {
        "uid": "quota-advisor",
        "title": "CPU quotas",
        "description": "What CPU quotas hold back. Series: quota-advisor export, and cAdvisor.",
        "tags": ["quota-advisor"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": list(_variables())},
        "panels": list(_panels()),
    }


def queries() -> Iterator[str]:
    """Yield every expression that the panels ask for."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]


def _variables() -> Iterator[dict[str, Any]]:
    yield {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
    }
    yield _variable("job", "Job", "quota_advisor_cgroup_info")
    yield _variable("instance", "Host", 'quota_advisor_cgroup_info{job=~"$job"}')
    yield _variable("namespace", "Namespace", "container_cpu_cfs_periods_total")


def _variable(name: str, label: str, series: str) -> dict[str, Any]:
    question = f"label_values({series}, {name})"
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": question, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "sort": 1,
    }


def _panels() -> Iterator[dict[str, Any]]:
    """Yield the panels, with their places on a grid 24 wide."""
    yield _row(1, "Hosts", 0)
    ratio = f"{_ratio(f'{_OWN}_', _HOST)}{_INFO}"
    name = "{{instance}} {{cgroup}}"
    yield _table(
        2, "Throttled, worst first", (0, 1, 12), [_worst(ratio)], ["Throttled"], ("percentunit",)
    )
    peak = f"max_over_time(rate({_OWN}_usage_seconds_total{_HOST}[2m])[$__range:1m])"
    quota = f"{_OWN}_quota_cores{_HOST}"
    share = f"topk({WORST}, ({peak} / on (job, instance, cgroup) {quota}){_INFO})"
    yield _table(
        3,
        "Peak minute against quota, tightest first",
        (12, 1, 12),
        [share, quota, f"{peak} and on (job, instance, cgroup) {quota}"],
        ["Peak / quota", "Quota", "Peak"],
        ("percentunit", "cores", "cores"),
    )
    yield _graph(
        4, "Throttled share of active periods", (0, 10), _worst(ratio), name, "percentunit"
    )
    stalled = f"rate({_OWN}_stalled_seconds_total{_HOST}{_RATE})"
    yield _graph(
        5,
        "Time stood still in a second (PSI full)",
        (12, 10),
        _worst(f"{stalled}{_INFO}"),
        name,
        "s",
    )
    denied = f"rate({_OWN}_throttled_seconds_total{_HOST}{_RATE})"
    yield _graph(
        6, "CPU time held back in a second", (0, 18), _worst(f"{denied}{_INFO}"), name, "s"
    )
    used = f"rate({_OWN}_usage_seconds_total{_HOST}{_RATE}) and on (job, instance, cgroup) {quota}"
    yield _graph(7, "Cores used, of what has a quota", (12, 18), _worst(used), name, "cores")
    yield from _pod_panels()


def _pod_panels() -> Iterator[dict[str, Any]]:
    yield _row(20, "Kubernetes", 26)
    periods = f"{_BY} (rate(container_cpu_cfs_periods_total{_POD}{_RATE}))"
    throttled = f"{_BY} (rate(container_cpu_cfs_throttled_periods_total{_POD}{_RATE}))"
    ratio = _worst(f"{throttled} / ({periods} > {_ACTIVE})")
    yield _table(
        21, "Throttled, worst first", (0, 27, 12), [ratio], ["Throttled"], ("percentunit",)
    )
    used = f"{_BY} (rate(container_cpu_usage_seconds_total{_POD}[2m]))"
    peak = f"max_over_time(({used})[$__range:1m])"
    spec = _POD
    quota = (
        "max by (namespace, pod, container)"
        f" (container_spec_cpu_quota{spec} / container_spec_cpu_period{spec})"
    )
    yield _table(
        22,
        "Peak minute against limit, tightest first",
        (12, 27, 12),
        [f"topk({WORST}, {peak} / {quota})", quota, f"{peak} and {quota}"],
        ["Peak / limit", "Limit", "Peak"],
        ("percentunit", "cores", "cores"),
    )
    name = "{{namespace}}/{{pod}} {{container}}"
    yield _graph(23, "Throttled share of active periods", (0, 36), ratio, name, "percentunit")
    denied = f"{_BY} (rate(container_cpu_cfs_throttled_seconds_total{_POD}{_RATE}))"
    yield _graph(24, "CPU time held back in a second", (12, 36), _worst(denied), name, "s")


def _ratio(prefix: str, selector: str) -> str:
    periods = f"rate({prefix}periods_total{selector}{_RATE})"
    return f"(rate({prefix}throttled_periods_total{selector}{_RATE}) / ({periods} > {_ACTIVE}))"


def _worst(expression: str) -> str:
    return f"topk({WORST}, {expression})"


def _row(number: int, title: str, top: int) -> dict[str, Any]:
    place = {"h": 1, "w": 24, "x": 0, "y": top}
    return {"id": number, "type": "row", "title": title, "gridPos": place, "collapsed": False}


def _target(expression: str, letter: str, **more: Any) -> dict[str, Any]:
    return {"refId": letter, "datasource": _SOURCE, "expr": expression, **more}


def _graph(
    number: int, title: str, place: tuple[int, int], expression: str, name: str, unit: str
) -> dict[str, Any]:
    left, top = place
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"h": 8, "w": 12, "x": left, "y": top},
        "targets": [_target(expression, "A", legendFormat=name)],
        "fieldConfig": {"defaults": {**_unit(unit), "min": 0}, "overrides": []},
        "options": {
            "legend": {
                "displayMode": "table",
                "placement": "right",
                "calcs": ["max", "lastNotNull"],
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }


def _table(
    number: int,
    title: str,
    place: tuple[int, int, int],
    expressions: Sequence[str],
    columns: Sequence[str],
    units: Sequence[str],
) -> dict[str, Any]:
    """Return a table with a row for each thing and a column for each expression."""
    left, top, width = place
    values = [
        f"Value #{chr(ord('A') + i)}" if len(columns) > 1 else "Value" for i in range(len(columns))
    ]
    hidden = ("Time", "__name__", "job", "pod_uid")
    transformations: list[dict[str, Any]] = [
        {
            "id": "organize",
            "options": {
                "excludeByName": dict.fromkeys(hidden, True),
                "renameByName": dict(zip(values, columns, strict=True)),
            },
        },
        {"id": "sortBy", "options": {"sort": [{"field": columns[0], "desc": True}]}},
    ]
    if len(columns) > 1:
        transformations.insert(0, {"id": "merge", "options": {}})
    overrides: list[dict[str, Any]] = [
        {
            "matcher": {"id": "byName", "options": column},
            "properties": [{"id": key, "value": value} for key, value in _unit(unit).items()],
        }
        for column, unit in zip(columns, units, strict=True)
    ]
    colours = [{"value": value, "color": colour} for value, colour in _RED_FROM]
    overrides[0]["properties"] += [
        {"id": "custom.cellOptions", "value": {"type": "color-text"}},
        {"id": "thresholds", "value": {"mode": "absolute", "steps": colours}},
    ]
    return {
        "id": number,
        "type": "table",
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"h": 9, "w": width, "x": left, "y": top},
        "targets": [
            _target(expression, chr(ord("A") + i), format="table", instant=True, range=False)
            for i, expression in enumerate(expressions)
        ],
        "transformations": transformations,
        "fieldConfig": {"defaults": {}, "overrides": overrides},
        "options": {"showHeader": True, "cellHeight": "sm"},
    }


def _unit(name: str) -> dict[str, Any]:
    return {"unit": "none", "decimals": 2} if name == "cores" else {"unit": name}
