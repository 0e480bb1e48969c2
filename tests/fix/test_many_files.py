"""Fixing a large tree: what is certain changes, nothing else does."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.lint.conftest import Lint

FIXED_FILES = int(os.environ.get("FIXED_FILES", "150"))

ABOUT_CPU = re.compile(r"cpu|limits|requests|resources", re.IGNORECASE)

NOISE = ("# a comment with 050% and 0100m in it", "", "# cpu: 010", "# é 日本")


def unit(dice: random.Random) -> str:
    """Return a unit whose quota is misread, misplaced, misspelt or right."""
    key = dice.choice(["CPUQuota=050%", "CPUQuota = 50%", "CpuQuota=50%", "CPUQuota=7.50%"])
    section = dice.choice(["Service", "Unit"])
    noise = dice.choice(NOISE).split("\n")[0]
    return f"[{section}]\n{noise}\n{key}\n[Service]\nExecStart=/bin/true 050%\nNice=05\n"


def manifest(dice: random.Random) -> str:
    """Return pods whose amounts stand in the wrong place, are misread, or are right."""
    pods = [pod(dice, number) for number in range(dice.randint(1, 4))]
    return "---\n".join(pods)


def pod(dice: random.Random, number: int) -> str:
    quote = dice.choice(["", '"', "'"])
    amount = dice.choice(["010", "0100m", "1000", "250m", "1_000"])
    stanza = dice.choice(
        [
            f"    resources:\n      limits:\n        cpu: {quote}{amount}{quote}\n",
            f"    limits:\n      cpu: {quote}{amount}{quote}\n",
            f"    resources: {{limits: {{CPU: {quote}{amount}{quote}}}}}  # house rule\n",
            f"    resources:\n      cpu: {quote}{amount}{quote}\n",
        ]
    )
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p{number}\n  labels:\n    build: 010\n"
        f"spec:\n  # {dice.choice(NOISE)}\n  containers:\n  - name: a\n    image: a:010\n{stanza}"
    )


def compose(dice: random.Random) -> str:
    """Return services with keys that compose knows, or nearly."""
    key = dice.choice(["cpu_limit", "cpus", "cpu-quota", "cpu_shares"])
    return f"services:\n  web:\n    image: web:010\n    {key}: {dice.choice(['1', '0.5'])}\n"


KINDS: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    ("{}.service", unit),
    ("{}.yaml", manifest),
    ("{}/compose.yaml", compose),
)


def write_tree(top: Path) -> dict[str, str]:
    """Write the files; return their texts by path."""
    dice = random.Random(11)  # noqa: S311 - variety, no secrets
    texts: dict[str, str] = {}
    for number in range(FIXED_FILES):
        name, make = KINDS[number % len(KINDS)]
        path = top / f"d{number % 7}" / name.format(f"f{number}")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = make(dice)
        path.write_bytes(text.encode().replace(b"\n", dice.choice([b"\n", b"\n", b"\r\n"])))
        texts[str(path)] = path.read_bytes().decode()
    return texts


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """Make edits as an editor would: by lines and columns, the last one first."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column - 1

    for edit in sorted(edits, key=lambda e: (e["line"], e["column"]), reverse=True):
        start, end = at(edit["line"], edit["column"]), at(edit["end_line"], edit["end_column"])
        text = text[:start] + edit["text"] + text[end:]
    return text


def test_only_what_is_certain_changes_in_many_files(lint: Lint, tmp_path: Path) -> None:
    top = tmp_path / "tree"
    before = write_tree(top)
    lint("tree", "--fix")
    changed = 0
    for path, text in before.items():
        after = Path(path).read_bytes().decode()
        changed += after != text
        old, new = text.splitlines(), after.splitlines()
        kept = set(new)
        for line in old:
            if line not in kept:
                assert ABOUT_CPU.search(line), (path, line)
    assert changed > FIXED_FILES / 10
    # Nothing certain is left, and what an editor would do from the report is what --fix does.
    again = json.loads(lint("tree", "--format", "json").out)
    assert [f for f in again["findings"] if f["fix"]] == []


def test_the_fixes_in_the_report_are_those_that_are_made(lint: Lint, tmp_path: Path) -> None:
    top = tmp_path / "tree"
    before = write_tree(top)
    report = json.loads(lint("tree", "--format", "json").out)
    edits: dict[str, list[dict[str, Any]]] = {}
    for finding in report["findings"]:
        for edit in finding["fix"]["edits"] if finding["fix"] else ():
            if edit not in edits.setdefault(edit["file"], []):
                edits[edit["file"]].append(edit)
    # Two fixes of one file may collide, and one may bring up another: made first by an editor, then
    # by --fix, they come to the same.
    alone = [file for file, some in edits.items() if len(some) == 1]
    assert alone
    shutil.copytree(top, tmp_path / "edited")
    for file in alone:
        text = applied(before[str(tmp_path / file)], edits[file])
        (tmp_path / "edited" / file.removeprefix("tree/")).write_bytes(text.encode())
    lint("tree", "edited", "--fix")
    for file in alone:
        fixed = (tmp_path / file).read_bytes()
        assert fixed == (tmp_path / "edited" / file.removeprefix("tree/")).read_bytes(), file
