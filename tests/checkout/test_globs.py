"""Patterns mean what they mean to git, and take no longer than they must."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from quota_advisor.checkout.globs import parse_glob
from quota_advisor.checkout.ignored import MAX_PATTERNS, Patterns

PATTERNS = int(os.environ.get("GLOB_PATTERNS", "300"))


def matches(pattern: str, path: str, *, directory: bool = False) -> bool:
    glob = parse_glob(pattern)
    return glob is not None and glob.matches(path.split("/"), directory=directory)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*" + "a*" * 40 + "b", "a" * 255),
        ("*" + "?a*" * 40 + "b", "a" * 255),
        ("[a]*" * 40 + "b", "a" * 255),
        ("**/a/" * 40 + "b", "/".join("a" * 1000)),
        ("**/*a*a*/" * 40 + "b", "/".join(["a" * 20] * 100)),
        ("*" * 1000 + "b", "a" * 255),
    ],
)
def test_many_stars_take_no_time(pattern: str, path: str) -> None:
    start = time.process_time()
    assert not matches(pattern, path)
    assert time.process_time() - start < 0.5


def test_as_many_patterns_as_nobody_writes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="more than 2000 patterns"):
        Patterns(["a"] * (MAX_PATTERNS + 1), tmp_path)


def made_up_pattern(dice: random.Random) -> str:
    pieces = ["a", "b", "*", "?", "**", "/", "[ab]", "[!a]", "[^b]", "\\a", "\\*", "[a-c]"]
    pieces += [".", "[[:alpha:]]", "[]a]", "\\ ", " ", "[a-", "(", "+"]
    text = "".join(dice.choices(pieces, [4, 4, 6, 2, 4, 8] + [1] * 14, k=dice.randint(1, 7)))
    # Where git leaves its own documentation: a slash in brackets, and ** behind a plain beginning
    # of the pattern, which git compares apart.
    odd = "//" in text or "[a-" in text.rpartition("/")[0]
    odd |= any("**" in name and name != "**" for name in text.split("/"))
    return made_up_pattern(dice) if odd else text


def made_up_path(dice: random.Random) -> str:
    names = ["".join(dice.choices("aabbc.* (+-]", k=dice.randint(1, 4))) for _ in range(4)]
    names = [name for name in names if name.strip(".")] or ["a"]
    return "/".join(names[: dice.randint(1, 4)])


def test_made_up_patterns_mean_what_they_mean_to_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    dice = random.Random(20)  # noqa: S311 - cases, no secrets
    wrong = []
    for _ in range(PATTERNS):
        pattern = made_up_pattern(dice)
        paths = sorted({made_up_path(dice) for _ in range(40)})
        ours = [path for path in paths if Patterns([pattern], tmp_path).covers_file(path)]
        if ours != (theirs := ignored_by_git(pattern, paths)):
            wrong.append((pattern, set(ours) ^ set(theirs)))
    assert not wrong


def ignored_by_git(pattern: str, paths: list[str]) -> list[str]:
    Path(".gitignore").write_text(f"{pattern}\n")
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(paths),
        capture_output=True,
        text=True,
        check=False,
    )
    return [path for path in done.stdout.split("\0") if path]
