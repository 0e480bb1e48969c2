"""A recording is read back as it was written, also when it was cut, and by other programs."""

from __future__ import annotations

import gzip
import json
import os
import resource
from array import array
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.errors import CollectError, UsageError
from quota_advisor.recording.arrow import nanoarrow
from quota_advisor.recording.reader import GAP, HELD, Recording, read_recording
from quota_advisor.recording.schema import COLUMNS, METADATA_KEY, About
from quota_advisor.recording.writer import Row, Writer

MSEC = 1_000
NOISE = [number * 7919 % 10_007 / MSEC for number in range(10_000)]
"""Uses in milliseconds that do not compress to nothing."""
DOCS = Path(__file__).parent.parent.parent / "docs" / "recordings.md"


def about(**changes: Any) -> About:
    given: dict[str, Any] = {
        "program": "quota-advisor test",
        "started_at": "2026-12-01T10:00:00.000+00:00",
        "subject": "api.service",
        "cgroup": "/system.slice/api.service",
        "host": "web-1",
        "kernel": "6.18.0",
        "cgroup_version": 2,
        "cpus": 4,
        "tick_usec": 4_000,
        "interval_usec": 10 * MSEC,
    }
    return About(**(given | changes))


def row(used_msec: float | None = 1, **more: Any) -> Row:
    used = None if used_msec is None else round(used_msec * MSEC)
    return Row(elapsed_usec=10 * MSEC, used_usec=used, **more)


def written(path: Path, rows: list[Row], *, block: int = 10, finish: bool = True) -> Path:
    with Writer(path, about()) as writer:
        for number, one in enumerate(rows, 1):
            writer.add(one)
            if number % block == 0:
                writer.flush()
        if finish:
            writer.finish()
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    rows = [
        row(5, quota_usec=50_000, period_usec=100_000, burst_usec=0, threads=3, periods=0),
        row(None),
        row(20, periods=1, throttled_periods=1, throttled_usec=60_000, threads=4),
    ]
    found = read_recording(written(tmp_path / "a.arrows.gz", rows))
    assert found.about == about()
    (track,) = found.tracks
    assert not found.is_cut
    assert track.cgroup == "/system.slice/api.service"
    assert list(track.elapsed_usec) == [10_000] * 3
    assert list(track.used_usec) == [5_000, 0, 20_000]
    assert list(track.marks) == [0, GAP, HELD]
    assert (track.gaps, track.held) == (1, 1)
    assert (track.periods, track.throttled_periods, track.throttled_usec) == (1, 1, 60_000)
    assert track.threads == 4
    assert [(c.window, c.quota_usec) for c in track.limits] == [(0, 50_000), (1, None)]


def test_counters_that_the_kernel_does_not_have_are_unknown(tmp_path: Path) -> None:
    (track,) = read_recording(written(tmp_path / "a", [row(1)] * 3)).tracks
    assert (track.periods, track.throttled_periods, track.threads) == (None, None, None)


def test_stalls_by_a_quota_above_mark_a_window_too(tmp_path: Path) -> None:
    rows = [row(1, stalled_usec=0), row(1, stalled_usec=9)]
    (track,) = read_recording(written(tmp_path / "a", rows)).tracks
    assert list(track.marks) == [0, HELD]


def test_many_cgroups_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "host.arrows.gz"
    with Writer(path, about(subject="", cgroup="")) as writer:
        for number in range(7):
            writer.add(row(number, quota_usec=number), f"/g{number % 2}")
            writer.flush()
        writer.add(row(None), "/g1")
        writer.add(row(9, quota_usec=9), "/g1")
        writer.finish()
    tracks = {track.cgroup: track for track in read_recording(path).tracks}
    assert list(tracks["/g0"].used_usec) == [0, 2_000, 4_000, 6_000]
    assert list(tracks["/g1"].used_usec) == [1_000, 3_000, 5_000, 0, 9_000]
    assert list(tracks["/g1"].marks) == [0, 0, 0, GAP, 0]
    assert [c.quota_usec for c in tracks["/g1"].limits] == [1, 3, 5, None, 9]


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.99])
def test_a_cut_file_loses_its_last_block_only(tmp_path: Path, share: float) -> None:
    whole = written(tmp_path / "a", [row(use) for use in NOISE[:4_000]], block=20)
    data = whole.read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(data[: int(len(data) * share)])
    found = read_recording(cut)
    (track,) = found.tracks
    assert found.is_cut
    assert len(track.marks) % 20 == 0
    assert 4_000 * share * 0.9 <= len(track.marks) < 4_000
    assert list(track.used_usec) == [round(use * MSEC) for use in NOISE[: len(track.marks)]]


def test_what_was_flushed_survives_a_kill(tmp_path: Path) -> None:
    rows = [row(1)] * 25
    found = read_recording(written(tmp_path / "a", rows, block=10, finish=False))
    assert found.is_cut
    assert len(found.tracks[0].marks) == 20


