"""The rulebook: rules and checks fit together, and a malformed rule is refused with its place."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from quota_advisor import checks, shipped
from quota_advisor.checks import MODULES
from quota_advisor.errors import CatalogError
from quota_advisor.model.finding import Severity
from quota_advisor.rulebook import catalogue as catalog
from quota_advisor.rulebook.catalogue import (
    COMPILED,
    compiled_rulebook,
    load_catalog,
    load_rule,
    rule_files,
    with_overrides,
)
from quota_advisor.rulebook.engine import CHECKS, Check, missing_checks
from quota_advisor.shipped import data_directory

RULE_IDS = sorted(load_catalog())
GOOD: Mapping[str, Any] = {
    "id": "too-slow",
    "title": "Too slow",
    "severity": "warning",
    "confidence": "high",
    "since": "0.1.0",
    "applies_to": ["pods"],
    "options": {"max_ratio": {"default": 0.5, "unit": "ratio", "help": "More is too much."}},
    "why": "It matters.",
    "fix": "Change it.",
    "silent": "When all is well.",
    "references": ["kernel: Documentation/scheduler/sched-bwc.rst"],
}


def write_rule(directory: Path, data: object, name: str = "too-slow") -> Path:
    path = directory / f"{name}.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def test_every_rule_has_one_check_and_every_check_a_rule() -> None:
    assert missing_checks(load_catalog()) == (set(), set())


def test_checks_are_found_where_the_table_of_modules_says() -> None:
    found = {
        (kind.__name__, check.__module__.removeprefix(f"{checks.__name__}."))
        for kind, check in CHECKS.values()
    }
    assert found == {(kind, name) for kind, names in MODULES.items() for name in names}


def _module(check: Check) -> str:
    return check.__module__.removeprefix(f"{checks.__name__}.")


def test_the_compiled_rulebook_is_that_of_the_rule_files() -> None:
    assert json.loads(COMPILED.read_bytes()) == json.loads(compiled_rulebook())
    assert load_catalog() == {path.stem: load_rule(path) for path in rule_files()}


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", '{"rules": {}}', '{"checksum": 1, "rules": {}}'],
    ids=["missing", "empty", "another thing", "no checksum", "of other rules"],
)
def test_a_checkout_whose_rules_have_changed_reads_the_rules(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tmp_path / "compiled.json"
    if text is not None:
        compiled.write_text(text, encoding="utf-8")
    rules = data_directory("rules")
    monkeypatch.setattr(catalog, "COMPILED", compiled)
    monkeypatch.setattr(catalog, "data_directory", lambda _name: rules)
    load_catalog.cache_clear()
    try:
        assert sorted(load_catalog()) == RULE_IDS
    finally:
        load_catalog.cache_clear()


def test_an_installed_package_goes_by_its_own_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Unpacked into a project that has rules, for something else, beside it.
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "alerts.yaml").write_text("groups: []\n", encoding="utf-8")
    package = tmp_path / "quota_advisor"
    shutil.copytree(data_directory("rules"), package / "_rules")
    shutil.copy(COMPILED, package)
    monkeypatch.setattr(shipped, "PACKAGE", package)
    monkeypatch.setattr(catalog, "COMPILED", package / COMPILED.name)
    data_directory.cache_clear()
    load_catalog.cache_clear()
    try:
        assert sorted(load_catalog()) == RULE_IDS
        assert catalog.rule_files()[0].parent == package / "_rules"
    finally:
        data_directory.cache_clear()
        load_catalog.cache_clear()


def test_a_rule_without_a_check_and_a_check_without_a_rule_are_told() -> None:
    some = dict.fromkeys([*RULE_IDS[1:], "no-such-check"], load_catalog()[RULE_IDS[0]])
    assert missing_checks(some) == ({"no-such-check"}, {RULE_IDS[0]})


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_a_rule_has_the_name_of_its_file_and_of_its_function(rule_id: str) -> None:
    rule = load_catalog()[rule_id]
    assert rule.id == rule_id
    assert (data_directory("rules") / f"{rule_id}.yaml").is_file()
    assert CHECKS[rule_id][1].__name__ == rule_id.replace("-", "_")


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_a_rule_says_what_why_how_and_when_not(rule_id: str) -> None:
    rule = load_catalog()[rule_id]
    assert len(rule.title) <= 60
    assert "\n" not in rule.title
    for prose in (rule.why, rule.fix, rule.silent):
        assert len(prose.split()) >= 4
        assert "TODO" not in prose
    assert rule.references
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_a_check_asks_for_the_options_of_its_rule(rule_id: str) -> None:
    asked = set(_options_asked(rule_id.replace("-", "_"), set()))
    assert asked == set(load_catalog()[rule_id].options)


@pytest.mark.parametrize("rule_id", RULE_IDS)
def test_an_option_tells_its_unit(rule_id: str) -> None:
    for name, option in load_catalog()[rule_id].options.items():
        assert option.default >= 0
        ending = name.rpartition("_")[2]
        assert option.unit == ending or option.unit not in ("ratio", "cores", "usec"), name


def test_a_warning_bar_is_below_the_error_bar() -> None:
    pairs = [
        (rule.option("warning_ratio"), rule.option("error_ratio"))
        for rule in load_catalog().values()
        if "error_ratio" in rule.options
    ]
    assert pairs
    assert all(0 < warning < error < 1 for warning, error in pairs)


def test_a_good_rule_is_read_as_written(tmp_path: Path) -> None:
    rule = load_rule(write_rule(tmp_path, GOOD))
    assert (rule.id, rule.severity, rule.option("max_ratio")) == ("too-slow", Severity.WARNING, 0.5)
    assert rule.options["max_ratio"].help == "More is too much."


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"severity": "fatal"}, "fatal"),
        ({"confidence": "sure"}, "sure"),
        ({"colour": "red"}, "colour"),
        ({"title": ""}, "title"),
        ({"why": 7}, "why"),
        ({"silent": None}, "silent"),
        ({"id": "Too_Slow"}, "id"),
        ({"references": "kernel"}, "references"),
        ({"applies_to": "pods"}, "applies_to"),
        ({"applies_to": ["planets"]}, "planets"),
        ({"applies_to": []}, "applies_to"),
        ({"fixable": "yes"}, "fixable"),
        ({"options": []}, "options"),
        ({"options": {"max_ratio": {"default": 0.5, "unit": "ratio"}}}, "options.max_ratio"),
        (
            {"options": {"max_ratio": {"default": "a lot", "unit": "ratio", "help": "h"}}},
            "options.max_ratio.default",
        ),
        (
            {"options": {"max_ratio": {"default": True, "unit": "ratio", "help": "h"}}},
            "options.max_ratio.default",
        ),
    ],
)
def test_a_bad_field_is_told_with_its_file(
    tmp_path: Path, change: Mapping[str, object], told: str
) -> None:
    with pytest.raises(CatalogError) as raised:
        load_rule(write_rule(tmp_path, {**GOOD, **change}))
    assert raised.value.what.startswith("too-slow.yaml: ")
    assert told in raised.value.what


@pytest.mark.parametrize(
    "field", ["id", "title", "severity", "confidence", "applies_to", "why", "fix", "silent"]
)
def test_a_missing_field_is_told_with_its_file(tmp_path: Path, field: str) -> None:
    with pytest.raises(CatalogError, match=rf"^too-slow\.yaml: .*{field}"):
        load_rule(write_rule(tmp_path, {k: v for k, v in GOOD.items() if k != field}))


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words\n", "a: [1,\n", "a: \x01\n"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "too-slow.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError, match=r"^too-slow\.yaml: .+"):
        load_rule(path)


def test_another_file_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"^other\.yaml: id 'too-slow'"):
        load_rule(write_rule(tmp_path, GOOD, "other"))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"^too-slow\.yaml: "):
        load_rule(tmp_path / "too-slow.yaml")


def test_overrides_change_what_they_name_and_nothing_else(tmp_path: Path) -> None:
    rule = load_rule(write_rule(tmp_path, GOOD))
    changed = with_overrides(rule, severity=Severity.ERROR, options={"max_ratio": 0.9})
    assert (changed.severity, changed.severity_fixed) == (Severity.ERROR, True)
    assert changed.option("max_ratio") == 0.9
    assert changed.options["max_ratio"].help == rule.options["max_ratio"].help
    assert (rule.option("max_ratio"), rule.severity_fixed) == (0.5, False)
    assert not with_overrides(rule, severity=None, options={"max_ratio": 0.9}).severity_fixed


def _functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in sorted(Path(checks.__file__).parent.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                yield path.stem, node


FUNCTIONS = {(module, node.name): node for module, node in _functions()}


def _options_asked(function: str, seen: set[tuple[str, str]], module: str = "") -> Iterator[str]:
    """Yield the options that a function reads of its rule, itself or by handing the rule on."""
    places = [key for key in FUNCTIONS if key[1] == function]
    place = (module, function) if (module, function) in places else places[0]
    if place in seen:
        return
    seen.add(place)
    for call in ast.walk(FUNCTIONS[place]):
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Attribute) and call.func.attr == "option":
            names = [n.value for n in ast.walk(call.args[0]) if isinstance(n, ast.Constant)]
            assert names, "an option is asked for by its name, or by one of several"
            yield from map(str, names)
        handed_on = any(isinstance(a, ast.Name) and a.id == "rule" for a in call.args)
        if handed_on and isinstance(call.func, ast.Name):
            yield from _options_asked(call.func.id, seen, place[0])
