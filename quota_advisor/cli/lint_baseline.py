"""Leave out what a baseline knows, and make baselines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from quota_advisor.baseline import apply_baseline, dump_baseline, load_baseline
from quota_advisor.cli.output import present_view, write_file
from quota_advisor.model.report import Report
from quota_advisor.render.places import relative


def known_left_out(report: Report, path: Path, *, verbose: bool) -> Report:
    """Move the findings of a baseline to those left out.

    Args:
        report: The report.
        path: The baseline.
        verbose: Note the entries that match nothing any more.

    Raises:
        ConfigError: The file cannot be read or is no baseline.
    """
    stale = apply_baseline(report.results, load_baseline(path), _name_of, f"in {path}")
    gone = tuple(f"{path}: no longer found: {entry}" for entry in stale) if verbose else ()
    return replace(report, notes=(*report.notes, *gone))


def make_known(report: Report, path: Path) -> None:
    """Write the findings to a baseline, and leave them out.

    Raises:
        CollectError: The file cannot be written.
    """
    write_file(path, dump_baseline(report.results, _name_of))
    apply_baseline(report.results, load_baseline(path), _name_of, f"in {path}")


def _name_of(file: str) -> str:
    return relative(file, present_view())
