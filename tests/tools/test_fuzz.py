"""The fuzzer of the Python readers runs, and finds what is there to find."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tools import fuzz

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_a_reader_stands_a_few_inputs(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "tools/fuzz.py", "--inputs", "150", "--seed", "7", name],
        cwd=TOP, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{name}: 150 inputs" in done.stdout


def test_what_ends_a_reader_is_found_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fragile(data: bytes) -> None:
        assert b"\0" not in data

    monkeypatch.setitem(fuzz.TARGETS, "units", (fragile, "tests/rules/**/*.service"))
    monkeypatch.setattr(fuzz, "FINDINGS", tmp_path)
    assert not fuzz.run("units", (None for _ in range(2000)), 1)
    [kept] = tmp_path.iterdir()
    assert b"\0" in kept.read_bytes()


def test_the_same_seed_makes_the_same_files() -> None:
    made = [[fuzz.mutated([b"a: b\n"], random.Random(3)) for _ in range(5)] for _ in "ab"]  # noqa: S311
    assert made[0] == made[1]
