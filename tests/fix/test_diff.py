"""The diffs of ``--diff``: right, as people know them, and linear."""

from __future__ import annotations

import difflib
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.fix.diff import unified_diff

BASE = [f"line {number}\n" for number in range(40)]


def changed(**lines: list[str]) -> list[str]:
    """Return the base with some lines replaced, each by number."""
    return [new for i, line in enumerate(BASE) for new in lines.get(f"at_{i}", [line])]


USUAL = {
    "nothing": BASE,
    "one line": changed(at_20=["x\n"]),
    "the first line": changed(at_0=["x\n"]),
    "the last line": changed(at_39=["x\n"]),
    "a line more": changed(at_20=["resources:\n", "  line 20\n"]),
    "lines put in": changed(at_20=["a\n", "b\n", "line 20\n"]),
    "lines put in at the start": changed(at_0=["a\n", "b\n", "line 0\n"]),
    "lines added at the end": [*BASE, "a\n", "b\n"],
    "a line taken out": changed(at_20=[]),
    "five lines taken out": changed(at_20=[], at_21=[], at_22=[], at_23=[], at_24=[]),
    "every other line": changed(at_20=["x\n"], at_22=["y\n"], at_24=["z\n"]),
    "a block indented": changed(at_20=["r:\n", " line 20\n"], at_21=[" line 21\n"]),
    "six equal lines between": changed(at_10=["x\n"], at_17=["y\n"]),
    "seven equal lines between": changed(at_10=["x\n"], at_18=["y\n"]),
    "no line end": [*BASE[:-1], "line 39"],
}


def theirs(old: list[str], new: list[str]) -> list[str]:
    return list(difflib.unified_diff(old, new, "a/x", "b/x"))


def ours(old: list[str], new: list[str]) -> list[str]:
    return list(unified_diff(old, new, "a/x", "b/x"))


@pytest.mark.parametrize("new", USUAL.values(), ids=USUAL)
def test_usual_changes_look_as_people_know_them(new: list[str]) -> None:
    assert ours(BASE, new) == theirs(BASE, new)
    assert ours(new, BASE) == theirs(new, BASE)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "  a\n", "x: 1\n", "\n"]), max_size=30)


@given(LINES, LINES)
def test_patch_makes_one_file_of_the_other(old: list[str], new: list[str]) -> None:
    made, at = [], 0
    for line in ours(old, new)[2:]:
        if line[:2] == "@@":
            start, _, length = line.split()[1][1:].partition(",")
            begin = int(start) - (length != "0")
            made += old[at:begin]
            at = begin
        elif line[0] != "+":
            assert old[at] == line[1:]
            at += 1
        if line[0] in " +":
            made.append(line[1:])
    assert [*made, *old[at:]] == new


def test_patch_takes_it(tmp_path: Path) -> None:
    new = changed(at_3=["x\n"], at_20=["a\n", "b\n"], at_39=["end\n"])
    (tmp_path / "x").write_text("".join(BASE))
    diff = "".join(ours(BASE, new))
    subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "x").read_text() == "".join(new)


def seconds(lines: int) -> float:
    """Return the CPU time that the diff of a file with a change every four lines takes."""
    old = [f"line {number}\n" if number % 4 else "  limits:\n" for number in range(lines)]
    new = [
        made
        for line in old
        for made in (["  resources:\n", f"  {line}"] if line[0] == " " else [line])
    ]
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        assert len(ours(old, new)) > lines
        best = min(best, time.process_time() - start)
    return best


def test_it_takes_twice_the_time_for_twice_the_lines() -> None:
    assert seconds(40_000) / seconds(10_000) < 8
