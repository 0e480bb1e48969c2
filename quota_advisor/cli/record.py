"""``quota-advisor record``: what a unit, container, process or cgroup uses, in fine windows."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from quota_advisor.cli.options import Span, format_option
from quota_advisor.cli.output import write_each
from quota_advisor.cli.streams import is_terminal, say
from quota_advisor.errors import UsageError
from quota_advisor.render.targets import parse_formats
from quota_advisor.units import format_usec

INFO = "info"
FORMATS = ("table", "json", "svg")


class _WithDefault(click.Group):
    """A group whose first argument may as well be what to record."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments of the subcommand ``info``, or of recording itself."""
        if args[:1] != [INFO] and not {"-h", "--help"} & set(args):
            args = [this.name or "", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names that a user may type."""
        return [INFO]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of recording, which stand behind the name of what to record."""
        options = [param for param in this.params if isinstance(param, click.Option)]
        records = [record for option in options if (record := option.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(records)
        self.format_commands(ctx, formatter)


@click.group(
    "record",
    cls=_WithDefault,
    options_metavar="",
    subcommand_metavar="NAME -o FILE [OPTIONS] | --system -o FILE [OPTIONS] | info FILE",
)
def command() -> None:
    """Record what a unit, container, process or cgroup uses, finely enough for simulate.

    NAME is a unit (api.service), a container's name or id, a process id, or the path of a cgroup.

    \b
    quota-advisor record api.service --for 10m -o api.arrows.gz
    quota-advisor record 4711 --for 1h --every 5ms -o process.arrows.gz
    quota-advisor record --system --for 1h -o host.arrows.gz
    quota-advisor record info api.arrows.gz
    quota-advisor record info api.arrows.gz --format svg=api.svg
    """  # noqa: D301 - click's mark for lines to keep


@command.command("this", hidden=True)
@click.argument("name", required=False, default="")
@click.option(
    "--for",
    "span_usec",
    type=Span(),
    default="10m",
    show_default=True,
    metavar="TIME",
    help="For how long.",
)
@click.option(
    "--every",
    "interval_usec",
    type=Span(),
    metavar="TIME",
    help="How often to read.  [default: 10ms; 100ms with --system]",
)
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write; an existing file is never replaced.",
)
@click.option("--system", is_flag=True, help="Record every cgroup that has a quota.")
def this(
    *, name: str, span_usec: int, interval_usec: int | None, path: Path | None, system: bool
) -> int:
    """Record."""
    from quota_advisor.record import session  # noqa: PLC0415 - --help needs nothing of it

    if path is None:
        raise UsageError("-o FILE is missing", hint="for instance -o api.arrows.gz")
    if bool(name) == system:
        raise UsageError("name what to record, or give --system for every cgroup with a quota")
    default = session.SYSTEM_INTERVAL_USEC if system else session.INTERVAL_USEC
    wanted = session.Wanted(
        name=name, span_usec=span_usec, interval_usec=interval_usec or default, path=path
    )
    recorded = session.record(wanted, _progress if is_terminal(sys.stderr) else None)
    say(f"{recorded.text} in {path}")
    return 0


@command.command(INFO)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@format_option(FORMATS)
def info(*, file: Path, formats: tuple[str, ...]) -> int:
    """Say what is in a recording, as text or as a picture."""
    from quota_advisor.record.info import describe  # noqa: PLC0415 - as above
    from quota_advisor.record.report import RENDERERS  # noqa: PLC0415 - as above
    from quota_advisor.recording.reader import read_recording  # noqa: PLC0415 - as above

    targets = parse_formats(formats, FORMATS)
    described = describe(read_recording(file))
    write_each(targets, lambda name: RENDERERS[name](described))
    return 0


def _progress(gone_sec: float, all_sec: float) -> None:
    """Show on the terminal how far it is, on a line that is gone afterwards."""
    left = format_usec(max(all_sec - gone_sec, 0) * 1e6)
    say(f"\r{f'recording: {gone_sec:.0f} of {all_sec:.0f} s, {left} left':<60}\r", nl=False)
