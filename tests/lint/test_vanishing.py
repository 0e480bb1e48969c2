"""Files that change, vanish or turn into something else while they are looked at."""

from __future__ import annotations

import os
import random
import shutil
import threading
from contextlib import suppress
from pathlib import Path

from tests.lint.conftest import Lint
from tests.lint.samples import BAD_UNIT, deployment

RUNS = int(os.environ.get("MUTATED_RUNS", "15"))


def mutate(tree: Path, stop: threading.Event) -> None:
    """Change files below a directory of the test's own, nothing else, until told to stop."""
    dice = random.Random(3)  # noqa: S311 - moments, no secrets
    while not stop.is_set():
        name = f"{dice.randrange(40)}.{dice.choice(['yaml', 'service'])}"
        path = tree / dice.choice(["", "sub"]) / name
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        with suppress(OSError):
            match dice.randrange(6):
                case 0:
                    os.mkfifo(path)
                case 1:
                    path.symlink_to("/dev/zero")
                case 2:
                    path.mkdir()
                case 3:
                    path.write_text(deployment() * dice.randint(0, 3))
                case 4:
                    path.write_text(BAD_UNIT)
                case _:
                    pass


def test_what_changes_meanwhile_gets_a_line_and_never_ends_the_run(
    lint: Lint, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    stop = threading.Event()
    mutator = threading.Thread(target=mutate, args=(tree, stop))
    mutator.start()
    try:
        for number in range(RUNS):
            done = lint("tree", *["--fix"] * (number % 2), "--format", "json")
            assert done.code in (0, 1, 3)
            assert "defect" not in done.err + done.out
            assert "Traceback" not in done.err
            if done.code == 3:
                assert "could not" in done.err
    finally:
        stop.set()
        mutator.join()
