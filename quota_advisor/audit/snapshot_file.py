"""Facts as versioned JSON: a host can be recorded here and judged elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pydantic

from quota_advisor.errors import SnapshotError
from quota_advisor.files.reading import MAX_RECORD_BYTES, read_named
from quota_advisor.files.writing import reason
from quota_advisor.model.cgroup import CgroupFacts, Demand, UseTrace
from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Bandwidth
from quota_advisor.model.unit import Outcome, UnitConfig

FORMAT: Literal["quota-advisor/snapshot/v1"] = "quota-advisor/snapshot/v1"


class Snapshot(pydantic.BaseModel):
    """A snapshot file.

    Attributes:
        format: Name and version of the format; another one is refused, never guessed at.
        made_by: Version of the program that wrote it.
        facts: All facts of the host, as :class:`~quota_advisor.model.host.HostFacts` names them.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    format: Literal["quota-advisor/snapshot/v1"]
    made_by: str
    facts: HostFacts


def dump_snapshot(facts: HostFacts, version: str) -> str:
    """Return the text of a snapshot file; :mod:`quota_advisor.audit.redact` goes before."""
    snapshot = Snapshot(format=FORMAT, made_by=version, facts=facts)
    return json.dumps(snapshot.model_dump(mode="json"), indent=1) + "\n"


def load_snapshot(path: Path) -> HostFacts:
    """Return the facts in a snapshot file.

    Raises:
        SnapshotError: The file cannot be read, is no snapshot, or is of another version.
    """
    try:
        data = read_named(path, MAX_RECORD_BYTES)
    except OSError as error:
        raise SnapshotError(f"{path}: {reason(error)}") from error
    try:
        facts = Snapshot.model_validate_json(data).facts
    except pydantic.ValidationError:
        facts = _explained(path, data)
    for number, group in enumerate(facts.cgroups):
        wrong = _impossible(group)
        if wrong:
            raise SnapshotError(f"{path}: facts.cgroups.{number}.{wrong}")
    for number, unit in enumerate(facts.units):
        if isinstance(unit.config, UnitConfig) and (wrong := _contradictory(unit.config)):
            raise SnapshotError(f"{path}: facts.units.{number}.config.{wrong}")
    return facts


def _explained(path: Path, data: bytes) -> HostFacts:
    """Return the facts in a file that was refused, or why it is: which, takes a second reading.

    Raises:
        SnapshotError: As for :func:`load_snapshot`.
    """
    try:
        decoded: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{path}: no JSON", hint="was it written by --save?") from error
    found = decoded.get("format") if isinstance(decoded, dict) else None
    if found != FORMAT:
        raise SnapshotError(
            f"{path}: format {found!r}, expected {FORMAT!r}", hint="record it again with --save"
        )
    try:
        return Snapshot.model_validate(decoded).facts
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise SnapshotError(f"{path}: {place}: {first['msg'].lower()}") from error


def _impossible(group: CgroupFacts) -> str:
    """Return what no kernel says of a cgroup, or nothing."""
    if not group.path.startswith("/"):
        return f"path: {group.path!r} does not start with a slash"
    limit, demand = group.limit, group.demand
    if isinstance(limit, Bandwidth) and min(limit.quota_usec, limit.period_usec) <= 0:
        return "limit: quota and period are more than nothing"
    if isinstance(demand, Demand) and min(demand.windows, demand.interval_usec) <= 0:
        return "demand: there is at least one window, and it has a length"
    trace = group.trace
    if isinstance(trace, UseTrace) and (
        len(trace.cores) != len(trace.held) or trace.interval_usec <= 0
    ):
        return "trace: each point has a use and a mark, and a length"
    return ""


def _contradictory(config: UnitConfig) -> str:
    """Return what no merge of files says of a unit, or nothing."""
    for key, place, written in (
        ("CPUQuota", "quota_from", config.quota_from),
        ("CPUQuotaPeriodSec", "period_from", config.period_from),
    ):
        if written is not None and written.key != key:
            return f"{place}: {written.key!r} sets no {key}"
    applied = {j.assignment.key for j in config.judged if j.outcome is Outcome.APPLIED}
    if config.allowed_cpus and "AllowedCPUs" not in applied:
        return "allowed_cpus: no line sets them"
    return ""
