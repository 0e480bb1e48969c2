"""Words of command lines and of environments in unit files, as systemd takes them apart.

Podman took the grammar over for quadlets: it holds for their ``PodmanArgs=`` and ``Exec=`` too.

Source: systemd.service(5), "COMMAND LINES"; systemd 252 ``extract-word.c``
(``extract_first_word``), ``escape.c`` (``cunescape_one``); podman ``pkg/systemd/parser/split.go``.
"""

from __future__ import annotations

import re

from quota_advisor.units import SPACE

COMMAND_PREFIXES = "@-:+!|"
"""What may stand before the program: whether failure counts, with which rights it runs …"""

# What one word is made of, one piece after the other: quoted, or bare up to a space or a quote.
_PIECE = re.compile(
    r'"((?:[^"\\]|\\.)*+)"'
    r"|'((?:[^'\\]|\\.)*+)'"
    rf"""|((?:[^{SPACE}"'\\]|\\(?:.|\Z))++)""",
    re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([abfnrtvs\\\"']))"
)
_CHARACTERS = {**dict(zip("abfnrtvs", "\a\b\f\n\r\t\v ", strict=True)), **{c: c for c in "\\\"'"}}
_LAST_CODE_POINT = 0x10FFFF


def command_words(value: str) -> list[str]:
    """Return the words of an ``Exec…=`` value without what stands before the program."""
    command = value.lstrip(COMMAND_PREFIXES + " ")
    words = split_words(command)
    # After an @ the second word is what the program is told to be called.
    if "@" in value[: len(value) - len(command)]:
        del words[1:2]
    return words


def split_words(value: str) -> list[str]:
    """Return the words of a value.

    systemd refuses a value whose quotes are not closed. What spaces set apart in it is returned
    all the same: it shows what was meant.
    """
    words: list[list[str]] = []
    position, is_inside = 0, False
    while position < len(value):
        if value[position] in SPACE:
            position, is_inside = position + 1, False
            continue
        piece = _PIECE.match(value, position)
        if piece is None:
            return value.split()
        if not is_inside:
            words.append([])
        words[-1].append(_ESCAPE.sub(_unescaped, piece[piece.lastindex or 0]))
        position, is_inside = piece.end(), True
    return ["".join(pieces) for pieces in words]


def _unescaped(escape: re.Match[str]) -> str:
    """Return the character that an escape stands for; systemd leaves those that stand for none."""
    short, number, long, octal, letter = escape.groups()
    if letter:
        return _CHARACTERS[letter]
    code_point = int(octal, 8) if octal else int(short or number or long, 16)
    return chr(code_point) if 0 < code_point <= _LAST_CODE_POINT else escape[0]
