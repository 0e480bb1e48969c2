"""The command line: dispatch, and the one place where errors become text and exit codes.

Exit codes: 0 nothing at or above ``--fail-on``; 1 findings; 2 usage or configuration error;
3 something that was asked for could not be looked at.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any, NoReturn

import click

import quota_advisor
from quota_advisor.cli.streams import STREAM_ERRORS, drop_output, leave, note_closed_output, say
from quota_advisor.errors import QuotaAdvisorError

EXIT_CLEAN, EXIT_FINDINGS, EXIT_USAGE, EXIT_BLIND = 0, 1, 2, 3
EXIT_INTERRUPTED = 130

_COMMANDS = {
    "audit": "Find the CPU quotas that hurt on a host.",
    "lint": "Find the CPU quotas that hurt in manifests and unit files.",
    "k8s": "Find the CPU limits and requests that hurt in a live cluster.",
    "explain": "Say why a rule exists and what to do about its findings.",
    "record": "Record what a unit or container uses, at the scale at which the kernel throttles.",
    "simulate": "Say what other quotas would have done to what was recorded.",
    "probe": "Measure on this node what a quota does to latency and throughput.",
    "watch": "Watch what CPU quotas hold back right now, worst first.",
    "export": "Give the counters of this host to Prometheus.",
    "rules": "List the rules.",
}


class LazyGroup(click.Group):
    """Commands by name, each imported when it is used: ``--version`` needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Import a command.

        Raises:
            click.UsageError: There is none of this name.
        """
        if cmd_name not in _COMMANDS:
            from difflib import get_close_matches  # noqa: PLC0415 - needed for a typo only

            close = get_close_matches(cmd_name, _COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"No such command {cmd_name!r}.{hint}", ctx=ctx)
        module = importlib.import_module(f"quota_advisor.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 nothing to report, 1 findings, 2 wrong usage, 3 could not look.",
)
@click.version_option(quota_advisor.__version__, prog_name="quota-advisor")
def cli() -> None:
    """Find CPU quotas that hurt, say what they should be, and prove it."""


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code; every error becomes one line."""
    note_closed_output()
    try:
        result: Any = cli.main(arguments, prog_name="quota-advisor", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        return EXIT_INTERRUPTED
    except QuotaAdvisorError as error:
        _say(str(error))
        return error.exit_code
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a traceback helps nobody who runs this
        return _failed(error)
    return result if isinstance(result, int) else EXIT_CLEAN


def _failed(error: Exception | SystemExit) -> int:
    """Say what nobody else caught, and return the exit code."""
    if isinstance(error.__context__, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > 1:
        # A signal asked for an end: 128 plus its number.
        return error.code
    if isinstance(error, BrokenPipeError | SystemExit):
        # The reader went away; click ends the program with 1 then, which means findings here.
        drop_output()
    elif isinstance(error, OSError) and error.filename is None and error.errno in STREAM_ERRORS:
        # click prints help by itself; what fails for a file says its name.
        drop_output()
        _say(f"standard output cannot be written: {(error.strerror or '').lower()}")
    else:
        _say(f"defect in quota-advisor, please report: {_origin(error)}")
    return EXIT_BLIND


def _say(text: str) -> None:
    say(f"quota-advisor: {text}")


def _origin(error: BaseException) -> str:
    """Return an unexpected error with the innermost place it comes from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" ({trace.tb_frame.f_code.co_name}, line {trace.tb_lineno})"
    return f"{type(error).__name__}: {error}{place}"
