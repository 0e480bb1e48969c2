"""The settings of kubelets, asked of each node through the API server.

``nodes/configz`` is enough from Kubernetes 1.33 on (KEP-2862); ``nodes/proxy`` before, which in
effect lets its holder run commands in every pod, so it is only used when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from quota_advisor.collect.cluster.connection import Connection, RefusedError
from quota_advisor.errors import CollectError
from quota_advisor.model.cluster import ClusterNode
from quota_advisor.model.limit import Missing

AT_ONCE = 8
"""Nodes asked at the same time: each answer travels from the kubelet through the API server."""

NOT_ALLOWED = Missing(reason="not allowed: grant nodes/configz, or give --kubelet-config FILE")


def with_settings(
    connection: Connection, nodes: Mapping[str, ClusterNode]
) -> dict[str, ClusterNode]:
    """Return nodes with the settings of their kubelets; each that cannot be had says why."""
    if not nodes:
        return {}
    first, *others = nodes.values()
    found = {first.name: _settings(connection, first)}
    if found[first.name] == NOT_ALLOWED:
        # Whoever may not ask one node may not ask the others.
        return {n.name: replace(n, configuration=NOT_ALLOWED) for n in nodes.values()}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda node: _settings(connection, node), others)
        found.update(zip((node.name for node in others), answers, strict=True))
    return {n.name: replace(n, configuration=found[n.name]) for n in nodes.values()}


def _settings(connection: Connection, node: ClusterNode) -> Mapping[str, str] | Missing:
    if node.is_virtual:
        return Missing(reason="a virtual kubelet has no such settings")
    try:
        answer = connection.get(f"/api/v1/nodes/{quote(node.name, safe='')}/proxy/configz")
    except RefusedError as error:
        if error.code == HTTPStatus.FORBIDDEN:
            return NOT_ALLOWED
        return Missing(reason=f"its kubelet does not answer ({error.code})")
    except CollectError as error:
        return Missing(reason=error.what)
    config = answer.get("kubeletconfig") if isinstance(answer, dict) else None
    if not isinstance(config, dict):
        return Missing(reason="its kubelet gave no configuration")
    return dict(flattened(config))


def flattened(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield every scalar of a configuration with its dotted path, as lint names settings."""
    for key, value in config.items():
        path = f"{above}{key}"
        if isinstance(value, dict):
            yield from flattened(value, f"{path}.")
        elif isinstance(value, bool):
            yield path, str(value).lower()
        elif isinstance(value, str | int | float):
            yield path, str(value)
