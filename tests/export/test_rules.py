"""Rules as a real Prometheus evaluates them, on series just below, at and above each threshold."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from quota_advisor.cli import run
from quota_advisor.errors import UsageError
from quota_advisor.export.rules import GROUPS, rules_text
from tests.programs import needs

HERE = Path(__file__).parent / "rules"

needs_promtool = needs("promtool")


def promtool(*arguments: str, directory: Path) -> str:
    done = subprocess.run(
        ["promtool", *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_promtool
@pytest.mark.parametrize("target", ["host", "kubernetes", "all"])
def test_promtool_takes_the_rules(target: str, tmp_path: Path) -> None:
    assert run(["export", "rules", target, "--output", str(tmp_path / "rules.yml")]) == 0
    said = promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yml", directory=tmp_path)
    assert "SUCCESS" in said


@needs_promtool
@pytest.mark.parametrize("target", GROUPS)
def test_the_rules_fire_when_they_should_and_are_silent_otherwise(
    target: str, tmp_path: Path
) -> None:
    (tmp_path / "rules.yml").write_text(rules_text(target, None))
    shutil.copy(HERE / f"{target}.yaml", tmp_path / "test.yml")
    promtool("test", "rules", "test.yml", directory=tmp_path)


@needs_promtool
def test_the_time_is_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(rules_text("host", "1m30s"))
    test = yaml.safe_load((HERE / "host.yaml").read_text())
    # Two scrapes make a rate: it is too high from 15 s on, and fires 90 s later.
    cases = test["tests"][0]["alert_rule_test"]
    fires = {**cases[1], "eval_time": "1m45s", "exp_alerts": cases[1]["exp_alerts"][:1]}
    test["tests"][0] |= {
        "alert_rule_test": [{**cases[0], "eval_time": "1m30s"}, fires],
        "promql_expr_test": [],
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump(test))
    promtool("test", "rules", "test.yml", directory=tmp_path)


@pytest.mark.parametrize("hold", ["", "5", "5 m", "m", "-1m", "1m1h", "1.5m", "5m; rm"])
def test_what_is_no_duration(hold: str) -> None:
    with pytest.raises(UsageError, match="not a duration of Prometheus"):
        rules_text("all", hold)


@pytest.mark.parametrize("hold", ["15s", "5m", "1h30m", "1d", "250ms", "1y2w3d4h5m6s7ms"])
def test_what_is_a_duration(hold: str) -> None:
    document = yaml.safe_load(rules_text("all", hold))
    held = [rule.get("for") for group in document["groups"] for rule in group["rules"]]
    assert held.count(hold) >= 2


def test_no_counter_is_used_but_by_its_rate() -> None:
    groups = yaml.safe_load(rules_text("all", None))["groups"]
    expressions = [rule["expr"] for group in groups for rule in group["rules"]]
    counted = [e for e in expressions if "count by" not in e]
    used = re.findall(r"(\w+)\(\w+_total", "\n".join(counted))
    assert set(used) == {"rate"}
    assert len(used) == "".join(counted).count("_total")
