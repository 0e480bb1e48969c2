"""Programs that tests ask: what is not installed is skipped and counted, but not in CI."""

from __future__ import annotations

import os
import shutil

import pytest

REQUIRED = "REQUIRE_PROGRAMS"
"""Set where everything must be installed: a test that lacks its program fails there."""


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip a test where a program is not installed."""
    absent = [name for name in programs if shutil.which(name) is None]
    reason = f"{' and '.join(absent)} not installed" if absent else "all is installed"
    return pytest.mark.skipif(bool(absent) and REQUIRED not in os.environ, reason=reason)
