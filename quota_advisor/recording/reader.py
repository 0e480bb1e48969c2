"""Reading a recording, block by block, as far as it goes."""

from __future__ import annotations

import io
import os
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import field
from operator import or_
from pathlib import Path
from typing import Any, BinaryIO

import pydantic

from quota_advisor.errors import CollectError, UsageError
from quota_advisor.files.writing import reason
from quota_advisor.recording.arrow import nanoarrow
from quota_advisor.recording.schema import COLUMNS, METADATA_KEY, VERSION, About
from quota_advisor.recording.writer import GZIP
from quota_advisor.records import dataclass
from quota_advisor.sim.trace import Trace

MAX_WINDOWS = 70_000_000
"""A week at 10 ms, and some: nine bytes a window are kept."""

_CHUNK_BYTES = 1 << 18
_PACKED_BYTES = 1 << 12
"""What is damaged is lost with what is unpacked along with it: little at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChange:
    """A limit, from a window on.

    Attributes:
        window: Number of the first window that it was in force in.
        quota_usec: Quota; None for none.
        period_usec: Its period.
        burst_usec: Burst allowance.
    """

    window: int
    quota_usec: int | None
    period_usec: int | None
    burst_usec: int | None


@dataclass(slots=True, kw_only=True)
class Track:
    """What was recorded of one cgroup.

    Attributes:
        cgroup: Its path.
        elapsed_usec, used_usec: Of each window; a window that nobody saw has a use of 0 and a mark.
        marks: Of each window: :data:`HELD`, :data:`GAP`, both or 0.
        limits: The limits in force, as they changed.
        periods, throttled_periods, throttled_usec: Sums of what the kernel counted; None where it
            counted nothing.
        threads: The most threads seen; None where nobody could tell.
    """

    cgroup: str
    elapsed_usec: array[int] = field(default_factory=lambda: array("I"))
    used_usec: array[int] = field(default_factory=lambda: array("I"))
    marks: bytearray = field(default_factory=bytearray)
    limits: list[LimitChange] = field(default_factory=list)
    periods: int | None = None
    throttled_periods: int | None = None
    throttled_usec: int | None = None
    threads: int | None = None

    @property
    def trace(self) -> Trace:
        """Its use, for the simulator."""
        return Trace(elapsed_usec=self.elapsed_usec, used_usec=self.used_usec)

    @property
    def gaps(self) -> int:
        """Number of windows that nobody saw."""
        return sum(bool(mark & GAP) for mark in self.marks) if any(self.marks) else 0

    @property
    def held(self) -> int:
        """Number of windows in which a limit held the group back, as the kernel counted it."""
        return sum(bool(mark & HELD) for mark in self.marks) if any(self.marks) else 0


HELD, GAP = 1, 2
"""Marks of a window: a limit held the group back; nobody saw what it used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording.

    Attributes:
        about: What was recorded, where and how.
        tracks: What was recorded of each cgroup, in the order in which they appear.
        is_cut: It ends without the mark of its end: the last block may be lost.
    """

    about: About
    tracks: tuple[Track, ...]
    is_cut: bool


def read_recording(path: Path) -> Recording:
    """Return a recording; of one that was cut short, all whole blocks.

    Raises:
        UsageError: It is no recording, one of a later version, or the library is not installed.
        CollectError: It cannot be read.
    """
    arrow = nanoarrow()
    try:
        with path.open("rb") as file:
            return _read(arrow, _Unpacked(file), path)
    except OSError as error:
        raise CollectError(f"{path}: {reason(error)}") from error


def _read(arrow: Any, source: _Unpacked, path: Path) -> Recording:
    try:
        # The library takes a short read for the end of the file; a buffered one is never short.
        whole = io.BufferedReader(source, _CHUNK_BYTES)
        stream = arrow.c_array_stream(arrow.ipc.InputStream.from_readable(whole))
        schema = stream.get_schema()
    except (ValueError, RuntimeError) as error:
        raise _foreign(path, source) from error
    about, names = _about(schema, path), _names(schema, path)
    tracks: dict[str, Track] = {}
    batches = _batches(stream, source)
    for batch in batches:
        _take(arrow, batch, names, about, tracks)
        if sum(len(track.marks) for track in tracks.values()) > MAX_WINDOWS:
            raise UsageError(f"{path} has more than {MAX_WINDOWS} windows", hint="cut it up")
    if not any(track.marks for track in tracks.values()):
        raise UsageError(f"{path} holds no window", hint="record for longer")
    return Recording(about=about, tracks=tuple(tracks.values()), is_cut=source.is_cut)


def _batches(stream: Any, source: _Unpacked) -> Iterator[Any]:
    batches = iter(stream)
    while True:
        try:
            yield next(batches)
        except StopIteration:
            return
        except (ValueError, RuntimeError):
            source.is_cut = True
            return


def _foreign(path: Path, source: _Unpacked) -> UsageError:
    if source.is_empty:
        return UsageError(f"{path} is empty", hint="quota-advisor record writes such files")
    return UsageError(f"{path} is not a recording", hint="quota-advisor record writes such files")


def _about(schema: Any, path: Path) -> About:
    metadata = dict(schema.metadata or {})
    if METADATA_KEY not in metadata:
        hint = "quota-advisor record writes such files"
        raise UsageError(f"{path} was not written by quota-advisor record", hint=hint)
    text = metadata[METADATA_KEY]
    try:
        return About.model_validate_json(text)
    except pydantic.ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
        if "version" in wrong:
            raise UsageError(
                f"{path} has another version than {VERSION}, the one that is read here",
                hint="use the quota-advisor that wrote it, or a later one",
            ) from error
        raise UsageError(f"{path}: what it says about itself is malformed") from error


def _names(schema: Any, path: Path) -> list[str]:
    names = [schema.child(index).name for index in range(schema.n_children)]
    expected = [column.name for column in COLUMNS]
    if names not in (expected, expected[1:]):
        raise UsageError(f"{path} has other columns than a recording of version {VERSION}")
    return names


class _Columns:
    """The columns of one block, or of those of its rows that are about one cgroup."""

    def __init__(self, batch: Any, names: list[str], rows: list[int] | None = None) -> None:
        self._children = {name: batch.child(i).view() for i, name in enumerate(names)}
        self._rows = rows
        self.length: int = batch.length if rows is None else len(rows)

    def __getitem__(self, name: str) -> memoryview | array[int]:
        """Return the numbers of a column, 0 for null."""
        values = memoryview(self._children[name].buffer(1))
        if self._rows is None:
            return values
        return array(values.format, [values[row] for row in self._rows])

    def known(self, name: str) -> list[bool] | None:
        """Return of each value whether it is not null; None where none is null."""
        child = self._children[name]
        if not child.null_count:
            return None
        if child.null_count == child.length:
            return [False] * self.length
        bits = memoryview(child.buffer(0))
        rows = range(self.length) if self._rows is None else self._rows
        return [bool(bits[row >> 3] >> (row & 7) & 1) for row in rows]

    def has(self, name: str) -> bool:
        """Whether a value of the column is not null."""
        known = self.known(name)
        return known is None or any(known)


def _take(arrow: Any, batch: Any, names: list[str], about: About, tracks: dict[str, Track]) -> None:
    if about.cgroup:
        track = tracks.setdefault(about.cgroup, Track(cgroup=about.cgroup))
        _append(track, _Columns(batch, names))
        return
    rows: dict[str, list[int]] = {}
    for index, cgroup in enumerate(arrow.Array(batch.child(0)).to_pylist()):
        rows.setdefault(cgroup, []).append(index)
    for cgroup, chosen in rows.items():
        track = tracks.setdefault(cgroup, Track(cgroup=cgroup))
        _append(track, _Columns(batch, names, chosen))


def _append(track: Track, columns: _Columns) -> None:
    begin = len(track.marks)
    track.elapsed_usec.frombytes(columns["elapsed_usec"].tobytes())
    track.used_usec.frombytes(columns["used_usec"].tobytes())
    track.marks += _marks(columns)
    _note_limits(track, columns, begin)
    for name in ("periods", "throttled_periods", "throttled_usec"):
        if columns.has(name):
            setattr(track, name, (getattr(track, name) or 0) + sum(columns[name]))
    if columns.has("threads"):
        track.threads = max(track.threads or 0, max(columns["threads"], default=0))


def _marks(columns: _Columns) -> bytes:
    marks = bytes(columns.length)
    for name in ("throttled_usec", "stalled_usec"):
        values = columns[name]
        if any(values):
            marks = bytes(map(or_, marks, map(bool, values)))
    known = columns.known("used_usec")
    if known is not None:
        gaps = bytes(0 if is_known else GAP for is_known in known)
        marks = bytes(map(or_, marks, gaps))
    return marks


_LIMIT_NAMES = ("quota_usec", "period_usec", "burst_usec")


def _note_limits(track: Track, columns: _Columns, begin: int) -> None:
    rows = list(zip(*(_limit_values(columns, name) for name in _LIMIT_NAMES), strict=True))
    # A limit hardly ever changes: one look at a block is mostly enough.
    places = range(columns.length) if len(set(rows)) > 1 else range(min(columns.length, 1))
    for place in places:
        if not track.limits or _values(track.limits[-1]) != rows[place]:
            quota, period, burst = rows[place]
            track.limits.append(
                LimitChange(
                    window=begin + place, quota_usec=quota, period_usec=period, burst_usec=burst
                )
            )


def _limit_values(columns: _Columns, name: str) -> Sequence[int | None]:
    values, known = columns[name], columns.known(name)
    if known is None:
        return values
    if not any(known):
        return [None] * len(known)
    return [value if is_known else None for value, is_known in zip(values, known, strict=True)]


def _values(change: LimitChange) -> tuple[int | None, ...]:
    return (change.quota_usec, change.period_usec, change.burst_usec)


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a gzip file, up to where it was cut.

    ``gzip.GzipFile`` raises at a cut before it gave out what it had.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._unpacker = zlib.decompressobj(GZIP)
        self._ready = b""
        self.is_cut = False
        self.is_empty = os.fstat(file.fileno()).st_size == 0

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, target: Any) -> int:
        """Fill a buffer as far as bytes are at hand; 0 is the end."""
        room = memoryview(target).cast("B")
        while not self._ready and not self._unpacker.eof:
            packed = self._unpacker.unconsumed_tail or self._file.read(_PACKED_BYTES)
            if not packed:
                self.is_cut = True
                break
            try:
                self._ready = self._unpacker.decompress(packed, _CHUNK_BYTES)
            except zlib.error:
                self.is_cut = True
                break
        size = min(len(self._ready), len(room))
        room[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
