"""Text that somebody else chose, made safe for a terminal and for a line of its own.

Names of cgroups, content of files and values in manifests may hold bytes that are no UTF-8, and
control characters that would steer a terminal or end a line.
"""

from __future__ import annotations


def printable(text: str, *, keep: str = "") -> str:
    """Return a text with control characters and stray bytes as escapes.

    Args:
        text: The text; bytes that were no UTF-8 as surrogates.
        keep: Control characters that stay, such as the line ends of a file's text.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _escape(c) for c in text)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - a byte that surrogateescape kept
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004


def shell_word(text: str) -> str:
    """Return a text as one word of a shell command that is printable and can be pasted.

    What cannot be printed is written in the form ``$'…'`` of bash and of POSIX since 2024.
    """
    if text.isprintable():
        # Only reports about hosts quote anything: others need not wait for its import.
        import shlex  # noqa: PLC0415

        return shlex.quote(text)
    escaped = "".join(c if _is_plain(c) else _octets(c) for c in text)
    return f"$'{escaped}'"


def _is_plain(character: str) -> bool:
    return character.isprintable() and character not in "'\\"


def _octets(character: str) -> str:
    octets = character.encode("utf-8", "surrogateescape")
    return "".join(f"\\{octet:03o}" for octet in octets)
