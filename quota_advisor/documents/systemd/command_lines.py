"""Command lines of unit files, taken apart as far as the rules need it.

Source: systemd.service(5), "COMMAND LINES".
"""

from __future__ import annotations

import shlex

from quota_advisor.model.unit import UnitConfig

COMMAND_PREFIXES = "@-:+!|"
"""What may stand before the program: whether failure counts, with which rights it runs …"""


LONGEST_QUOTED = 16_384
"""Quotes in longer values are not looked at: shlex takes a time that grows with their square."""


def command_words(value: str) -> list[str]:
    """Return the words of an ``Exec…=`` value without what stands before the program."""
    command = value.lstrip(COMMAND_PREFIXES + " ")
    words = split_words(command)
    # After an @ the second word is what the program is told to be called.
    if "@" in value[: len(value) - len(command)]:
        del words[1:2]
    return words


def commands(unit: UnitConfig, key: str) -> list[str]:
    """Return the values of an ``Exec…=`` key that count; an empty one takes back those before."""
    standing: list[str] = []
    for file in unit.files:
        for written in file.assignments:
            if (written.section, written.key) == ("Service", key):
                standing.append(written.value)
                if not written.value:
                    standing.clear()
    return standing


def split_words(value: str) -> list[str]:
    """Return the words of a value; where quotes are not closed, what spaces set apart."""
    if len(value) > LONGEST_QUOTED:
        return value.split()
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()
