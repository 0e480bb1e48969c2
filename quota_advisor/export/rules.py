"""Recording and alerting rules for Prometheus, on hosts and in Kubernetes.

What is judged is always a ratio of two rates over minutes: totals since boot hide today. A group
that wakes now and then is active in a few periods only, and one throttled period among them is a
large share of little: a floor on the rate of active periods keeps it silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from quota_advisor.errors import UsageError
from quota_advisor.patterns import pattern

WINDOW = "5m"
"""What rates are taken over: twenty scrapes of the usual fifteen seconds."""

ACTIVE_PER_SEC = 0.2
"""Active periods in a second below which a share says nothing: 60 in five minutes."""

HOST_RATIO = 0.05
"""Share of its active periods in which a unit's quota holds it back for too many."""

POD_RATIO = 0.25
"""The same for containers, where bursts of short pods are common."""

RANKED = 20
"""Containers above 5 % that are listed, worst first."""

_TIME = pattern(r"(?=.)(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?")

_OWN = "quota_advisor_cgroup_cpu"
_LABELS = "(unit, container, pod_uid)"
_INFO = f"* on (job, instance, cgroup) group_left {_LABELS}\n  quota_advisor_cgroup_info"
_BY_CONTAINER = "by (cluster, namespace, pod, container)"
# The pod's own cgroup has no container, and its sandbox is called POD.
_CONTAINERS = '{container!="", container!="POD"}'
_CADVISOR = "container_cpu_cfs"


def rules_text(target: str, hold: str | None) -> str:
    """Return a rule file.

    Args:
        target: ``host``, ``kubernetes`` or ``all``.
        hold: How long a share must stay too high before an alert fires; None for the default.

    Raises:
        UsageError: ``hold`` is no duration of Prometheus.
    """
    if hold is not None and _TIME.fullmatch(hold) is None:
        raise UsageError(f"--for {hold}: not a duration of Prometheus", hint="15s, 5m, 1h30m")
    names = tuple(GROUPS) if target == "all" else (target,)
    document = {"groups": [GROUPS[name](hold) for name in names]}
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def host_group(hold: str | None) -> dict[str, Any]:
    """Return the rules for hosts, on the series of this exporter."""
    periods = f"rate({_OWN}_periods_total[{WINDOW}])"
    throttled = f"rate({_OWN}_throttled_periods_total[{WINDOW}])"
    ratio = f"cgroup:{_OWN}_throttled_periods:ratio_rate{WINDOW}"
    return {
        "name": "quota-advisor-host",
        "rules": [
            {"record": f"cgroup:{_OWN}_periods:rate{WINDOW}", "expr": periods},
            {
                "record": ratio,
                "expr": f"{throttled}\n  / ({periods} > {ACTIVE_PER_SEC})\n",
            },
            {
                "record": f"cgroup:{_OWN}_stalled_seconds:rate{WINDOW}",
                "expr": f"rate({_OWN}_stalled_seconds_total[{WINDOW}])",
            },
            {
                "alert": "CPUQuotaThrottles",
                "expr": f"({ratio} > {HOST_RATIO})\n  {_INFO}\n",
                "for": hold or "5m",
                "labels": {"severity": "warning"},
                "annotations": {
                    "summary": "{{ $labels.cgroup }} on {{ $labels.instance }} is held back by its"
                    " CPU quota",
                    "description": "It was throttled in {{ $value | humanizePercentage }} of its"
                    f" active periods over {WINDOW}. On the host, quota-advisor audit host --window"
                    " 60 says what the quota should be.",
                },
            },
            {
                "alert": "QuotaAdvisorTextfileStale",
                "expr": 'time() - node_textfile_mtime_seconds{file=~"(.*/)?quota_advisor[.]prom"}'
                " > 300",
                "for": "5m",
                "labels": {"severity": "warning"},
                "annotations": {
                    "summary": "{{ $labels.instance }} writes no counters of CPU quotas any more",
                    "description": "{{ $labels.file }} is {{ $value | humanizeDuration }} old:"
                    " throttling there would not be seen. See systemctl status"
                    " quota-advisor-textfile.timer.",
                },
            },
        ],
    }


def kubernetes_group(hold: str | None) -> dict[str, Any]:
    """Return the rules for Kubernetes, on the series of cAdvisor."""
    periods = f"sum {_BY_CONTAINER} (rate({_CADVISOR}_periods_total{_CONTAINERS}[{WINDOW}]))"
    throttled = (
        f"sum {_BY_CONTAINER} (rate({_CADVISOR}_throttled_periods_total{_CONTAINERS}[{WINDOW}]))"
    )
    ratio = f"container:{_CADVISOR}_throttled_periods:ratio_rate{WINDOW}"
    worst = f"container:{_CADVISOR}_throttled_periods:worst{RANKED}"
    return {
        "name": "quota-advisor-kubernetes",
        "rules": [
            {"record": ratio, "expr": f"{throttled}\n  / ({periods} > {ACTIVE_PER_SEC})\n"},
            {"record": worst, "expr": f"topk({RANKED}, {ratio} > {HOST_RATIO})"},
            {
                "alert": "ContainerCPULimitThrottles",
                "expr": f"{ratio} > {POD_RATIO}",
                "for": hold or "15m",
                "labels": {"severity": "warning"},
                "annotations": {
                    "summary": "{{ $labels.namespace }}/{{ $labels.pod }} {{ $labels.container }}"
                    " is held back by its CPU limit",
                    "description": "It was throttled in {{ $value | humanizePercentage }} of its"
                    f" active periods over {WINDOW}. quota-advisor k8s --namespace"
                    " {{ $labels.namespace }} --prometheus ADDRESS says what the limit should be.",
                },
            },
            {
                "alert": "ContainerCPULimitsUnwatched",
                "expr": 'count by (cluster) (kube_pod_container_resource_limits{resource="cpu"})\n'
                f"  unless on (cluster) count by (cluster) ({_CADVISOR}_periods_total)\n",
                "for": "15m",
                "labels": {"severity": "warning"},
                "annotations": {
                    "summary": "Containers have CPU limits, and nobody counts their throttling",
                    "description": f"{{{{ $value }}}} limits are set and {_CADVISOR}_periods_total"
                    " has no series: are cAdvisor's metrics scraped, and kept?",
                },
            },
        ],
    }


GROUPS: Mapping[str, Callable[[str | None], dict[str, Any]]] = {
    "host": host_group,
    "kubernetes": kubernetes_group,
}
"""Rules by what they are for."""


class _Dumper(yaml.SafeDumper):
    """Writes expressions of several lines as people do."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
