"""The tables of keys, and what is made of them, agree."""

from __future__ import annotations

import pytest

from quota_advisor.documents.compose.keys import SERVICE_KEYS
from quota_advisor.documents.reader import read_manifest
from quota_advisor.model.manifest import ComposeService


@pytest.mark.parametrize("key", SERVICE_KEYS)
def test_each_key_about_cpu_tells_a_compose_file(key: str) -> None:
    text = f"services:\n  web:\n    {key}: 1\n"
    (found,) = read_manifest("x.yaml", text.encode())
    assert isinstance(found, ComposeService)
    assert not found.unknown_keys
