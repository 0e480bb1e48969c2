"""``rules list`` and ``explain``: the rulebook for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from quota_advisor.cli import run
from quota_advisor.rulebook.catalogue import load_catalog

TOP = Path(__file__).parents[2]
SCHEMA = json.loads((TOP / "docs/schema/rules-v1.json").read_text(encoding="utf-8"))

Capture = pytest.CaptureFixture[str]


def rules(capsys: Capture, *arguments: str) -> list[Any]:
    assert run([*arguments, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    assert document["format"] == "quota-advisor/rules/v1"
    found: list[Any] = document["rules"]
    return found


def test_the_list_for_programs_holds_every_rule_in_full(capsys: Capture) -> None:
    found = rules(capsys, "rules", "list")
    assert [rule["id"] for rule in found] == list(load_catalog())
    for rule, shipped in zip(found, load_catalog().values(), strict=True):
        assert rule["severity"] == shipped.severity.value
        assert rule["applies_to"] == [word.value for word in shipped.applies_to]
        assert rule["fixable"] is shipped.fixable
        assert (rule["why"], rule["fix"], rule["silent"]) == (
            shipped.why,
            shipped.fix,
            shipped.silent,
        )
        assert rule["references"] == list(shipped.references)
        assert (TOP / rule["page"]).is_file()


def test_an_explanation_for_programs_is_that_rule(capsys: Capture) -> None:
    everything = rules(capsys, "rules", "list")
    (rule,) = rules(capsys, "explain", "throttled-often")
    assert rule in everything
    assert rule["options"]["warning_ratio"] == {
        "default": load_catalog()["throttled-often"].option("warning_ratio"),
        "unit": "ratio",
        "help": load_catalog()["throttled-often"].options["warning_ratio"].help,
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_misspelt_rule_is_told(capsys: Capture, form: str) -> None:
    assert run(["explain", "throtled-often", "--format", form]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "throttled-often" in told.err


def test_an_explanation_says_what_is_judged_and_what_can_be_mended(capsys: Capture) -> None:
    assert run(["explain", "misread-cpu-quota"]) == 0
    assert "applies to units; lint --fix" in capsys.readouterr().out
    assert run(["explain", "period-lengthened"]) == 0
    text = capsys.readouterr().out
    assert "applies to workloads, units\n" in text
    assert "--fix" not in text


def test_the_list_for_people_has_a_line_for_every_rule(capsys: Capture) -> None:
    assert run(["rules", "list"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["RULE", "SEVERITY", "CONFIDENCE", "TITLE"]
    assert [line.split()[0] for line in lines] == list(load_catalog())
