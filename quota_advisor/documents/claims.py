"""Whose a text is that no parser takes, by the keys that stand where a parser would see them."""

from __future__ import annotations

from quota_advisor.documents.compose.recognise import is_compose_name
from quota_advisor.patterns import pattern

_BEFORE = rb"(?m)(?:^|[{,])[ \t]*(?:-[ \t]+)?[\"']?"
_API_VERSION = pattern(_BEFORE + rb"apiVersion[\"']?[ \t]*:")
_KIND = pattern(_BEFORE + rb"kind[\"']?[ \t]*:[ \t]*[\"']?[A-Z][A-Za-z]+")
_WORKLOAD = pattern(
    _BEFORE
    + rb"kind[\"']?[ \t]*:[ \t]*[\"']?(?:Pod|Deployment|StatefulSet|DaemonSet|ReplicaSet|Job"
    rb"|CronJob|LimitRange|ResourceQuota|KubeletConfiguration)\b"
)
_SERVICES = pattern(rb"(?m)^services[ \t]*:")
_IMAGE_OR_BUILD = pattern(rb"(?m)^[ \t]+(?:image|build)[ \t]*:")


def claims_to_be_ours(name: str, data: bytes) -> bool:
    """Whether a broken text is an object of Kubernetes or a compose file, as far as it can be read.

    A word that merely occurs in it says nothing: settings of editors hold schemas and globs.

    Args:
        name: Path of the file.
        data: The text.
    """
    if _WORKLOAD.search(data) is not None:
        return True
    if _API_VERSION.search(data) is not None and _KIND.search(data) is not None:
        return True
    if _SERVICES.search(data) is None:
        return False
    return is_compose_name(name) or _IMAGE_OR_BUILD.search(data) is not None
