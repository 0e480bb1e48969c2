"""The configuration file and the selection of rules."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from quota_advisor.errors import ConfigError, UsageError
from quota_advisor.model.finding import Severity
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.settings import (
    FILE_NAME,
    Config,
    RuleSettings,
    apply_config,
    find_config,
    select_rules,
)
from quota_advisor.rulebook.settings_file import load_config


def load(directory: Path, text: str) -> Config:
    path = directory / FILE_NAME
    path.write_text(text, encoding="utf-8")
    return load_config(path, load_catalog())


def test_everything_that_may_be_set_arrives(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """
fail-on: error
rules:
  throttled-often:
    severity: info
    options: {warning_ratio: 0.1, error_ratio: 0.5}
  uniform-quota: {enabled: false}
suppress:
  - {rule: quota-below-peak, subject: "batch-*", reason: capped on purpose}
""",
    )
    assert config.fail_on == "error"
    assert config.rules["throttled-often"].severity is Severity.INFO
    assert config.rules["throttled-often"].options == {"warning_ratio": 0.1, "error_ratio": 0.5}
    assert not config.rules["uniform-quota"].enabled
    entry = config.suppress[0]
    assert (entry.rule, entry.subject) == ("quota-below-peak", "batch-*")
    assert entry.reason == "capped on purpose"


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n", "{}\n"])
def test_an_empty_file_changes_nothing(tmp_path: Path, text: str) -> None:
    config = load(tmp_path, text)
    assert (config.fail_on, config.rules, config.suppress) == ("warning", {}, ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fail_on: error\n", "unknown key fail_on; did you mean 'fail-on'?"),
        ("failon: error\n", "unknown key failon; did you mean 'fail-on'?"),
        ("supress: []\n", "unknown key supress; did you mean 'suppress'?"),
        ("colour: red\n", "unknown key colour"),
        (
            "rules: {throttled-often: {severty: info}}\n",
            "unknown key rules.throttled-often.severty; did you mean 'severity'?",
        ),
        (
            "suppress: [{rule: uniform-quota, reson: x, reason: y}]\n",
            "unknown key suppress.0.reson; did you mean 'reason'?",
        ),
    ],
)
def test_an_unknown_key_is_told_with_a_suggestion(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    assert raised.value.what == f"{tmp_path / FILE_NAME}:1: {told}"
    assert raised.value.exit_code == 2


def test_a_key_that_resembles_nothing_gets_no_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, "zzz: 1\n")
    assert "did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("rules: {throtled-often: {}}\n", "no rule 'throtled-often'", "'throttled-often'"),
        ("rules: {zzz: {}}\n", "no rule 'zzz'", "see quota-advisor rules list"),
        ("suppress: [{rule: unifrm-quota, reason: x}]\n", "'unifrm-quota'", "'uniform-quota'"),
        (
            "rules: {throttled-often: {options: {waning_ratio: 1}}}\n",
            "rules.throttled-often: no option 'waning_ratio'",
            "'warning_ratio'",
        ),
        (
            "rules: {quota-below-peak: {options: {zzz: 1}}}\n",
            "no option 'zzz'",
            "it has none",
        ),
        (
            "rules: {peak-censored: {options: {zzz: 1}}}\n",
            "no option 'zzz'",
            "it has max_censored_ratio",
        ),
    ],
)
def test_an_unknown_rule_or_option_is_told_with_a_suggestion(
    tmp_path: Path, text: str, what: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    assert what in raised.value.what
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("fail-on: sometimes\n", "fail-on: "),
        ("rules: {throttled-often: {severity: fatal}}\n", "rules.throttled-often.severity: "),
        ("rules: {throttled-often: {enabled: perhaps}}\n", "rules.throttled-often.enabled: "),
        ("rules: [throttled-often]\n", "rules: "),
        ("suppress: [{rule: uniform-quota}]\n", "suppress.0.reason: "),
        ("suppress: [{rule: uniform-quota, reason: '  '}]\n", "suppress.0.reason: "),
        ("- a\n- b\n", "file: "),
        ("[]\n", "file: "),
        ("just words\n", "file: "),
        ("false\n", "file: "),
    ],
)
def test_a_bad_value_is_told_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    assert raised.value.what.startswith(f"{tmp_path / FILE_NAME}:1: {place}")


@pytest.mark.parametrize("value", ["a lot", "-0.1", ".nan", ".inf", "true", "'0.1'", "[0.1]"])
def test_a_threshold_is_a_finite_number_from_zero_on(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"rules\.throttled-often\.options\.warning_ratio: "):
        load(tmp_path, f"rules: {{throttled-often: {{options: {{warning_ratio: {value}}}}}}}\n")


@pytest.mark.parametrize(
    "text",
    [
        "fail-on: [error\n",
        "a: b: c\n",
        "\tfail-on: error\n",
        "fail-on: \x01\n",
        "fail-on: 2024-99-99\n",
        "a: " + "[" * 5000,
        "fail-on: !!python/object:os.system x\n",
    ],
    ids=["open bracket", "two colons", "tab", "control", "bad date", "deep nesting", "a tag"],
)
def test_broken_yaml_is_one_line_with_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    assert raised.value.what.startswith(f"{tmp_path / FILE_NAME}:")
    assert "\n" not in raised.value.what


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"fail-on: \xff\xfe\n")
    with pytest.raises(ConfigError, match="quota-advisor"):
        load_config(path, load_catalog())


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: no such file or directory"):
        load_config(tmp_path / "none.yaml", load_catalog())


def test_settings_change_the_rules_that_run() -> None:
    config = Config(
        rules={
            "uniform-quota": RuleSettings(enabled=False),
            "throttled-often": RuleSettings(
                severity=Severity.ERROR, options={"warning_ratio": 0.1}
            ),
        }
    )
    rules = apply_config(load_catalog(), config)
    assert set(load_catalog()) - set(rules) == {"uniform-quota"}
    changed = rules["throttled-often"]
    assert (changed.severity, changed.severity_fixed) == (Severity.ERROR, True)
    assert (changed.option("warning_ratio"), changed.option("error_ratio")) == (0.1, 0.25)
    assert rules["throttled-time"] == load_catalog()["throttled-time"]


def test_a_rule_asked_for_by_name_runs_even_where_it_is_disabled() -> None:
    config = Config(rules={"uniform-quota": RuleSettings(enabled=False)})
    assert "uniform-quota" in apply_config(load_catalog(), config, keep=["uniform-quota"])


@pytest.mark.parametrize(
    ("select", "ignore", "left"),
    [
        (["uniform-quota"], [], {"uniform-quota"}),
        (["uniform-quota", "peak-censored"], ["peak-censored"], {"uniform-quota"}),
        ([], ["peak-censored"], set(load_catalog()) - {"peak-censored"}),
        ([], [], set(load_catalog())),
    ],
)
def test_select_and_ignore(select: list[str], ignore: list[str], left: set[str]) -> None:
    assert set(select_rules(load_catalog(), select, ignore)) == left


@pytest.mark.parametrize(("select", "ignore"), [(["peek-censored"], []), ([], ["peek-censored"])])
def test_selecting_a_rule_that_does_not_exist_is_told(select: list[str], ignore: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        select_rules(load_catalog(), select, ignore)
    assert str(raised.value) == "no rule 'peek-censored': did you mean 'peak-censored'?"


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / FILE_NAME).touch()
    assert find_config(inner) == tmp_path / FILE_NAME
    (tmp_path / "a" / FILE_NAME).touch()
    assert find_config(inner) == tmp_path / "a" / FILE_NAME
    assert find_config(tmp_path) == tmp_path / FILE_NAME


def test_the_search_ends_at_the_root_of_the_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "units").mkdir()
    (tmp_path / FILE_NAME).touch()
    assert find_config(repository / "units") is None
    (repository / FILE_NAME).touch()
    assert find_config(repository / "units") == repository / FILE_NAME


def test_a_git_file_marks_a_root_too(tmp_path: Path) -> None:
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: elsewhere\n")
    (tmp_path / FILE_NAME).touch()
    assert find_config(worktree) is None


def test_a_relative_start_is_searched_upward_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / FILE_NAME).touch()
    monkeypatch.chdir(tmp_path / "a")
    found = find_config(Path())
    assert found is not None
    assert found.samefile(tmp_path / FILE_NAME)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "rules:\n  uniform-limit: false\n",
            ":2: rules.uniform-limit: a mapping is expected; write uniform-limit: {enabled: false}",
        ),
        (
            "rules:\n  uniform-limit: info\n",
            ":2: rules.uniform-limit: a mapping is expected; write uniform-limit: {severity: ",
        ),
        ("fail-on: info\nlint: {node-cpus: 0}\n", ":2: lint.node-cpus: a number greater than 0"),
        (
            "lint:\n  kubernetes-version: 1.3\n",
            ":2: lint.kubernetes-version: a text is expected (qu",
        ),
        ("lint:\n  exclude: '*.yaml'\n", ":2: lint.exclude: a list is expected"),
        ("overrides:\n- {paths: [], rules: {}}\n", ":2: overrides.0.paths: at least one is"),
        ("suppress:\n- rule: uniform-quota\n", ":2: suppress.0.reason: it is not there"),
        ("lint:\n  exclude: [1]\n", ":2: lint.exclude.0: a text is expected"),
        ("a: b: c\n", ":1: this is no YAML: mapping values are not allowed here"),
        ("fail-on: !!binary a\n", ":1: "),
        ("? [a]\n: b\n", ":1: a key is a list or a mapping"),
    ],
)
def test_messages_name_file_and_line_in_our_own_words(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    assert f"{tmp_path / FILE_NAME}{told}" in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "fail-on: info\nlint: {}\nfail-on: never\n",
        "rules:\n  uniform-quota: {}\n  uniform-quota: {enabled: false}\n",
        "suppress:\n- {rule: uniform-quota, reason: a,\n   reason: b}\n",
    ],
)
def test_a_key_that_is_there_twice_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r":3: '.*' is there a second time, see line [12]$"):
        load(tmp_path, text)


def test_what_anchors_and_merges_repeat_counts(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "rules:\n  uniform-quota: &off {enabled: false}\n"
        "  uniform-limit: {<<: *off, severity: info}\n",
    )
    assert not config.rules["uniform-limit"].enabled
    assert config.rules["uniform-limit"].severity is Severity.INFO


def bomb() -> str:
    rules = ", ".join(f"{id_}: {{enabled: true}}" for id_ in load_catalog())
    items = ", ".join(["*one"] * 60)
    return (
        f"overrides:\n- &one {{paths: [a], rules: &r {{{rules}}}}}\n"
        + "".join(f"- {{paths: [{'a, ' * 20}a], rules: *r}}\n" for _ in range(300))
        + f"rules: *r\nsuppress: [{items}]\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        bomb(),
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{c}: &{c} [{','.join([f'*{chr(ord(c) - 1)}'] * 9)}]\n" for c in "bcdefghi"),
        "a: &a {x: 1}\n"
        + "".join(
            f"{c}: &{c} {{<<: [{','.join([f'*{chr(ord(c) - 1)}'] * 9)}]}}\n" for c in "bcdefgh"
        ),
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
    ],
    ids=["overrides", "lists", "merges", "list in itself", "mapping in itself"],
)
def test_aliases_count_for_what_they_stand_for(tmp_path: Path, text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError, match=r"more than|too deep"):
            load(tmp_path, text)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_an_option_that_is_gone_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no option 'min_periods'") as caught:
        load(tmp_path, "rules: {throttled-often: {options: {min_periods: 100}}}")
    assert "the bound that is judged" in str(caught.value.hint)
