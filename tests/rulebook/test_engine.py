"""The run over subjects: failures, suppressions, degrees, order."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from quota_advisor import checks
from quota_advisor.documents.systemd.merge import merge_unit
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.model.finding import Confidence, Severity, Subject
from quota_advisor.model.limit import Missing
from quota_advisor.model.source import Location
from quota_advisor.model.suppression import Suppression
from quota_advisor.model.unit import UnitConfig
from quota_advisor.rulebook import engine
from quota_advisor.rulebook.catalogue import AppliesTo, Catalog, Rule, load_catalog, with_overrides
from quota_advisor.rulebook.engine import Hit, Plan, Scope, Skip, Verdicts, check, run
from quota_advisor.rulebook.settings import Config, SuppressEntry


@dataclass(frozen=True)
class Thing:
    """Something to judge that needs no facts."""

    name: str

    @property
    def subject(self) -> Subject:
        return Subject(kind="thing", name=self.name)


def rule(id_: str, severity: Severity = Severity.WARNING) -> Rule:
    return Rule(
        id=id_,
        title="t",
        severity=severity,
        confidence=Confidence.HIGH,
        since="0.1.0",
        applies_to=(AppliesTo.WORKLOADS,),
        why="w",
        fix="f",
        silent="s",
    )


def all_good(_thing: Thing, _rule: Rule) -> Verdicts:
    yield from ()


def always_bad(thing: Thing, _rule: Rule) -> Verdicts:
    yield Hit(message=f"{thing.name} is bad")


def breaks(_thing: Thing, _rule: Rule) -> Verdicts:
    yield Hit(message="found before it broke")
    raise ZeroDivisionError("division by zero")


def cannot_judge(_thing: Thing, _rule: Rule) -> Verdicts:
    yield Skip("nothing was measured")


def by_degree(thing: Thing, _rule: Rule) -> Verdicts:
    yield Hit(message="degree", severity=Severity(thing.name))


def says_why(judged: UnitConfig, _rule: Rule) -> Verdicts:
    yield Hit(message="bad line", location=judged.files[0].assignments[0].location)


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """Rules of this test beside the two about comments; their checks are known to the engine."""
    monkeypatch.setattr(engine, "CHECKS", dict(engine.CHECKS))
    for function in (all_good, always_bad, breaks, cannot_judge, by_degree):
        check(Thing)(function)
    check(UnitConfig)(says_why)
    mine = ("all-good", "always-bad", "breaks", "cannot-judge", "by-degree", "says-why")
    about_comments = ("unused-suppression", "suppression-without-reason")
    return {id_: rule(id_) for id_ in mine} | {id_: load_catalog()[id_] for id_ in about_comments}


def plan(rules: Catalog) -> Plan:
    return Plan(rules, engine.CHECKS.keys(), checks.load)


def only(book: Catalog, *ids: str) -> Plan:
    always = ("unused-suppression", "suppression-without-reason")
    return plan({id_: book[id_] for id_ in (*ids, *always)})


def comment(*rules: str, reason: str = "known", line: int = 1) -> Suppression:
    place = Location(file="/etc/systemd/system/a.service", line=line, column=1)
    return Suppression(rules=rules, reason=reason, location=place)


def unit(name: str, path: str = "/etc/systemd/system/service.d/q.conf") -> UnitConfig:
    drop_in = parse_unit_file(path, b"[Service]\nCPUQuota=50%\n")
    return merge_unit(name, Missing(reason="no file"), [drop_in])


def test_a_check_that_raises_is_reported_and_the_others_go_on(book: Catalog) -> None:
    results = run(
        [Scope(Thing("a")), Scope(Thing("b"))], only(book, "breaks", "always-bad"), Config()
    )
    assert [(e.rule, e.subject.name, e.error) for e in results.errors] == [
        ("breaks", "a", "ZeroDivisionError: division by zero"),
        ("breaks", "b", "ZeroDivisionError: division by zero"),
    ]
    found = {(f.rule, f.subject.name) for f in results.findings}
    assert found == {("always-bad", "a"), ("always-bad", "b"), ("breaks", "a"), ("breaks", "b")}


def test_what_could_not_be_judged_is_kept_with_its_reason(book: Catalog) -> None:
    results = run([Scope(Thing("a"))], only(book, "cannot-judge"), Config())
    assert [(s.rule, s.subject.name, s.reason) for s in results.skipped] == [
        ("cannot-judge", "a", "nothing was measured")
    ]
    assert results.findings == []


def test_a_check_judges_its_own_type_only(book: Catalog) -> None:
    results = run([Scope(unit("a.service"))], only(book, "always-bad", "says-why"), Config())
    assert [f.rule for f in results.findings] == ["says-why"]


def test_a_finding_carries_what_the_rule_says(book: Catalog) -> None:
    finding = run([Scope(Thing("a"))], only(book, "always-bad"), Config()).findings[0]
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert finding.recommendation is not None
    assert finding.recommendation.summary == "f"


def test_a_comment_with_a_reason_suppresses(book: Catalog) -> None:
    results = run([Scope(Thing("a"), (comment("always-bad"),))], only(book, "always-bad"), Config())
    assert results.findings == []
    assert [(s.finding.rule, s.reason) for s in results.suppressed] == [("always-bad", "known")]


def test_a_comment_suppresses_for_its_own_subject_only(book: Catalog) -> None:
    scopes = [Scope(Thing("a"), (comment("always-bad"),)), Scope(Thing("b"))]
    results = run(scopes, only(book, "always-bad"), Config())
    assert [f.subject.name for f in results.findings] == ["b"]


def test_a_comment_without_a_reason_has_no_effect_and_is_reported(book: Catalog) -> None:
    scopes = [Scope(Thing("a"), (comment("always-bad", reason=""),))]
    results = run(scopes, only(book, "always-bad"), Config())
    assert {f.rule for f in results.findings} == {"always-bad", "suppression-without-reason"}
    assert results.suppressed == []


def test_a_comment_that_suppresses_nothing_is_reported(book: Catalog) -> None:
    results = run([Scope(Thing("a"), (comment("all-good"),))], only(book, "all-good"), Config())
    assert [(f.rule, f.message) for f in results.findings] == [
        ("unused-suppression", "suppresses all-good, which found nothing here")
    ]
    assert results.findings[0].location == comment("all-good").location


@pytest.mark.parametrize("id_", ["cannot-judge", "breaks"])
def test_a_comment_whose_rule_could_not_judge_is_not_called_unused(
    book: Catalog, id_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks_at_once(_thing: Thing, _rule: Rule) -> Verdicts:
        raise ZeroDivisionError

    monkeypatch.setitem(engine.CHECKS, "breaks", (Thing, breaks_at_once))
    results = run([Scope(Thing("a"), (comment(id_),))], only(book, id_), Config())
    assert results.findings == []


def test_a_comment_for_a_rule_that_did_not_run_is_not_called_unused(book: Catalog) -> None:
    results = run([Scope(Thing("a"), (comment("all-good"),))], only(book, "always-bad"), Config())
    assert [f.rule for f in results.findings] == ["always-bad"]


def test_a_comment_for_a_rule_that_does_not_exist_is_reported(book: Catalog) -> None:
    results = run([Scope(Thing("a"), (comment("allways-bad"),))], only(book, "all-good"), Config())
    assert [f.message for f in results.findings] == ["suppresses 'allways-bad', which is no rule"]


def test_a_comment_that_several_units_share_is_judged_once(book: Catalog) -> None:
    shared = (comment("all-good"),)
    scopes = [Scope(Thing("a"), shared), Scope(Thing("b"), shared)]
    assert len(run(scopes, only(book, "all-good"), Config()).findings) == 1


def test_a_shared_comment_is_in_use_when_one_unit_needs_it(
    book: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad_for_b(thing: Thing, _rule: Rule) -> Verdicts:
        if thing.name == "b":
            yield Hit(message="bad")

    monkeypatch.setitem(engine.CHECKS, "all-good", (Thing, bad_for_b))
    shared = (comment("all-good"),)
    scopes = [Scope(Thing("a"), shared), Scope(Thing("b"), shared)]
    assert run(scopes, only(book, "all-good"), Config()).findings == []


def test_a_line_in_a_shared_file_counts_once(book: Catalog) -> None:
    scopes = [Scope(unit(name), shares_files=True) for name in ("a.service", "b.service")]
    found = run(scopes, only(book, "says-why"), Config()).findings
    assert [f.subject.name for f in found] == ["a.service"]


def test_equal_lines_in_different_files_count_each(book: Catalog) -> None:
    scopes = [Scope(unit("a.service", "/etc/a.conf")), Scope(unit("b.service", "/etc/b.conf"))]
    assert len(run(scopes, only(book, "says-why"), Config()).findings) == 2


@pytest.mark.parametrize(
    ("pattern", "left"),
    [("*", []), ("web-*", ["db"]), ("db", ["web-1", "web-2"]), ("WEB-*", ["db", "web-1", "web-2"])],
)
def test_the_configuration_suppresses_by_pattern(
    book: Catalog, pattern: str, left: list[str]
) -> None:
    scopes = [Scope(Thing(name)) for name in ("web-1", "web-2", "db")]
    entry = SuppressEntry(rule="always-bad", subject=pattern, reason="known")
    results = run(scopes, only(book, "always-bad"), Config(suppress=(entry,)))
    assert [f.subject.name for f in results.findings] == left
    assert len(results.suppressed) == 3 - len(left)


def test_the_configuration_suppresses_its_own_rule_only(book: Catalog) -> None:
    entry = SuppressEntry(rule="all-good", reason="known")
    results = run([Scope(Thing("a"))], only(book, "always-bad"), Config(suppress=(entry,)))
    assert len(results.findings) == 1


def test_the_configuration_suppresses_findings_about_comments_too(book: Catalog) -> None:
    entry = SuppressEntry(rule="unused-suppression", reason="kept for the next release")
    scopes = [Scope(Thing("a"), (comment("all-good"),))]
    results = run(scopes, only(book, "all-good"), Config(suppress=(entry,)))
    assert results.findings == []
    assert [s.finding.rule for s in results.suppressed] == ["unused-suppression"]


def test_a_degree_that_the_check_sees_counts(book: Catalog) -> None:
    results = run([Scope(Thing("error"))], only(book, "by-degree"), Config())
    assert [f.severity for f in results.findings] == [Severity.ERROR]


def test_a_severity_that_the_user_set_beats_the_degree(book: Catalog) -> None:
    chosen = with_overrides(book["by-degree"], severity=Severity.INFO, options={})
    results = run([Scope(Thing("error"))], plan({"by-degree": chosen}), Config())
    assert [f.severity for f in results.findings] == [Severity.INFO]


def test_the_worst_comes_first_then_the_name(book: Catalog) -> None:
    names = ("info", "warning", "error")
    scopes = [Scope(Thing(name)) for name in names]
    results = run(scopes, only(book, "by-degree", "always-bad"), Config())
    assert [(f.severity.value, f.subject.name, f.rule) for f in results.findings] == [
        ("error", "error", "by-degree"),
        ("warning", "error", "always-bad"),
        ("warning", "info", "always-bad"),
        ("warning", "warning", "always-bad"),
        ("warning", "warning", "by-degree"),
        ("info", "info", "by-degree"),
    ]
    assert (results.worst(), results.count(Severity.WARNING)) == (Severity.ERROR, 4)


def test_two_checks_cannot_claim_one_rule(book: Catalog) -> None:
    assert "all-good" in book
    with pytest.raises(ValueError, match="two checks claim rule 'all-good'"):
        check(Thing)(all_good)
