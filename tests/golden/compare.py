"""Compare with a golden file, or write it: ``REWRITE_GOLDEN=1``."""

from __future__ import annotations

import os
from pathlib import Path

import quota_advisor

DIRECTORY = Path(__file__).parent


def assert_golden(name: str, text: str) -> None:
    """Compare a text with ``tests/golden/NAME``, the program's version left out."""
    text = text.replace(f'"{quota_advisor.__version__}"', '"VERSION"')
    path = DIRECTORY / name
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_bytes(text.encode())
    assert text.encode() == path.read_bytes()
