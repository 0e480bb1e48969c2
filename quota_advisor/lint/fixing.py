"""What the fixes that findings carry make of the files."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from quota_advisor.checkout.inputs import InputFile, Inputs, read_input
from quota_advisor.fix.diff import unified_diff
from quota_advisor.fix.edits import apply
from quota_advisor.fix.rewrite import rewrite
from quota_advisor.lint.run import Linted
from quota_advisor.model.finding import Finding
from quota_advisor.records import NamedTuple, dataclass

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

    def diff(self) -> bytes:
        """Return the change as a unified diff."""
        path = self.file.path
        lines = unified_diff(_lines(self.old), _lines(self.new), f"a/{path}", f"b/{path}")
        whole = (x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines)
        return "".join(whole).encode("utf-8", "surrogateescape")

    def write(self) -> None:
        """Replace the file.

        Raises:
            CollectError: It changed meanwhile, or cannot be written; it is untouched then.
        """
        rewrite(Path(self.file.real), self.old, self.new)


class Fixed(NamedTuple):
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


def _lines(data: bytes) -> list[str]:
    # Only line feeds end lines here: a carriage return is part of what must not change.
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
