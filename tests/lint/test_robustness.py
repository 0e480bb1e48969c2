"""Hostile input costs a bounded time and a bounded memory, and never a traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quota_advisor.cli import run
from tests.lint.conftest import REPOSITORY, write
from tests.lint.samples import deployment

TOP = Path(__file__).parents[2]
MAX_CPU_SEC = 20
"""Ten times what any of these takes. CPU time: how long it takes is the busy machine's affair."""

MAX_BYTES = 400 << 20
"""Address space, which is more than what is really used."""

BOMB = "kind: Pod\nspec:\n  containers: []\na: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefghijkl", "bcdefghijklm", strict=True)
)

HOSTILE: Mapping[str, bytes] = {
    "bomb.yaml": BOMB.encode(),
    "containers-bomb.yaml": BOMB.replace("containers: []", "containers: *m").encode()
    + b"---\nkind: Pod\nspec: {containers: &c [*c]}\n",
    "deep.yaml": b"containers: " + b"[" * 10_000,
    "deep-block.yaml": b"".join(b" " * n + b"containers:\n" for n in range(2_000)),
    "deep.json": b'{"containers": ' * 10_000 + b"1" + b"}" * 10_000,
    "long.yaml": b"containers: " + b"x" * (100 << 20),
    "long.service": b"[Service]\nCPUQuota=" + b"9" * (3 << 20),
    "digits.yaml": deployment(limit="9" * 100_000 + "m", request="1e99999999").encode(),
    "binary.yaml": bytes(range(256)) * 4000 + b"containers",
    "nul.service": b"[Service]\n\0CPUQuota=050%\0\n",
    "utf16.yaml": deployment().encode("utf-16"),
    "no-utf16.yaml": b"\xff\xfe# quota-advisor: ignore[x] y\ncontainers: \xd8\n",
    "latin.yaml": deployment("caf\xe9").encode("latin-1"),
    "surrogate.service": b"[Service]\nCPUQuota=\xed\xa0\x80%\n",
    "keys.yaml": b"containers: {" + b"a: 1, " * 200_000 + b"}",
    "documents.yaml": b"---\n" * 300_000 + b"containers: 1\n",
    "colons.yaml": b"containers" + b": {a" * 5_000,
    "dashes.yaml": b"containers:\n" + b"- " * 9_000 + b"x\n",
}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def lint(directory: Path, *arguments: str) -> Ran:
    """Lint in a process of its own with little memory and CPU time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SEC, MAX_CPU_SEC))

    done = subprocess.run(
        [sys.executable, "-m", "quota_advisor", "lint", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        check=False,
        preexec_fn=limit,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("name", HOSTILE)
def test_one_hostile_file(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: HOSTILE[name], "good.yaml": deployment()})
    done = lint(tmp_path, name, "good.yaml", "--jobs", "1")
    assert done.code in (1, 3)
    assert "Traceback" not in done.err
    assert "please report" not in done.err
    assert "good.yaml:14:18: error: " in done.out


def test_all_hostile_files_together(tmp_path: Path) -> None:
    write(tmp_path, {**HOSTILE, "good.yaml": deployment()})
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop").symlink_to(".")
    done = lint(tmp_path, "--jobs", "2", "--format", "json=r.json", "--format", "table")
    assert "Traceback" not in done.err
    assert "please report" not in done.err
    assert "good.yaml:14:18: error: " in done.out
    assert done.code == 3
    assert "long.yaml: a document is larger than 32 MiB" in done.err


SEEDS = [path.read_bytes() for path in sorted(REPOSITORY.rglob("*")) if path.is_file()]
CHUNKS = st.sampled_from(
    [b"", b"\n", b"\r", b"\t", b"---\n", b"- ", b": ", b"&a ", b"*a ", b"<<: ", b"{{ .x }}", b"[",
     b"}", b"'", b'"', b"!!binary ", b"!x ", b"\xff", b"\0", b"\xef\xbb\xbf", b"0x1F", b"1e9",
     b"1:30", b"~", b"| \n", b"%YAML 9\n", b"cpu: ", b"limits: ", b"containers:\n- ",
     b"[Service]\n"]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.floats(0, 1), CHUNKS), max_size=6), st.data())
def test_mutated_manifests_never_break_lint(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    seed: bytes,
    changes: list[tuple[float, bytes]],
    data: st.DataObject,
) -> None:
    text = bytearray(seed)
    for where, chunk in changes:
        at = int(where * len(text))
        text[at : at + data.draw(st.integers(0, 3))] = chunk
    for name in ("a.yaml", "a.service", "a.container"):
        (tmp_path / name).write_bytes(text)
    code = run(["lint", "--jobs", "1", *(str(p) for p in sorted(tmp_path.iterdir()))])
    err = capfd.readouterr().err
    assert code in (0, 1)
    assert err == ""
