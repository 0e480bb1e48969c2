"""Options in ``PodmanArgs=`` of quadlets, each with its place."""

from __future__ import annotations

import re

from quota_advisor.derive.units.container_commands import options
from quota_advisor.documents.systemd.command_lines import split_words
from quota_advisor.model.manifest import Quadlet
from quota_advisor.model.source import Location
from quota_advisor.model.unit import Assignment, standing
from quota_advisor.records import NamedTuple

INSIDE = ("split", "disabled")
"""Modes of ``--cgroups=`` that leave a container in the cgroup of the unit that starts it."""

_LONGEST_SEARCHED = 10_000
"""A value may hold as many options as fit: looking for each in all of it must have an end."""


class PodmanOption(NamedTuple):
    """An option as written.

    Attributes:
        name: With its dashes.
        value: As text.
        written: The assignment that it stands in.
    """

    name: str
    value: str
    written: Assignment

    @property
    def at(self) -> Location:
        """Place of the value."""
        return place(self.written, self.name, self.value)

    @property
    def text(self) -> str:
        """The option as it is spoken of."""
        return f"{self.name}={self.value}"


def podman_options(quadlet: Quadlet, *names: str, section: str = "Container") -> list[PodmanOption]:
    """Return the options of some names in the order in which podman reads them."""
    return [
        PodmanOption(name, value, written)
        for written in standing(quadlet.files, section, "PodmanArgs")
        if "--cpu" in written.value or "--cgroups" in written.value
        for name, value in options(split_words(written.value), *names)
    ]


def place(written: Assignment, name: str, value: str) -> Location:
    """Return where the value of a name stands inside an assignment's value.

    Where escapes or quotes hide it, and in long values, that is where the assignment's begins.
    """
    if len(written.value) > _LONGEST_SEARCHED:
        return written.value_location
    text = re.compile(rf"(?<![\w-]){re.escape(name)}[=\s\"']*{re.escape(value)}(?![^\s\"'])")
    lines = [*((line.text, line.location) for line in written.swallowed)]
    for line, start in (*lines, (written.value, written.value_location)):
        if match := text.search(line):
            offset = match.end() - len(value)
            return Location(file=start.file, line=start.line, column=start.column + offset)
    return written.value_location
