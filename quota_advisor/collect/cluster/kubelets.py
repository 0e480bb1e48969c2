"""The settings of kubelets, asked of each node through the API server, or in a file.

The way through the API server takes ``nodes/proxy``, which in effect lets its holder run commands
in every pod, so it is only gone when asked for. ``nodes/configz`` (KEP-2862) is for those who talk
to kubelets directly; their certificates are mostly signed by nobody, and no token is sent there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from quota_advisor.collect.cluster.connection import Connection, RefusedError
from quota_advisor.documents.reader import read_manifest
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.model.cluster import ClusterNode, KubeletSettings
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import KubeletConfig

AT_ONCE = 8
"""Nodes asked at the same time: each answer travels from the kubelet through the API server."""

NOT_ALLOWED = Missing(
    reason="not allowed: it takes nodes/proxy; --kubelet-config FILE does without"
)


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


def _settings(connection: Connection, node: ClusterNode) -> KubeletSettings | Missing:
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
    return KubeletSettings(by_path=dict(flattened(config)))


def settings_in(file: str, data: bytes) -> KubeletSettings:
    """Return the settings in a KubeletConfiguration.

    Raises:
        UsageError: The file holds none.
    """
    for document in read_manifest(file, data):
        if isinstance(document, KubeletConfig):
            by_path = {path: value.text for path, value in document.settings.items()}
            return KubeletSettings(by_path=by_path)
    raise UsageError(f"{file}: no KubeletConfiguration", hint="kubelet --config names one")


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
