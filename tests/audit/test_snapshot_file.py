"""A host recorded here and judged elsewhere: nothing is lost, nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.audit.judge import judge
from quota_advisor.audit.redact import without_secrets
from quota_advisor.audit.snapshot_file import FORMAT, dump_snapshot, load_snapshot
from quota_advisor.errors import SnapshotError
from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Missing
from quota_advisor.model.report import Results
from quota_advisor.model.unit import UnitConfig
from quota_advisor.model.workload import Host, Workload
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import CHECKS
from quota_advisor.rulebook.settings import Config
from tests.rules.cases import FACTS, TREE
from tests.rules.facts import host_facts, read_facts


def facts_of(case: str, directory: Path) -> HostFacts:
    return host_facts(read_facts(TREE / f"{case}{FACTS}"), directory)


def judged(facts: HostFacts) -> Results:
    return judge(facts, Rulebook(load_catalog(), Config()), "test").results


def stored(facts: HostFacts, directory: Path) -> Path:
    path = directory / "host.json"
    path.write_text(dump_snapshot(facts, "0.1.0"), encoding="utf-8")
    return path


def cases() -> list[str]:
    """Return the cases of rules about hosts and units; each brings other facts."""
    rules = [id_ for id_, (subject, _) in CHECKS.items() if subject in (Host, UnitConfig, Workload)]
    paths = (path for rule in rules for path in TREE.glob(f"{rule}/*{FACTS}"))
    return sorted(f"{path.parent.name}/{path.name.removesuffix(FACTS)}" for path in paths)


@pytest.mark.parametrize("case", cases())
def test_what_leaves_the_machine_is_judged_as_what_is_on_it(case: str, tmp_path: Path) -> None:
    facts = facts_of(case, tmp_path)
    again = load_snapshot(stored(without_secrets(facts), tmp_path))
    assert judged(again) == judged(facts)


@pytest.mark.parametrize("case", cases())
def test_a_stored_host_has_the_same_facts_and_findings(case: str, tmp_path: Path) -> None:
    facts = facts_of(case, tmp_path)
    again = load_snapshot(stored(facts, tmp_path))
    assert again == facts
    assert judged(again) == judged(facts)


LATER = frozenset(
    {
        "cfs_bandwidth",
        "cpu_controller",
        "disabled_controllers",
        "ended_lives",
        "fair_server",
        "main_pid",
        "main_process_group",
        "never_read",
        "realtime_threads",
        "restarts",
        "rt_group_sched",
    }
)
"""Fields that snapshots of the first version did not have."""


def without_later(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_later(value) for key, value in data.items() if key not in LATER}
    return [without_later(item) for item in data] if isinstance(data, list) else data


@pytest.mark.parametrize(
    "case", ["quota-not-enforced/in-force", "container-limit-lost/gone-after-a-reload"]
)
def test_a_snapshot_of_an_earlier_program_loads(case: str, tmp_path: Path) -> None:
    path = stored(facts_of(case, tmp_path), tmp_path)
    data = without_later(json.loads(path.read_text()))
    for group in data["facts"]["cgroups"]:
        (group["container"] or {}).pop("limit", None)
    path.write_text(json.dumps(data))
    facts = load_snapshot(path)
    assert isinstance(facts.node.fair_server, Missing)
    assert all(isinstance(group.realtime_threads, Missing) for group in facts.cgroups)


def test_the_file_names_its_format_and_its_maker(tmp_path: Path) -> None:
    facts = facts_of("throttled-often/just-above-the-error-ratio", tmp_path)
    data = json.loads(stored(facts, tmp_path).read_text())
    assert (data["format"], data["made_by"]) == (FORMAT, "0.1.0")


def test_storing_twice_gives_the_same_text(tmp_path: Path) -> None:
    facts = facts_of("throttled-often/blames-the-line-that-sets-the-quota", tmp_path)
    text = dump_snapshot(facts, "0.1.0")
    assert dump_snapshot(load_snapshot(stored(facts, tmp_path)), "0.1.0") == text


def changed(data: Any, **fields: object) -> Any:
    """Change the last cgroup of a snapshot."""
    data["facts"]["cgroups"][2] |= fields
    return data


def limited(quota_usec: int, period_usec: int) -> dict[str, object]:
    return {"kind": "bandwidth", "quota_usec": quota_usec, "period_usec": period_usec}


Change = Callable[[Any], object]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d | {"format": "quota-advisor/snapshot/v2"}, "quota-advisor/snapshot/v2"),
        (lambda d: d | {"format": 1}, "format 1"),
        (lambda d: {k: v for k, v in d.items() if k != "format"}, "format None"),
        (lambda d: d | {"more": 1}, "more: "),
        (lambda d: {k: v for k, v in d.items() if k != "facts"}, "facts: "),
        (lambda d: d | {"facts": []}, "facts: "),
        (lambda d: d | {"facts": {**d["facts"], "hostname": None}}, "facts.hostname: "),
        (lambda d: d | {"facts": {**d["facts"], "cgroups": [{"path": "/"}]}}, "facts.cgroups.0."),
        (lambda d: changed(d, path="api"), "facts.cgroups.2.path: 'api' does not start"),
        (lambda d: changed(d, limit=limited(0, 100_000)), "facts.cgroups.2.limit: "),
        (lambda d: changed(d, limit=limited(50_000, -1)), "facts.cgroups.2.limit: "),
        (lambda _: [], "format None"),
        (lambda _: None, "format None"),
    ],
)
def test_another_version_and_malformed_facts_are_refused(
    tmp_path: Path, change: Change, told: str
) -> None:
    path = stored(facts_of("throttled-often/just-above-the-error-ratio", tmp_path), tmp_path)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(SnapshotError) as raised:
        load_snapshot(path)
    assert raised.value.what.startswith(f"{path}: ")
    assert told in raised.value.what
    assert raised.value.exit_code == 3


def test_what_no_merge_of_files_says_is_refused(tmp_path: Path) -> None:
    path = stored(
        facts_of("throttled-often/blames-the-line-that-sets-the-quota", tmp_path), tmp_path
    )
    data = json.loads(path.read_text())
    unit = next(n for n, u in enumerate(data["facts"]["units"]) if u["config"].get("quota_from"))
    for field, value, told in (
        ("allowed_cpus", [1], "allowed_cpus: no line sets them"),
        ("quota_from", {"key": "CPUWeight"}, "quota_from: 'CPUWeight' sets no CPUQuota"),
    ):
        broken = json.loads(path.read_text())
        config = broken["facts"]["units"][unit]["config"]
        config[field] = config[field] | value if isinstance(value, dict) else value
        file = tmp_path / "broken.json"
        file.write_text(json.dumps(broken))
        with pytest.raises(SnapshotError, match=told):
            load_snapshot(file)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"not json", b"\xff\xfe{}", b"[" * 200_000, b"\x00"],
    ids=["empty", "cut", "words", "no text", "deep", "nul"],
)
def test_what_is_no_json_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "host.json"
    path.write_bytes(data)
    with pytest.raises(SnapshotError) as raised:
        load_snapshot(path)
    assert raised.value.what.startswith(f"{path}: ")
    assert "\n" not in raised.value.what


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"none\.json: no such file or directory"):
        load_snapshot(tmp_path / "none.json")
