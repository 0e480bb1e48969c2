"""``make new-rule``: what it writes runs, and fails where something is left to fill in.

In a copy of the tree, with the copy's package: an editable install would find the checkout's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from quota_advisor.checks import MODULES
from tools import new_rule
from tools.new_rule import FIRES, SUBJECTS

TOP = Path(__file__).parents[2]
COPIED = ("quota_advisor", "rules", "tools", "tests/rules", "tests/rulebook")
CHECKS = new_rule.CHECKS.relative_to(new_rule.TOP)
RULES = {kind: f"rule-about-{kind.lower()}" for kind in SUBJECTS}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy with a new rule for each type of subject."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copy(TOP / "pyproject.toml", copy)
    for name in COPIED:
        shutil.copytree(TOP / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    loads = "from quota_advisor import checks\n\nchecks.load_all()\n"
    (copy / "tests" / "conftest.py").write_text(loads, encoding="utf-8")
    for kind, rule in RULES.items():
        done = in_copy(copy, "tools.new_rule", rule, kind)
        assert done.returncode == 0, done.stderr
    return copy


def test_what_a_rule_can_be_about_is_what_checks_judge_and_contributing_lists() -> None:
    assert set(SUBJECTS) <= set(MODULES)
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("| `SUBJECT` |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(SUBJECTS)


def in_copy(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Without site (-S) no .pth file runs, and so no editable install comes before the path.
    path = os.pathsep.join([str(copy), sysconfig.get_path("purelib")])
    return subprocess.run(
        [sys.executable, "-S", "-m", *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_new_rule_fails_where_it_is_left_to_fill_in_and_nowhere_else(tree: Path) -> None:
    wanted = " or ".join(RULES.values())
    tests = ("tests/rules", "tests/rulebook/test_catalogue.py")
    done = in_copy(tree, "pytest", "-q", "-p", "no:cacheprovider", "-rfE", *tests, "-k", wanted)
    failed = set(re.findall(r"^(?:FAILED|ERROR) \S+::(\S+)", done.stdout, re.MULTILINE))
    assert failed == {
        test
        for rule in RULES.values()
        for test in (
            f"test_the_rule_says_what_the_case_expects[{rule}/fires]",
            f"test_a_rule_says_what_why_how_and_when_not[{rule}]",
            f"test_no_case_is_left_to_fill_in[{rule}]",
        )
    }, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= len(RULES) * 5


def test_the_case_that_fires_passes_once_the_function_says_so(tree: Path) -> None:
    message = yaml.safe_load(FIRES.format(subject=""))["expect"][0]["message"]
    written = {}
    for kind, rule in RULES.items():
        path = tree.joinpath(*CHECKS.parts, SUBJECTS[kind].folder, f"{rule.replace('-', '_')}.py")
        written[path] = text = path.read_text(encoding="utf-8")
        assert "import Verdicts" in text
        assert "yield from ()" in text
        says = text.replace("import Verdicts", "import Hit, Verdicts")
        says = says.replace("yield from ()", f"yield Hit(message={message!r})")
        path.write_text(says, encoding="utf-8")
    names = " or ".join(f"{rule}/fires" for rule in RULES.values())
    done = in_copy(tree, "pytest", "-q", "-p", "no:cacheprovider", "tests/rules", "-k", names)
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    assert f"{len(RULES)} passed" in done.stdout, done.stdout


def test_the_table_of_modules_names_the_new_ones_and_all_that_it_did(tree: Path) -> None:
    code = "from quota_advisor import checks; checks.load_all(); print(checks.MODULES)"
    run = [sys.executable, "-S", "-c", code]
    path = os.pathsep.join([str(tree), sysconfig.get_path("purelib")])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(run, cwd=tree, env=env, capture_output=True, text=True, check=True)
    for kind, rule in RULES.items():
        assert f"{SUBJECTS[kind].folder}.{rule.replace('-', '_')}" in done.stdout
    assert "host.throttling" in done.stdout


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("throttled-often", "there is a rule 'throttled-often' already"),
        ("pods", "quota_advisor/checks/kubernetes/pods.py has that name already"),
        ("Too-Large", "lower case with dashes"),
        ("10m-limit", "a letter first"),
        ("lambda", "is no name of a rule"),
        ("../escape", "is no name of a rule"),
    ],
)
def test_a_name_that_cannot_be_is_refused(tree: Path, rule: str, told: str) -> None:
    before = sorted(tree.rglob("*"))
    done = in_copy(tree, "tools.new_rule", rule, "PodCase")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert told in line
    assert [p for p in sorted(tree.rglob("*")) if "__pycache__" not in p.parts] == [
        p for p in before if "__pycache__" not in p.parts
    ]


def test_an_unknown_subject_is_refused_with_those_that_there_are(tree: Path) -> None:
    done = in_copy(tree, "tools.new_rule", "some-rule", "Planet")
    assert done.returncode == 2
    assert "PodCase" in done.stderr
