"""Kubelet configurations that other objects hold as texts, read with their places in the file."""

from __future__ import annotations

import re

from quota_advisor.documents.kubernetes.keys import KUBELET_CONFIGURATION
from quota_advisor.documents.kubernetes.kubelets import KubeletText, read_configuration
from quota_advisor.documents.yaml.exact_tree import read_yaml
from quota_advisor.documents.yaml.suppressions import MARK, from_comments
from quota_advisor.documents.yaml.tree import BrokenDocumentError, text
from quota_advisor.model.manifest import KubeletConfig, Scalar

_HEADER = re.compile(r"\|[-+1-9]{0,2}[ \t]*(?:#.*)?\r?")
_MAX_HEAD = 1000
"""A longer line is not looked through for each of the many texts that may stand on it."""


def read_text(held: KubeletText, lines: list[bytes], first: int) -> KubeletConfig | str | None:
    """Return the part of a kubelet's configuration that a text is.

    Args:
        held: The text.
        lines: Lines of the file around it.
        first: Number of the first of them.

    Returns:
        A text says why it cannot be read; None is for one that holds something else.
    """
    data = _written(held.at, lines, first)
    if data is None:
        return "a kubelet's configuration is read in a text that stands behind | only"
    try:
        root = read_yaml(data, held.at.line + 1, prune=False).root
    except BrokenDocumentError as error:
        return f"the kubelet's configuration in a text cannot be read: {error.reason}"
    if type(root) is not dict or text(root.get("kind")) != KUBELET_CONFIGURATION:
        return None
    file, comments = held.source.file, held.source.suppressions
    if MARK in data:
        comments = (*comments, *from_comments(file, data, held.at.line + 1))
    return read_configuration(held.source._replace(suppressions=comments, patch=True), root)


def _written(at: Scalar, lines: list[bytes], first: int) -> bytes | None:
    """Return a text as it stands in its file; None where that is not line by line, behind ``|``."""
    index = at.line - first
    own = at.text.rstrip("\n").split("\n")
    body = lines[index + 1 : index + 1 + len(own)]
    head = lines[index] if index < len(lines) else b""
    if len(head) > _MAX_HEAD or len(body) < len(own):
        return None
    if not _HEADER.fullmatch(head.decode("utf-8", "replace")[at.column - 1 :]):
        return None
    indents = {_indent(raw, line) for raw, line in zip(body, own, strict=True) if line.strip()}
    return b"\n".join(body) + b"\n" if len(indents) == 1 and None not in indents else None


def _indent(raw: bytes, line: str) -> int | None:
    """Return how far a line of a text is indented in the file; None if it is not that line."""
    raw, wanted = raw.removesuffix(b"\r"), line.encode("utf-8", "surrogatepass")
    indent = len(raw) - len(wanted)
    return indent if indent >= 0 and raw == b" " * indent + wanted else None
