"""Which documents are compose files, and which of those may need others to be understood."""

from __future__ import annotations

from quota_advisor.documents.compose.keys import SERVICE_KEYS
from quota_advisor.documents.yaml.tree import Mapping, Node, pairs
from quota_advisor.patterns import pattern

_SERVICE_KEYS = frozenset(
    (
        *SERVICE_KEYS, "build", "command", "container_name", "depends_on", "deploy", "entrypoint",
        "environment", "env_file", "expose", "extends", "healthcheck", "image", "mem_limit",
        "networks", "ports", "profiles", "restart", "volumes",
    )
)  # fmt: skip

BASE_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
"""What compose looks for in a directory; it takes the first."""

OVERRIDE_NAMES = (
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
)
"""What it then looks for beside that; the first of these is laid over it, whatever its name."""

_HEAD_BYTES = 4096


_NAME = pattern(r"(?:.*[._-])?compose(?:[._-].*)?\.(?:ya?ml|json)")


def is_compose_name(file: str) -> bool:
    """Whether a file is named as compose files are: ``docker-compose.dev.yml``."""
    return _NAME.fullmatch(file.rpartition("/")[2]) is not None


def is_compose(root: Node, *, known: bool = False, named: bool = False) -> bool:
    """Whether a document is a compose file, judged by what its services look like.

    Args:
        root: The document.
        known: Its file is one: any services will do.
        named: Its file is named as one. Of others, other programs have services too (Okteto, values
            of charts), told from these by keys of another shape.
    """
    if type(root) is not dict or "apiVersion" in root or "kind" in root:
        return False
    services = root.get("services")
    if type(services) is not dict:
        return False
    if known:
        return True
    found = [node for _, node in pairs(services) if type(node) is dict]
    if not named and any(_is_foreign(node) for node in found):
        return False
    return any(not _SERVICE_KEYS.isdisjoint(node) for node in found)


def _is_foreign(service: Mapping) -> bool:
    """Whether a service is another program's: its image is no name, or CPU stands in resources."""
    resources = service.get("resources")
    amounts = type(resources) is dict and ("cpu" in resources or "memory" in resources)
    return amounts or type(service.get("image")) is dict


def may_extend(data: bytes) -> bool:
    """Whether a file may hold services that extend those of others, seen without parsing it.

    Asked of every file, so that one that begins as a Kubernetes object is looked at no further.
    """
    if data.startswith(b"apiVersion:") or data.find(b"\napiVersion:", 0, _HEAD_BYTES) >= 0:
        return False
    return b"extends" in data and b"services" in data and b"file" in data
