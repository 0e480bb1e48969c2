"""One process or several, one file or many: the same report."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from quota_advisor.checkout import chunks as lint_chunks
from quota_advisor.checkout.chunks import Chunk, chunks, read_chunk
from quota_advisor.checkout.inputs import FileKind, InputFile
from quota_advisor.documents.reader import Document, read_manifest
from quota_advisor.lint import judge as lint_judge
from quota_advisor.lint import pool
from quota_advisor.lint import run as linting
from tests.lint.conftest import Lint
from tests.lint.samples import BAD_UNIT, deployment

LIMITS = """\
apiVersion: v1
kind: LimitRange
metadata: {name: d, namespace: team}
spec: {limits: [{type: Container, default: {cpu: 700m}}]}
"""


def many(count: int) -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {
        f"d{n % 7}/f{n}.yaml": "---\n".join(
            deployment(f"app-{n}-{m}", limit=f"{100 + m}m") for m in range(3)
        )
        for n in range(count)
    }
    files |= {
        f"q{n % 5}/{99 - n:02}.kube": "[Service]\nCPUQuota=50%\n# could not be judged\n"
        for n in range(count)
    }
    files["d3/limits.yaml"] = LIMITS
    files["d1/bad.yaml"] = "kind: Pod\nspec: {containers: [\n"
    files["d2/octal.yaml"] = deployment("octal", limit="010")
    files["units/a.service"] = BAD_UNIT
    return files


@pytest.fixture(autouse=True)
def no_input_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linting, "SMALL_BYTES", 0)


@pytest.mark.parametrize("jobs", ["2", "3", "64"])
def test_the_number_of_processes_changes_nothing(lint: Lint, jobs: str) -> None:
    alone = lint("--format", "json", "--jobs", "1", files=many(60))
    regions = lint("--format", "sarif", "--jobs", "1").out
    assert all(f'"{field}"' in regions for field in ("endLine", "fixes", "relatedLocations"))
    assert len(alone.found()) > 180
    assert alone.report["skipped"]
    together = lint("--format", "json", "--jobs", jobs)
    assert together.out == alone.out
    assert (together.code, together.err) == (alone.code, alone.err)
    assert lint("--format", "sarif", "--jobs", jobs).out == regions


def test_a_large_file_reads_as_the_same_documents_in_chunks(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "---\n".join(deployment(f"app-{n}") for n in range(300))
    whole = lint("--format", "json", "--jobs", "1", files={"all.yaml": text})
    assert len(whole.found()) > 300
    monkeypatch.setattr(lint_chunks, "CHUNK_BYTES", 5000)
    for jobs in ("1", "3"):
        assert lint("--format", "json", "--jobs", jobs).out == whole.out


def test_chunks_cover_a_file_and_begin_where_a_document_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint_chunks, "CHUNK_BYTES", 100)
    data = b"a: |\n  ---\n" * 30 + b"---\nb: 1\n--- # c\nd: '---'\n---x: 1\n" * 20
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    file = InputFile("a.yaml", FileKind.MANIFEST, len(data), real=str(path))
    found = [chunk for chunk in chunks([file]) if isinstance(chunk, Chunk)]
    assert len(found) > 5
    assert b"".join(map(read_chunk, found)) == data
    for chunk in found[1:]:
        assert read_chunk(chunk).startswith((b"---\n", b"--- #"))
        assert chunk.first_line == data[: chunk.start].count(b"\n") + 1
    held = InputFile("-", FileKind.MANIFEST, len(data), data=data)
    assert [chunk[1:] for chunk in chunks([held]) if isinstance(chunk, Chunk)] == [
        chunk[1:] for chunk in found
    ]


def test_a_worker_that_dies_is_one_line_and_3(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()
    original = pool._survey

    def killed(*arguments: object) -> object:
        if os.getpid() != parent:
            os._exit(9)
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "_survey", killed)
    done = lint("--jobs", "2", files=many(10))
    assert done.code == 3
    assert done.err == (
        "quota-advisor: a worker process ended before its work was done: try --jobs 1\n"
    )


def test_a_worker_that_dies_does_not_keep_the_others(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, forks = os.getpid(), [0]
    fork, survey = os.fork, pool._survey

    def counted() -> int:
        forks[0] += 1
        return fork()

    def first_dies(*arguments: object) -> object:
        if os.getpid() != parent and forks == [1]:
            os._exit(9)
        return survey(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.setattr(pool, "_survey", first_dies)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert lint("--jobs", "4", files=many(10)).code == 3
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_without_room_for_others_one_process_does_it_all(
    lint: Lint, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    alone = lint("--jobs", "1", files=many(10))
    original = getattr(os, call)
    calls: list[int] = []

    def third_fails(*arguments: object) -> object:
        calls.append(1)
        if call == "fork" or len(calls) > 3:
            raise BlockingIOError(11, "no room")
        return original(*arguments)

    monkeypatch.setattr(os, call, third_fails)
    together = lint("--jobs", "3")
    assert (together.code, together.out, together.err) == (alone.code, alone.out, alone.err)


def test_a_worker_that_fails_says_why(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()
    original = pool._judge

    def broken(*arguments: object) -> object:
        if os.getpid() != parent:
            raise ZeroDivisionError("planted")
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "_judge", broken)
    done = lint("--jobs", "2", files=many(10))
    assert done.code == 3
    assert "ZeroDivisionError: planted" in done.err
    assert "Traceback" not in done.err


def test_a_large_file_with_settings_of_a_namespace_is_read_once(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []

    def counted(name: str, data: bytes) -> Iterator[Document]:
        reads.append(name)
        return read_manifest(name, data)

    monkeypatch.setattr(lint_judge, "LARGE_BYTES", 100)
    monkeypatch.setattr(lint_judge, "read_manifest", counted)
    limits = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a}\nspec:\n  limits: []\n---\n"
    done = lint("--jobs", "1", files={"all.yaml": limits + deployment(limit="5m")})
    assert "limit-below-10m" in done.out
    assert reads == ["all.yaml"]
