"""Facts of a host in a file: recorded here, judged elsewhere."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import quota_advisor
from quota_advisor.audit.judge import judge
from quota_advisor.audit.redact import without_secrets
from quota_advisor.audit.snapshot_file import dump_snapshot, load_snapshot
from quota_advisor.audit.texts import printable_facts
from quota_advisor.model.host import HostFacts
from quota_advisor.model.report import Report
from quota_advisor.rulebook.chosen import Rulebook, load_rulebook


def snapshot_text(facts: HostFacts) -> str:
    """Return facts as the text of a snapshot: what judging needs, and nobody's secrets."""
    return dump_snapshot(printable_facts(without_secrets(facts)), quota_advisor.__version__)


def judge_snapshot(
    file: Path | str, *, units: Collection[str] = (), rulebook: Rulebook | None = None
) -> Report:
    """Judge a snapshot that ``audit host --save`` wrote, here or on another machine.

    Args:
        file: The snapshot.
        units: Names of units, containers or cgroups to size even if they never had a quota.
        rulebook: The rules to run; None for all, with the nearest configuration file.

    Raises:
        ConfigError: The configuration file is malformed.
        SnapshotError: The file cannot be read, is no snapshot, or is of another version.
    """
    rulebook = rulebook or load_rulebook()
    return judge(load_snapshot(Path(file)), rulebook, "audit snapshot", units)
