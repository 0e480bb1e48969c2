"""The text of a file, whatever its encoding and line ends."""

from __future__ import annotations

import codecs
import re

_LONE_RETURN = re.compile(rb"\r(?!\n)")
_BOM = codecs.BOM_UTF8


def to_utf8(data: bytes) -> bytes:
    """Return a file in UTF-8, without byte order mark and without lone carriage returns.

    Raises:
        UnicodeDecodeError: A byte order mark promises UTF-16, and it is not.
    """
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16").encode("utf-8", "replace")
    return _LONE_RETURN.sub(b"\n", data) if b"\r" in data else data


def without_marks(data: bytes) -> bytes:
    """Return a document without the byte order marks that joining files leaves at line starts."""
    return data.removeprefix(_BOM).replace(b"\n" + _BOM, b"\n") if _BOM in data else data
