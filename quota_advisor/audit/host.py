"""Audit a host: watch it, then judge what was seen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quota_advisor.audit.judge import judge
from quota_advisor.collect.host.facts import Request, collect_host
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.errors import UsageError
from quota_advisor.rulebook.chosen import Rulebook, load_rulebook

if TYPE_CHECKING:
    from quota_advisor.collect.host.sampler import Progress
    from quota_advisor.collect.host.systemd.connect import Adapter
    from quota_advisor.model.report import Report

MIN_WINDOW_SEC = 0.1
"""One period of the kernel's default; less shows nothing of throttling."""

MIN_INTERVAL_SEC = 0.005
"""The kernel accounts at ticks: between them a running thread looks like a peak."""


def audit_host(  # noqa: PLR0913 - each is a choice of its own, all by name
    *,
    root: Path | str = "/",
    window_sec: float = 10.0,
    samples: int | None = None,
    user: bool = False,
    units: Collection[str] = (),
    adapter: Adapter = "auto",
    redact: bool = False,
    traces: Sequence[Path] = (),
    rulebook: Rulebook | None = None,
    on_progress: Progress | None = None,
) -> Report:
    """Watch a host and judge it: its units, containers and cgroups, with or without systemd.

    Args:
        root: Read every host file below this directory: a mounted host, an image.
        window_sec: How long to watch; 0 judges the totals since each cgroup was created.
        samples: Number of samples of CPU use in the window; None for one in 100 ms.
        user: Ask the calling user's own systemd too.
        units: Names of units, containers or cgroups to size even if they never had a quota.
        adapter: D-Bus library.
        redact: Put other names in place of those of units, containers, users and of the host.
        traces: Recordings to size from, in place of what is seen in the window.
        rulebook: The rules to run; None for all, with the nearest configuration file.
        on_progress: Called with the seconds gone and the seconds in all.

    Returns:
        Workloads, findings and advice. What could not be read is among its problems; the facts
        behind it, which a snapshot holds, are in ``report.host.facts``.

    Raises:
        ConfigError: The configuration file is malformed.
        UsageError: The window, or a sampling window in it, is too short; names to size, and none
            to be told.
    """
    _check_window(window_sec, samples)
    if redact and units:
        raise UsageError("--redact and --unit: no name is left to find", hint="give one of them")
    if redact and traces:
        raise UsageError("--redact and --trace: recordings name cgroups", hint="give one of them")
    rulebook = rulebook or load_rulebook()
    request = Request(
        window_sec=window_sec,
        samples=samples,
        adapter=adapter,
        user=user,
        on_progress=on_progress,
    )
    facts = collect_host(HostRoot(Path(root)), request)
    if traces:
        # Hardly anybody has one.
        from quota_advisor.audit.recorded import with_recordings  # noqa: PLC0415

        facts = with_recordings(facts, traces)
    if redact:
        # Hardly anybody asks for it.
        from quota_advisor.audit.anonymous import anonymous  # noqa: PLC0415

        facts = anonymous(facts)
    return judge(facts, rulebook, "audit host", units)


def _check_window(window_sec: float, samples: int | None) -> None:
    """Refuse what would only look like a measurement.

    Raises:
        UsageError: The window, or a sampling window in it, is too short.
    """
    if 0 < window_sec < MIN_WINDOW_SEC:
        raise UsageError(
            f"--window {window_sec:g} is too short to see a throttled period",
            hint=f"{MIN_WINDOW_SEC:g} or more, or 0 for the totals",
        )
    most = int(window_sec / MIN_INTERVAL_SEC)
    if samples is not None and window_sec and samples > most:
        raise UsageError(
            f"--samples {samples} in {window_sec:g} s are closer together than the kernel accounts",
            hint=f"{most} at most in this window, one in {MIN_INTERVAL_SEC * 1000:g} ms",
        )
