"""What is written about the program is true of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import jsonschema
import pytest

from quota_advisor.cli import cli, run
from quota_advisor.rulebook.catalogue import load_catalog

TOP = Path(__file__).parent.parent
README = (TOP / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")


def commands(group: click.Group, *above: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*above, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


COMMANDS = list(commands(cli))


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=lambda v: " ".join(v) if isinstance(v, tuple) else ""
)
def test_every_command_and_option_has_help(path: tuple[str, ...], command: click.Command) -> None:
    assert command.help, path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, (path, parameter.name)


@pytest.mark.parametrize("path", [p for p, c in COMMANDS if not isinstance(c, click.Group)])
def test_every_command_is_in_the_readme(path: tuple[str, ...]) -> None:
    assert f"quota-advisor {' '.join(path)}" in README


def test_generated_files_are_current() -> None:
    subprocess.run([sys.executable, "-m", "tools.generate", "--check"], check=True, cwd=TOP)


def test_the_quick_start_is_two_commands_that_exist() -> None:
    section = README.split("## Quick start")[1].split("##")[0]
    names = re.findall(r"^make ([a-z-]+)", section, re.MULTILINE)
    assert names == ["audit", "test"]
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{name}:" in makefile for name in names)


def test_every_target_of_make_is_listed_with_what_it_does() -> None:
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    phony = makefile.split(".PHONY:")[1].split("\n\n")[0].replace("\\", "").split()
    assert targets == set(phony)
    done = subprocess.run(["make", "help"], cwd=TOP, check=True, capture_output=True, text=True)
    listed = re.findall(r"^  ([a-z0-9-]+) +\S", done.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(targets)


@pytest.mark.parametrize("path", re.findall(r"`([a-z_]+/[a-z_/.]*)`", CONTRIBUTING))
def test_what_the_map_of_the_rooms_names_is_there(path: str) -> None:
    assert (TOP / "quota_advisor" / path).exists() or (TOP / path).exists()


def test_the_readme_shows_what_the_demo_says_now() -> None:
    demo = README.split("<!-- demo -->")[1].split("<!-- end -->")[0]
    shown = set(re.findall(r"\[([a-z0-9-]+)\]", demo))
    assert {"throttled-often", "quota-below-peak", "peak-censored"} <= shown
    assert shown <= set(load_catalog())


@pytest.mark.parametrize(
    "page",
    [*sorted(TOP.glob("docs/**/*.md")), TOP / "README.md", TOP / "CONTRIBUTING.md"],
    ids=lambda p: str(p.relative_to(TOP)),
)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (page.parent / target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("rule", load_catalog())
def test_the_page_of_a_rule_shows_what_fires_and_what_does_not(rule: str) -> None:
    page = (TOP / f"docs/rules/{rule}.md").read_text(encoding="utf-8")
    fires, silent = page.split("## An example that ")[1:]
    assert "\nFound" in fires
    assert "\n- **" in fires
    assert "\nNothing found" in silent.partition("\n## ")[0]
    assert 2 <= len(re.findall(rf"\]\(../../tests/rules/{rule}/", page)) <= 5


def test_the_index_of_the_rules_has_each_once() -> None:
    index = (TOP / "docs/rules/README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[([a-z0-9-]+)\]", index, re.MULTILINE)) == list(load_catalog())


def test_every_decision_is_in_the_index() -> None:
    index = (TOP / "docs/adr/README.md").read_text(encoding="utf-8")
    pages = {p.name for p in (TOP / "docs/adr").glob("0*.md")}
    assert pages == set(re.findall(r"\((0[^)]+)\)", index))


def test_reports_and_snapshots_match_their_published_schemas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "facts.json"
    unit = tmp_path / "root/etc/systemd/system/a.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nCPUQuota=abc\nCPUQuota=050%\n")
    arguments = ["--root", str(tmp_path / "root"), "--save", str(facts), "--format", "json"]
    assert run(["audit", "host", *arguments]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["findings"]
    for document, name in ((report, "report-v2"), (json.loads(facts.read_text()), "snapshot-v1")):
        schema = json.loads((TOP / f"docs/schema/{name}.json").read_text(encoding="utf-8"))
        jsonschema.validate(document, schema)
