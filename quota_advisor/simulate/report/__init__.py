"""What was simulated, as text, JSON, CSV and a picture."""

from __future__ import annotations

from quota_advisor.simulate.report import csv_rows, json_v1, picture, table

RENDERERS = {
    "table": table.render,
    "json": json_v1.render,
    "csv": csv_rows.render,
    "svg": picture.render,
}
