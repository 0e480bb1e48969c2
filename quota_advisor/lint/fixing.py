"""Make or show the fixes that are certain."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from quota_advisor.checkout.inputs import FileKind, InputFile, Inputs, read_input
from quota_advisor.checkout.quadlets import merge_quadlets
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.errors import CollectError
from quota_advisor.fix import unit_fixes as fixes
from quota_advisor.fix import yaml_plan
from quota_advisor.fix.rewrite import rewrite
from quota_advisor.fix.yaml_fixes import MAX_FILE_BYTES, fix_yaml
from quota_advisor.lint.run import Linted
from quota_advisor.model.source import Location
from quota_advisor.model.unit import UnitConfig, UnitFile
from quota_advisor.printable import printable

MAX_PASSES = 5
"""One fix can make the next possible: a key is renamed and then moved."""

Relint = Callable[[Inputs], Linted]


@dataclass(slots=True)
class Change:
    """What becomes of one file.

    Attributes:
        file: The file.
        old: Its content.
        new: Its content with every fix made.
        why: One line a fix.
    """

    file: InputFile
    old: bytes
    new: bytes
    why: list[str] = field(default_factory=list)


def changes(inputs: Inputs, linted: Linted, relint: Relint) -> list[Change]:
    """Return the files that fixes change. Nothing is written.

    Args:
        inputs: What was linted.
        linted: What came of it.
        relint: Lints other inputs in the same way.
    """
    made = _unit_changes(inputs, linted, relint)
    made += _manifest_changes(inputs, linted, relint)
    return sorted(made, key=lambda change: change.file.path)


def _wanted(linted: Linted) -> set[tuple[str, Location]]:
    return {(f.rule, f.location) for f in linted.report.results.findings if f.location}


# ---- unit files and quadlets


def _unit_changes(inputs: Inputs, linted: Linted, relint: Relint) -> list[Change]:
    """Change units, whose files are judged together."""
    found: dict[str, Change] = {}
    files = {file.path: file for file in inputs.files if file.kind is not FileKind.MANIFEST}
    for _ in range(MAX_PASSES):
        wanted = _wanted(linted)
        planned = fixes.plan(linted.units, wanted)
        # What else sets a key of a quadlet is not known here: only what is in force stays so.
        numbers = {(rule, place) for rule, place in wanted if rule == fixes.MISREAD}
        planned += fixes.plan(_quadlets(files, numbers), numbers)
        if not _apply(planned, files, found):
            break
        linted = relint(Inputs(files=list(files.values())))
    return list(found.values())


def _quadlets(files: dict[str, InputFile], wanted: fixes.Wanted) -> Iterator[UnitConfig]:
    found: list[UnitFile] = []
    for path in sorted({place.file for _, place in wanted}):
        if files[path].kind is FileKind.QUADLET:
            with contextlib.suppress(OSError):
                found.append(parse_unit_file(path, read_input(files[path])))
    yield from (quadlet.service for quadlet in merge_quadlets(found))


def _apply(planned: list[fixes.Fix], files: dict[str, InputFile], found: dict[str, Change]) -> bool:
    """Make fixes in memory; return whether any was made."""
    by_file: dict[str, list[fixes.Fix]] = {}
    for fix in planned:
        by_file.setdefault(fix.place.file, []).append(fix)
    changed = False
    for path, own in by_file.items():
        file = files[path]
        if not file.real:
            continue
        before = read_input(file)
        after = fixes.apply(before, own)
        if after is None or after == before:
            continue
        change = found.setdefault(path, Change(file, before, after))
        change.new = after
        change.why += [f"{path}:{fix.place.line}: {fix.why}" for fix in own]
        files[path] = dataclasses.replace(file, data=after, size=len(after))
        changed = True
    return changed


# ---- Kubernetes YAML and JSON


def _manifest_changes(inputs: Inputs, linted: Linted, relint: Relint) -> Iterator[Change]:
    """Yield changed files, each judged by itself."""
    wanted: dict[str, set[tuple[str, Location]]] = {}
    for rule, place in _wanted(linted):
        if rule in yaml_plan.RULES:
            wanted.setdefault(place.file, set()).add((rule, place))
    for file in inputs.files:
        if file.path in wanted and file.real and file.size <= MAX_FILE_BYTES:
            with contextlib.suppress(OSError):
                change = _manifest_change(file, wanted[file.path], relint)
                if change is not None:
                    yield change


def _manifest_change(
    file: InputFile, wanted: set[tuple[str, Location]], relint: Relint
) -> Change | None:
    """Return what fixes make of a file, each pass judged before it counts."""
    change = None
    for _ in range(MAX_PASSES):
        before = read_input(file)
        fixed = fix_yaml(file.path, before, wanted)
        if fixed is None:
            break
        after = dataclasses.replace(file, data=fixed.data, size=len(fixed.data))
        found = _wanted(relint(Inputs(files=[after])))
        stay = {(s.rule, s.was) for s in fixed.settled if (s.rule, s.now) in found}
        if stay:
            wanted -= stay
            continue
        change = change or Change(file, before, before)
        change.new = fixed.data
        change.why += [f"{file.path}:{s.was.line}: {s.why}" for s in fixed.settled]
        file, wanted = after, found
    return change


# ---- what becomes of them


def show_diff(made: list[Change]) -> None:
    """Write a unified diff of all changes to standard output, the reasons to standard error."""
    for change in made:
        for line in change.why:
            click.echo(f"would fix {printable(line)}", err=True)
        click.echo("".join(_diff(change)).encode("utf-8", "surrogateescape"), nl=False)


def write(made: list[Change]) -> bool:
    """Change the files, and say on standard error what was changed and what could not be.

    Returns:
        Whether every file was changed.
    """
    complete = True
    for change in made:
        try:
            rewrite(Path(change.file.real), change.old, change.new)
        except CollectError as error:
            complete = False
            click.echo(f"could not change {change.file.path}: {error.what}", err=True)
            continue
        for line in change.why:
            click.echo(f"fixed {printable(line)}", err=True)
    return complete


def _diff(change: Change) -> Iterator[str]:
    old, new = (
        data.decode("utf-8", "surrogateescape").split("\n") for data in (change.old, change.new)
    )
    # Only line feeds end lines here: a carriage return is part of what must not change.
    before = [f"{line}\n" for line in old[:-1]] + [line for line in old[-1:] if line]
    after = [f"{line}\n" for line in new[:-1]] + [line for line in new[-1:] if line]
    path = change.file.path
    for line in difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
