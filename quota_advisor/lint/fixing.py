"""Make or show the fixes that are certain."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from quota_advisor.checkout.inputs import InputFile, Inputs, read_input
from quota_advisor.errors import CollectError
from quota_advisor.fix.edits import apply
from quota_advisor.fix.rewrite import rewrite
from quota_advisor.lint.run import Linted
from quota_advisor.model.finding import Finding
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


@dataclass(frozen=True, slots=True)
class Fixed:
    """What the fixes of all findings make of the files. Nothing is written yet.

    Attributes:
        changes: In the order of the paths.
        linted: What is found once they are written.
    """

    changes: list[Change]
    linted: Linted


def fix(inputs: Inputs, linted: Linted, relint: Relint) -> Fixed:
    """Make the fixes that findings carry, then those of what is found in the changed files.

    Args:
        inputs: What was linted.
        linted: What came of it.
        relint: Lints other inputs in the same way.
    """
    files = {file.path: file for file in inputs.files}
    found: dict[str, Change] = {}
    for _ in range(MAX_PASSES):
        if not _pass(linted, files, found):
            break
        linted = relint(dataclasses.replace(inputs, files=list(files.values())))
    return Fixed(sorted(found.values(), key=lambda change: change.file.path), linted)


def _pass(linted: Linted, files: dict[str, InputFile], found: dict[str, Change]) -> bool:
    """Make fixes in memory; return whether there may be others now."""
    by_file: dict[str, list[Finding]] = {}
    for finding in linted.report.results.findings:
        if finding.fix is not None and finding.location is not None:
            by_file.setdefault(finding.location.file, []).append(finding)
    again = False
    for path, findings in by_file.items():
        file = files[path]
        # A stream has no file to change; one that is gone by now neither.
        if file.real:
            with contextlib.suppress(OSError):
                again |= _change(file, findings, linted, files, found)
    return again


def _change(
    file: InputFile,
    findings: list[Finding],
    linted: Linted,
    files: dict[str, InputFile],
    found: dict[str, Change],
) -> bool:
    """Make the fixes of one file; return whether there may be others now."""
    path, before = file.path, read_input(file)
    if not all(part.is_of(before) for part in linted.fixed[path]):
        # Somebody saved it meanwhile: what is held now is what will be judged, and changed.
        files[path] = dataclasses.replace(file, data=before, size=len(before))
        return True
    after, made = apply(before, [f.fix for f in findings if f.fix is not None])
    if after == before:
        return False
    change = found.setdefault(path, Change(file, before, before))
    change.new = after
    done = set(made)
    for finding in findings:
        if finding.fix in done and finding.location is not None:
            change.why.append(f"{path}:{finding.location.line}: {finding.fix.description}")
    files[path] = dataclasses.replace(file, data=after, size=len(after))
    return True


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
