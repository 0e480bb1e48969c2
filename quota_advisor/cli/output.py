"""Write a report where it was asked for."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import click

from quota_advisor.cli.options import Output
from quota_advisor.config import did_you_mean
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.model.report import Report
from quota_advisor.render import FORMATS, render
from quota_advisor.render.view import View


def show(report: Report, output: Output, *, stdout: bool = True) -> None:
    """Write the report in every format asked for; what could not be looked at goes to stderr.

    Args:
        report: The report.
        output: Where and how to show it.
        stdout: Whether standard output is for the report; if not, only files are written.

    Raises:
        UsageError: A format does not exist, or two want standard output.
        CollectError: A file cannot be written.
    """
    for name, target in parse_formats(output.formats):
        if target is None and not stdout:
            continue
        to_terminal = target is None and sys.stdout.isatty()
        view = replace(
            present_view(),
            width=shutil.get_terminal_size().columns if to_terminal else 0,
            color=to_terminal and "NO_COLOR" not in os.environ,
            wide=output.wide,
            all=output.everything,
            verbose=output.verbose,
        )
        text = render(name, report, view)
        if target is None:
            # Bytes, so that a name that this terminal cannot show never stops the report.
            encoding = sys.stdout.encoding or "utf-8"
            click.echo(text.encode(encoding, "backslashreplace"), nl=False)
        else:
            write_file(target, text)
    _say_what_is_missing(report)


def present_view() -> View:
    """Return a view that knows where paths start and which repository they are in."""
    here = Path.cwd()
    tops = (d for d in (here, *here.parents) if (d / ".git").exists())
    return View(directory=str(here), top=str(next(tops, here)))


def parse_formats(formats: tuple[str, ...]) -> list[tuple[str, Path | None]]:
    """Split ``FORMAT[=FILE]`` options; the table on standard output where there is none.

    Raises:
        UsageError: A format does not exist, a file name is empty, or two formats want
            standard output.
    """
    parsed: list[tuple[str, Path | None]] = []
    for text in formats or ("table",):
        name, equals, target = text.partition("=")
        if name not in FORMATS:
            hint = did_you_mean(name, FORMATS) or f"choose from {', '.join(FORMATS)}"
            raise UsageError(f"no output format {name!r}", hint=hint)
        if equals and not target:
            raise UsageError(f"--format {text}: the file name is missing")
        parsed.append((name, Path(target) if target else None))
    if sum(target is None for _, target in parsed) > 1:
        raise UsageError(
            "two formats want standard output", hint="give one of them a file: --format json=FILE"
        )
    return parsed


def write_file(path: Path, text: str) -> None:
    """Write a file in one step: a reader sees the old one or the new one, never half.

    Raises:
        CollectError: The file cannot be written.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            # A device or a pipe is written to, never replaced by a file.
            target.write_text(text, encoding="utf-8")
            return
        _replace(target, text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CollectError(f"{path}: cannot be written: {reason}") from error


def _replace(target: Path, text: str) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _say_what_is_missing(report: Report) -> None:
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    for problem in report.problems:
        hint = f"; {problem.hint}" if problem.hint else ""
        click.echo(f"could not read {problem.subject}: {problem.reason}{hint}", err=True)
    for error in report.results.errors:
        click.echo(
            f"rule {error.rule} failed on {error.subject.name}, please report: {error.error}",
            err=True,
        )
