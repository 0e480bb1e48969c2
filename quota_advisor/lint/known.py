"""Leave out what a baseline knows, and make baselines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from quota_advisor.files.writing import write_file
from quota_advisor.model.report import Report
from quota_advisor.rulebook.baseline import (
    NameOf,
    apply_baseline,
    dump_baseline,
    load_baseline,
    parse_baseline,
)


def without_known(
    report: Report,
    known: Path | None,
    new: Path | None,
    *,
    name_of: NameOf,
    verbose: bool,
) -> Report:
    """Move the findings of a baseline to those left out, and make a new baseline.

    Args:
        report: The report.
        known: The baseline to use.
        new: Where to write one, of all present findings: those of ``known`` among them.
        name_of: Gives a file's name independent of the working directory.
        verbose: Note the entries that match nothing any more.

    Raises:
        ConfigError: A file is no baseline or cannot be read.
        CollectError: A file cannot be written.
    """
    results, gone = report.results, []
    text = dump_baseline(results, name_of)
    if known is not None:
        stale = apply_baseline(results, load_baseline(known), name_of, f"in {known}")
        gone = [f"{known}: no longer found: {entry}" for entry in stale if verbose]
    if new is not None:
        write_file(new, text)
        apply_baseline(results, parse_baseline(text, new), name_of, f"in {new}")
    return replace(report, notes=(*report.notes, *gone))
