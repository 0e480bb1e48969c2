"""Texts in tests as what lint reads of them."""

from __future__ import annotations

from textwrap import dedent

from quota_advisor.documents.reader import read_manifest
from quota_advisor.model.manifest import Pod


def read(text: str) -> list[object]:
    return list(read_manifest("x.yaml", dedent(text).encode()))


def pods(text: str) -> list[Pod]:
    found = read(text)
    assert all(isinstance(item, Pod) for item in found), found
    return [item for item in found if isinstance(item, Pod)]
