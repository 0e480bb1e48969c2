"""Writing a recording: whole blocks only, so that a run that is cut short loses its last one."""

from __future__ import annotations

import io
import os
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from quota_advisor.errors import CollectError
from quota_advisor.files.writing import reason
from quota_advisor.recording.arrow import nanoarrow
from quota_advisor.recording.schema import COLUMNS, METADATA_KEY, About, Column
from quota_advisor.records import NamedTuple

GZIP = 31
"""What tells zlib to write gzip, with the largest window."""

FASTEST = 1
"""Level of compression: the highest one saves 8 % and takes four times as long."""


class Row(NamedTuple):
    """One window of one cgroup, as :data:`~quota_advisor.recording.schema.COLUMNS` describes it.

    None is null.
    """

    elapsed_usec: int
    used_usec: int | None
    periods: int | None = None
    throttled_periods: int | None = None
    throttled_usec: int | None = None
    stalled_usec: int | None = None
    threads: int | None = None
    quota_usec: int | None = None
    period_usec: int | None = None
    burst_usec: int | None = None


class Writer:
    """A recording that grows. Use it as a context manager; nothing is kept but the open block.

    Args:
        path: A file that does not exist.
        about: What is recorded.

    Raises:
        UsageError: The library for such files is not installed.
        CollectError: The file exists, or cannot be made.
    """

    def __init__(self, path: Path, about: About) -> None:
        self._path = path
        self._arrow = nanoarrow()
        self._columns = COLUMNS if not about.cgroup else COLUMNS[1:]
        self._schema = self._make_schema(about)
        self._file = _create(path)
        self._packer = zlib.compressobj(FASTEST, zlib.DEFLATED, GZIP)
        self._buffer = io.BytesIO()
        self._stream = self._arrow.ipc.StreamWriter.from_writable(self._buffer)
        self._cgroups: list[str] = []
        self._rows: list[Row] = []
        self._started = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: Row, cgroup: str = "") -> None:
        """Take one window into the open block.

        Args:
            row: The window.
            cgroup: Which cgroup's, where the recording is of many.
        """
        self._rows.append(row)
        self._cgroups.append(cgroup)

    def flush(self) -> None:
        """Write the open block; from then on it is safe.

        Raises:
            CollectError: The disk is full, or gone.
        """
        if self._rows:
            self._write_block()
            self._write(zlib.Z_SYNC_FLUSH)

    def finish(self) -> None:
        """Write the rest and the mark of the end.

        Raises:
            CollectError: The disk is full, or gone.
        """
        if self._rows or not self._started:
            self._write_block()
        self._stream.close()
        self._write(zlib.Z_FINISH)

    def _write_block(self) -> None:
        self._stream.write_array(self._batch())
        self._started = True
        self._rows.clear()
        self._cgroups.clear()

    def _write(self, mode: int) -> None:
        data = self._packer.compress(self._buffer.getvalue()) + self._packer.flush(mode)
        self._buffer.seek(0)
        self._buffer.truncate()
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise CollectError(
                f"{self._path}: {reason(error)}",
                hint="what was written before is readable",
            ) from error

    def _make_schema(self, about: About) -> Any:
        arrow = self._arrow
        fields = {column.name: _type(arrow, column) for column in self._columns}
        schema = arrow.c_schema(arrow.struct(fields, nullable=False))
        return schema.modify(metadata={METADATA_KEY: about.model_dump_json().encode()})

    def _batch(self) -> Any:
        children = []
        columns = zip(*self._rows, strict=True) if self._rows else [()] * (len(COLUMNS) - 1)
        if self._columns[0].bits == 0:
            children.append(self._arrow.c_array(self._cgroups, _type(self._arrow, COLUMNS[0])))
        for column, values in zip(COLUMNS[1:], columns, strict=True):
            children.append(self._numbers(column, values))
        return self._arrow.c_array_from_buffers(
            self._schema, len(self._rows), [None], children=children
        )

    def _numbers(self, column: Column, values: Sequence[int | None]) -> Any:
        known = _bitmap(values) if None in values else None
        code = "I" if column.bits == 32 else "Q"  # noqa: PLR2004 - the width
        numbers = array(code, [value or 0 for value in values])
        return self._arrow.c_array_from_buffers(
            _type(self._arrow, column), len(values), [known, numbers]
        )


def _type(arrow: Any, column: Column) -> Any:
    types = {0: arrow.string, 32: arrow.uint32, 64: arrow.uint64}
    return types[column.bits](nullable=column.nullable)


def _bitmap(values: Sequence[int | None]) -> bytes:
    """Return a bit for each value, lowest first: whether it is known."""
    bits = 0
    for index, value in enumerate(values):
        if value is not None:
            bits |= 1 << index
    return bits.to_bytes((len(values) + 7) // 8, "little")


def _create(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise CollectError(
            f"{path} exists", hint="a recording never replaces another file: choose another name"
        ) from None
    except OSError as error:
        raise CollectError(f"{path}: {reason(error)}") from error
