"""What was simulated, as text, JSON, CSV and a picture."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from quota_advisor.simulate.run import Result

_MODULES = {
    "table": "table",
    "json": "json_v1",
    "csv": "csv_rows",
    "svg": "picture",
    "html": "html",
}

FORMATS = tuple(_MODULES)


def render(name: str, result: Result) -> str:
    """Return a result in one of the formats."""
    # Imported when used: templates of pages take longer to load than a simulation.
    module = importlib.import_module(f"quota_advisor.simulate.report.{_MODULES[name]}")
    return cast("Callable[[Result], str]", module.render)(result)
