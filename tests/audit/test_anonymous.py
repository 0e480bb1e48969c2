"""Other names in place of those that somebody gave: none is left, and the findings are the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quota_advisor.audit.anonymous import anonymous
from quota_advisor.audit.judge import judge
from quota_advisor.audit.snapshot_file import dump_snapshot, load_snapshot
from quota_advisor.model.host import HostFacts
from quota_advisor.model.report import Results
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.settings import Config
from tests.rules.cases import FACTS, TREE
from tests.rules.facts import CgroupCase, Facts, host_facts, read_facts

CASES = sorted(TREE.glob(f"*/*{FACTS}"))

SHAPES = re.compile(
    r"(?:system|user|machine|app|session|init|kubepods\S*|user-[0-9]+|docker-\S+|cri-containerd\S*"
    r"|libpod\S*|crio\S*|burstable|besteffort|docker|lxc|ns|ecs\w*|-|session-\S+|run-\S+"
    r"|user@[0-9]+)(?:\.(?:slice|scope|service))?"
)
"""Names that everybody has."""


def judged(facts: HostFacts) -> Results:
    return judge(facts, Rulebook(load_catalog(), Config()), "test").results


def given_names(facts: HostFacts) -> set[str]:
    """Return the names in the facts that say something of their host."""
    names = {part for group in facts.cgroups for part in group.path.split("/") if part}
    names |= {unit.name for unit in facts.units}
    names |= {
        group.container.name
        for group in facts.cgroups
        if group.container and isinstance(group.container.name, str)
    }
    ids = re.compile(r"(?:pod)?[0-9a-f-]{12,}")
    # One letter is found in any text.
    return {n for n in names if n[1:] and not SHAPES.fullmatch(n) and not ids.fullmatch(n)}


@pytest.mark.parametrize("path", CASES, ids=lambda p: f"{p.parent.name}/{p.name[: -len(FACTS)]}")
def test_the_findings_are_the_same_and_no_name_is_left(path: Path, tmp_path: Path) -> None:
    facts = host_facts(read_facts(path), tmp_path)
    hidden = anonymous(facts)

    before, after = judged(facts), judged(hidden)
    assert sorted((f.rule, f.severity, len(f.parts)) for f in after.findings) == sorted(
        (f.rule, f.severity, len(f.parts)) for f in before.findings
    )
    assert len(after.skipped) == len(before.skipped)
    assert after.errors == []
    text = dump_snapshot(hidden, "test")
    left = {name for name in given_names(facts) if re.search(rf"(?<![\w.]){re.escape(name)}", text)}
    assert left == set()


def test_what_belongs_together_stays_together(tmp_path: Path) -> None:
    groups = {
        "/acme.slice/acme-shop.slice/cart@eu.service": CgroupCase(limit="50000 100000"),
        "/acme.slice/acme-shop.slice/cart@us.service": CgroupCase(limit="50000 100000"),
        "/lxc.payload.ledger": CgroupCase(limit="50000 100000"),
        "/machine.slice/machine-qemu\\x2d1\\x2dvault.scope": CgroupCase(limit="50000 100000"),
    }
    facts = anonymous(host_facts(Facts(cgroups=groups), tmp_path))

    paths = {group.path for group in facts.cgroups}
    assert "/part1.slice/part1-part2.slice/service1@instance1.service" in paths
    assert "/part1.slice/part1-part2.slice/service1@instance2.service" in paths
    assert "/lxc.payload.guest1" in paths
    assert "/machine.slice/machine-qemu\\x2d1\\x2dscope1.scope" in paths
    assert facts.hostname == "host"


def test_a_report_of_it_can_be_judged_elsewhere(tmp_path: Path) -> None:
    path = TREE / "throttled-often" / f"sixteen-of-thirty-four{FACTS}"
    hidden = anonymous(host_facts(read_facts(path), tmp_path))
    file = tmp_path / "facts.json"
    file.write_text(dump_snapshot(hidden, "test"))
    assert judged(load_snapshot(file)) == judged(hidden)


def test_other_names_are_other_names_once_more(tmp_path: Path) -> None:
    path = TREE / "throttled-often" / f"sixteen-of-thirty-four{FACTS}"
    once = anonymous(host_facts(read_facts(path), tmp_path))
    assert anonymous(once) == once
