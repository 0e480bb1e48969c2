"""``quota-advisor simulate``: what other quotas would have done to what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from quota_advisor.cli.options import Span, format_option
from quota_advisor.cli.output import write_each
from quota_advisor.errors import UsageError
from quota_advisor.files.writing import check_file
from quota_advisor.render.targets import parse_formats

if TYPE_CHECKING:
    from quota_advisor.simulate.order import Order

FORMATS = ("table", "json", "csv", "svg", "html")
KERNELS = ("4.18", "5.4", "6.18")
MAX_CPUS = 4096


@click.command("simulate")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--quota", metavar="QUOTA,…", help="Quotas to try: 150%, 1.5, 1500m or none.")
@click.option(
    "--period", default="100ms", show_default=True, metavar="TIME,…", help="Periods to try."
)
@click.option("--burst", default="0", show_default=True, metavar="TIME,…", help="Bursts to try.")
@click.option("--sweep", is_flag=True, help="Look for the smallest quota that keeps the target.")
@click.option(
    "--target",
    default="throttled=1%,p99=10ms",
    show_default=True,
    metavar="TARGET",
    help="Throttled in fewer periods than this, and 99 % of the work less late than that.",
)
@click.option("--cpus", type=click.IntRange(1, MAX_CPUS), help="CPUs.  [default: the recording's]")
@click.option(
    "--threads",
    type=click.IntRange(1, MAX_CPUS),
    help="Threads that can run at once.  [default: the most that the recording shows]",
)
@click.option(
    "--tick", type=Span(), metavar="TIME", help="The kernel's tick.  [default: the recording's]"
)
@click.option(
    "--kernel",
    type=click.Choice(KERNELS),
    help="First kernel with the rules to use; 4.18 lets unused slices expire."
    "  [default: the recording's, 6.18 if newer]",
)
@click.option("--seed", type=int, default=0, help="Phase of the period's timer.")
@click.option("--cgroup", default="", metavar="PATH", help="Which one of a recording of many.")
@format_option(FORMATS)
def command(*, file: Path, formats: tuple[str, ...], **choices: object) -> int:
    """Say what other quotas would have done to what was recorded in FILE.

    \b
    quota-advisor simulate api.arrows.gz --quota 50%,100%,150%,none
    quota-advisor simulate api.arrows.gz --quota 100% --burst 0,20ms,100ms
    quota-advisor simulate api.arrows.gz --sweep --format table --format svg=api.svg
    """  # noqa: D301 - click's mark for lines to keep
    from quota_advisor.recording.reader import read_recording  # noqa: PLC0415 - --help needs none
    from quota_advisor.simulate.report import render  # noqa: PLC0415 - as above
    from quota_advisor.simulate.run import simulate_recording  # noqa: PLC0415 - as above

    targets = parse_formats(formats, FORMATS)
    for _, target in targets:
        if target is not None:
            check_file(target)
    order = _order(**choices)  # type: ignore[arg-type]
    result = simulate_recording(read_recording(file), order)
    write_each(targets, lambda name: render(name, result))
    return 0


def _order(  # noqa: PLR0913 - each is an option of its own
    *,
    quota: str | None,
    period: str,
    burst: str,
    sweep: bool,
    target: str,
    cpus: int | None,
    threads: int | None,
    tick: int | None,
    kernel: str | None,
    seed: int,
    cgroup: str,
) -> Order:
    from quota_advisor.simulate import order as orders  # noqa: PLC0415 - --help needs nothing of it

    if not quota and not sweep:
        raise UsageError("no quota to try", hint="give --quota 50%,100%,150%, or --sweep")
    return orders.Order(
        cores=tuple(map(orders.parse_cores, quota.split(","))) if quota else (),
        periods_usec=orders.parse_periods(period),
        bursts_usec=orders.parse_times("--burst", burst, least=0, most=orders.MAX_BURST_USEC),
        cpus=cpus,
        threads=threads,
        tick_usec=tick,
        kernel=None if kernel is None else orders.KERNELS[kernel],
        sweep=sweep,
        target=orders.parse_target(target),
        seed=seed,
        cgroup=cgroup,
    )
