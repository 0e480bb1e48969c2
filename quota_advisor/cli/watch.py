"""``quota-advisor watch``: what is held back right now."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import NoReturn

import click

from quota_advisor.cli.options import Number
from quota_advisor.cli.streams import is_terminal, write_report
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.errors import UsageError
from quota_advisor.watch.groups import Watcher

EXIT_SIGNAL = 128


@click.command("watch")
@click.argument("units", nargs=-1, metavar="[UNIT]...")
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default="/",
    show_default=True,
    help="Read every host file below this directory: a host mounted into a container.",
)
@click.option(
    "--interval",
    "interval_sec",
    type=Number(0.1, 60),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two looks.",
)
@click.option("--count", type=click.IntRange(1), help="End after so many looks. Lines only.")
@click.option("--plain", is_flag=True, help="Lines even on a terminal.")
def command(
    *, units: tuple[str, ...], root: Path, interval_sec: float, count: int | None, plain: bool
) -> int:
    """Watch what is held back by CPU quotas, worst first, until q is pressed.

    UNIT is the name of a unit, container or cgroup, or a pattern; without any, everything under a
    quota is watched, its own or one above. Without a terminal each of the worst gets a line.

    \b
    quota-advisor watch
    quota-advisor watch api 'worker@*.service'
    quota-advisor watch --plain --count 60 > minute.txt
    """  # noqa: D301 - click's mark for lines to keep
    lines = plain or count is not None or not _is_screen()
    watcher = Watcher(HostRoot(root), units)
    # A command that ends soon does without; this one does not end.
    gc.enable()
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGHUP, _end)
    try:
        if lines:
            _print(watcher, interval_sec, count, named=bool(units))
        else:
            _show(watcher, root, interval_sec)
    except KeyboardInterrupt:
        if lines:
            raise
    finally:
        watcher.close()
    return 0


def _is_screen() -> bool:
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    return is_terminal(sys.stdin) and is_terminal(sys.stdout) and not dumb


def _show(watcher: Watcher, root: Path, interval_sec: float) -> None:
    import locale  # noqa: PLC0415 - of the view alone

    try:
        import curses  # noqa: PLC0415 - some builds of Python lack it

        from quota_advisor.watch.screen import Screen  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        raise UsageError("this Python has no curses", hint="--plain prints lines") from error
    locale.setlocale(locale.LC_ALL, "")
    try:
        Screen(watcher, root, interval_sec, Path.cwd()).run()
    except curses.error as error:
        raise UsageError(f"this terminal cannot show it: {error}", hint="--plain") from error


def _print(watcher: Watcher, interval_sec: float, count: int | None, *, named: bool) -> None:
    """Print lines at each look. The first two make the first difference."""
    from quota_advisor.watch.plain import lines  # noqa: PLC0415 - of this alone

    watcher.tick()
    due, told = time.monotonic(), 0
    while count is None or told < count:
        due = max(due + interval_sec, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
        watcher.tick()
        at = datetime.now().astimezone().strftime("%H:%M:%S")
        groups = list(watcher.groups.values())
        write_report("".join(f"{line}\n" for line in lines(groups, at, named=named)))
        told += 1


def _end(number: int, _frame: object) -> NoReturn:
    raise SystemExit(EXIT_SIGNAL + number)
