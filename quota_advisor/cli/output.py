"""Write a report where it was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from quota_advisor.cli.options import Output
from quota_advisor.cli.streams import is_terminal, say, write_report
from quota_advisor.errors import UsageError
from quota_advisor.files.places import repository
from quota_advisor.model.finding import Severity
from quota_advisor.model.report import Report
from quota_advisor.printable import printable
from quota_advisor.render import FORMATS, pieces, targets
from quota_advisor.render.view import View
from quota_advisor.rulebook.chosen import Rulebook, load_rulebook
from quota_advisor.rulebook.removed import removed_among, removed_text
from quota_advisor.rulebook.settings import Config


def show(report: Report, output: Output, *, stdout: bool = True) -> None:
    """Write the report in every format asked for; what could not be looked at goes to stderr.

    Args:
        report: The report.
        output: Where and how to show it.
        stdout: Whether standard output is for the report; if not, only files are written.

    Raises:
        UsageError: A format does not exist, or two want standard output.
        CollectError: A file, or standard output, cannot be written.
    """
    for name, target in parse_formats(output.formats):
        if target is None and not stdout:
            continue
        to_terminal = target is None and is_terminal(sys.stdout)
        view = replace(
            present_view(),
            width=_columns() if to_terminal else 0,
            color=to_terminal and "NO_COLOR" not in os.environ,
            wide=output.wide,
            all=output.everything,
            verbose=output.verbose,
        )
        text = pieces(name, report, view)
        if target is None:
            write_report(text)
        else:
            _write_file(target, text)
    _say_what_is_missing(report)


# What looks at terminals and writes files takes as long to import as a small file to lint.


def write_each(outputs: targets.Targets, text_of: Callable[[str], str]) -> None:
    """Write a result in each format, files first: the reader of standard output may go away.

    Args:
        outputs: Formats with their files.
        text_of: Makes the text of a format.

    Raises:
        CollectError: A file could not be written.
    """
    for name, target in sorted(outputs, key=lambda output: output[1] is None):
        text = text_of(name)
        if target is None:
            write_report(text)
        else:
            _write_file(target, (text,))


def _columns() -> int:
    import shutil  # noqa: PLC0415

    return shutil.get_terminal_size().columns


def _write_file(target: Path, text: Iterable[str]) -> None:
    from quota_advisor.files.writing import write_file  # noqa: PLC0415

    write_file(target, text)


def check_outputs(output: Output, *files: Path) -> None:
    """See to it that what was asked for can be written, before anybody waits for it.

    Raises:
        UsageError: As :func:`parse_formats` says.
        CollectError: A file cannot be written.
    """
    reports = [target for _, target in parse_formats(output.formats) if target is not None]
    if files or reports:
        from quota_advisor.files.writing import check_file  # noqa: PLC0415

        for path in (*files, *reports):
            check_file(path)


def load_rules(output: Output) -> Rulebook:
    """Return the rules to run, with the settings of the user.

    Raises:
        ConfigError, UsageError: As the configuration or the options say.
    """
    if output.no_config and output.config is not None:
        raise UsageError("--config and --no-config: give one of them")
    rulebook = load_rulebook(
        output.select,
        output.ignore,
        output.config,
        use_config=not output.no_config,
        heed_suppressions=not output.ignore_suppressions,
    )
    gone = (f"--ignore: {removed_text(rule)}" for rule in removed_among(output.ignore))
    for note in (*rulebook.config.notes, *gone):
        say(printable(f"note: {note}"))
    return rulebook


def present_view() -> View:
    """Return a view that knows where paths start and which repository they are in."""
    here = Path.cwd()
    return View(directory=str(here), top=str(repository(here) or here))


def parse_formats(formats: tuple[str, ...]) -> targets.Targets:
    """Split ``FORMAT[=FILE]`` options; the table on standard output where there is none.

    Raises:
        UsageError: A format does not exist, or two want the same place.
    """
    return targets.parse_formats(formats, FORMATS)


def _say_what_is_missing(report: Report) -> None:
    for note in report.notes:
        say(printable(f"note: {note}"))
    for problem in report.problems:
        hint = f"; {problem.hint}" if problem.hint else ""
        say(printable(f"could not read {problem.subject}: {problem.reason}{hint}"))
    for error in report.results.errors:
        failed = f"rule {error.rule} failed on {error.subject.name}"
        say(printable(f"{failed}, please report: {error.error}"))


def exit_code(report: Report, output: Output, config: Config) -> int:
    """Return 3 if anything could not be looked at, 1 if findings count, else 0."""
    if report.problems or report.results.errors:
        return 3
    fail_on = output.fail_on or config.fail_on
    worst = report.results.worst()
    if fail_on == "never" or worst is None:
        return 0
    return int(worst.rank >= Severity(fail_on).rank)
