"""Options that several commands share."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from quota_advisor.records import dataclass
from quota_advisor.render import FORMATS
from quota_advisor.units import parse_time_span

F = TypeVar("F", bound=Callable[..., Any])

FAIL_ON = ("info", "warning", "error", "never")


class Number(click.FloatRange):
    """A number in a range. ``nan`` is none, though Python finds it in every range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or end with wrong usage."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class Span(click.ParamType[int]):
    """A time as systemd writes it (``10m``, ``5ms``, ``1h 30min``), in microseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return microseconds, or end with wrong usage."""
        if isinstance(value, int):
            return value
        try:
            span = parse_time_span(value)
        except ValueError as error:
            self.fail(f"{value!r}: {error}.", param, ctx)
        if not isinstance(span, int) or span <= 0:
            self.fail(f"{value!r}: give a time above zero, as 10m or 5ms.", param, ctx)
        return span


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where and how to show a report, and which rules to run."""

    formats: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: str | None
    config: Path | None
    no_config: bool
    ignore_suppressions: bool
    wide: bool
    everything: bool
    verbose: bool


def format_option(formats: Sequence[str]) -> Callable[[F], F]:
    """Return the option that says in which formats to show a result, and where."""
    return click.option(
        "--format",
        "formats",
        multiple=True,
        metavar="FORMAT[=FILE]",
        help=f"Output format: {', '.join(formats)}. With =FILE it is written there. Repeatable.",
    )


def output_options(command: F) -> F:
    """Add the options of :class:`Output` to a command, which receives them as ``output``."""

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> Any:
        output = Output(**{name: arguments.pop(name) for name in _OUTPUT_FIELDS})
        return command(output=output, **arguments)

    decorated: Any = wrapped
    for option in reversed(_OUTPUT_OPTIONS):
        decorated = option(decorated)
    result: F = decorated
    return result


_OUTPUT_OPTIONS = (
    click.option(
        "--format",
        "formats",
        multiple=True,
        metavar="FORMAT[=FILE]",
        help=f"Output format: {', '.join(FORMATS)}. With =FILE it is written there. Repeatable.",
    ),
    click.option("--select", multiple=True, metavar="RULE", help="Run only this rule. Repeatable."),
    click.option(
        "--ignore", multiple=True, metavar="RULE", help="Leave this rule out. Repeatable."
    ),
    click.option(
        "--fail-on",
        type=click.Choice(FAIL_ON),
        help="Lowest severity that makes the exit code 1.  [default: warning]",
    ),
    click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Configuration file.  [default: .quota-advisor.yaml here or above]",
    ),
    click.option("--no-config", is_flag=True, help="Read no configuration file."),
    click.option(
        "--ignore-suppressions",
        is_flag=True,
        help="Show what comments, annotations and the configuration leave out.",
    ),
    click.option("--wide", is_flag=True, help="Show every column."),
    click.option(
        "--all",
        "everything",
        is_flag=True,
        help="List everything: workloads without a limit too, and more than the worst 20.",
    ),
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        help="Show what each rule says, and list what was suppressed or could not be judged.",
    ),
)

_OUTPUT_FIELDS = tuple(field.name for field in dataclasses.fields(Output))