def test_every_byte_may_be_the_last(tmp_path: Path) -> None:
    data = written(tmp_path / "a", [row(1)] * 12, block=4).read_bytes()
    cut = tmp_path / "cut"
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        try:
            found = read_recording(cut)
        except UsageError:
            continue
        # The very last bytes are gzip's own: all of ours is there without them.
        assert found.is_cut or len(data) - length <= 16
        assert len(found.tracks[0].marks) in (4, 8, 12)


def test_a_damaged_block_ends_the_recording(tmp_path: Path) -> None:
    data = bytearray(written(tmp_path / "a", [row(use) for use in NOISE]).read_bytes())
    data[len(data) // 2] ^= 0xFF
    damaged = tmp_path / "damaged"
    damaged.write_bytes(data)
    found = read_recording(damaged)
    assert found.is_cut
    assert 0.2 * len(NOISE) < len(found.tracks[0].marks) < 0.8 * len(NOISE)


def test_a_recording_never_replaces_a_file(tmp_path: Path) -> None:
    there = tmp_path / "a"
    there.write_text("precious")
    with pytest.raises(CollectError, match="exists"):
        Writer(there, about())
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CollectError, match="exists"):
        Writer(link, about())
    assert there.read_text() == "precious"


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    assert written(tmp_path / "a", [row(1)]).stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_said_and_what_was_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    rows = [row((n * 7919) % 10, throttled_usec=n * 104_729 % 65_536) for n in range(4_000)]
    try:
        with Writer(path, about()) as writer:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, hard))
            with pytest.raises(CollectError, match="readable"):
                _fill(writer, rows)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    found = read_recording(path)
    assert found.is_cut
    assert len(found.tracks[0].marks) >= 100


def _fill(writer: Writer, rows: list[Row]) -> None:
    for number, one in enumerate(rows, 1):
        writer.add(one)
        if number % 100 == 0:
            writer.flush()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"hello, world\n" * 9, "is not a recording", id="text"),
        pytest.param(gzip.compress(b"hello" * 99), "is not a recording", id="gzip of text"),
        pytest.param(b"ARROW1\0\0", "is not a recording", id="arrow file"),
        pytest.param(os.urandom(4096), "is not a recording", id="noise"),
    ],
)
def test_foreign_files_are_called_so(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        read_recording(path)


def test_arrow_data_of_others_is_not_taken_for_ours(tmp_path: Path) -> None:
    arrow = nanoarrow()
    path = tmp_path / "other"
    with gzip.open(path, "wb") as file, arrow.ipc.StreamWriter.from_writable(file) as writer:
        schema = arrow.struct({"used_usec": arrow.uint32()})
        numbers = arrow.c_array([1, 2, 3], arrow.uint32())
        writer.write_stream(arrow.c_array_from_buffers(schema, 3, [None], children=[numbers]))
    with pytest.raises(UsageError, match="not written by quota-advisor"):
        read_recording(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (about().model_dump_json().replace('"version":1', '"version":2'), "another version"),
        (json.dumps({"version": 1}), "malformed"),
        ("not json", "malformed"),
    ],
)
def test_later_versions_and_broken_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr(About, "model_dump_json", lambda _: text)
    path = written(tmp_path / "a", [row(1)])
    with pytest.raises(UsageError, match=said):
        read_recording(path)


def test_a_recording_without_a_window_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no window"):
        read_recording(written(tmp_path / "a", []))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CollectError, match="no such file"):
        read_recording(tmp_path / "missing")


def recorded(tmp_path: Path) -> tuple[Path, Recording]:
    rows = [row(n % 9, throttled_usec=n, threads=2, quota_usec=None) for n in range(50)]
    path = written(tmp_path / "a.arrows.gz", rows)
    return path, read_recording(path)


def test_pyarrow_reads_it_as_it_is_documented(tmp_path: Path) -> None:
    """So do pandas and DuckDB, through it."""
    import pyarrow as pa  # noqa: PLC0415 - large, and for this test alone

    path, found = recorded(tmp_path)
    table = pa.ipc.open_stream(pa.input_stream(str(path))).read_all()
    assert table.column("used_usec").to_pylist() == list(found.tracks[0].used_usec)
    assert table.column("quota_usec").null_count == 50
    assert About.model_validate_json(table.schema.metadata[METADATA_KEY]) == found.about


def test_polars_reads_it_as_it_is_documented(tmp_path: Path) -> None:
    import polars as pl  # noqa: PLC0415 - as above

    path, found = recorded(tmp_path)
    with gzip.open(path) as file:
        frame = pl.read_ipc_stream(file.read())
    assert array("I", frame["elapsed_usec"].to_list()) == found.tracks[0].elapsed_usec


def test_the_documentation_names_every_column_and_field() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for column in COLUMNS:
        width = f"uint{column.bits}" if column.bits else "string"
        null = "yes" if column.nullable else "no"
        assert f"| `{column.name}` | {width} | {null} | {column.meaning} |" in text
    for name in About.model_fields:
        assert f"`{name}`" in text
