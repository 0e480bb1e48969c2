"""Whether this machine can be measured now, and what made a measurement doubtful."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

from quota_advisor.model.limit import Missing
from quota_advisor.probe.errors import BusyError
from quota_advisor.probe.measure import MachineUse, Run, machine_use, read_machine
from quota_advisor.units import format_cores, format_ratio

WATCH_SEC = 1.0
"""How long the machine is watched before anything is started. The load average is minutes old."""

DISTURBED_RATIO = 0.05
"""Share of all CPUs that others may use, or a hypervisor take, before a run is called disturbed."""

SPEED_RATIO = 0.05
"""Change of the machine's speed that is worth a warning."""


def refuse_when_busy(cpus: int, max_load_ratio: float) -> None:
    """Watch the machine for a second, and refuse when it has something else to do.

    Args:
        cpus: CPUs of the machine.
        max_load_ratio: Share of its CPUs that may be busy.

    Raises:
        BusyError: More are busy, or it cannot be told.
    """
    first = read_machine()
    time.sleep(WATCH_SEC)
    use = machine_use(first, read_machine())
    complaint = why_busy(use, cpus, max_load_ratio, os.getloadavg()[0])
    if complaint:
        raise BusyError(complaint, hint="wait for a quiet hour, or use --force")


def why_busy(
    use: MachineUse | Missing, cpus: int, max_load_ratio: float, load_average: float
) -> str:
    """Return why nothing should be measured now; empty when it can be."""
    if isinstance(use, Missing):
        return f"it cannot be told how busy this machine is: {use.reason}"
    taken = use.busy_cores + use.stolen_cores
    if taken <= max_load_ratio * cpus:
        return ""
    return (
        f"this machine is busy: {format_cores(taken)} of {cpus} in use over"
        f" {use.elapsed_sec:.0f} s, more than {format_ratio(max_load_ratio)}"
        f" (load average {load_average:.1f}); the load would harm others and measure them too"
    )


def doubts(runs: Sequence[Run], cpus: int, speeds: Sequence[int]) -> Iterator[str]:
    """Yield what made the figures doubtful, each with what to do about it.

    Args:
        runs: All runs.
        cpus: CPUs of the machine.
        speeds: The machine's speed in steps per millisecond, as often as it was measured.
    """
    others = [run.others_cores for run in runs]
    known = [cores for cores in others if not isinstance(cores, Missing)]
    disturbed = [cores for cores in known if cores > DISTURBED_RATIO * cpus]
    if disturbed:
        yield (
            f"others used up to {format_cores(max(disturbed))} during {len(disturbed)} of"
            f" {len(runs)} runs: their load is in the tails; measure again when it is quiet"
        )
    stolen = [run.machine.stolen_cores for run in runs if not isinstance(run.machine, Missing)]
    lost = [cores for cores in stolen if cores > DISTURBED_RATIO * cpus]
    if lost:
        yield (
            f"the hypervisor took up to {format_cores(max(lost))} during {len(lost)} of"
            f" {len(runs)} runs (steal): that is no throttling, and no quota helps against it"
        )
    if len(known) < len(runs):
        yield "it is not known what else the machine did during the runs"
    if max(speeds) - min(speeds) > SPEED_RATIO * max(speeds):
        yield (
            f"the CPUs changed their speed by {format_ratio(1 - min(speeds) / max(speeds))}"
            " (frequency, heat, or a neighbour on the same core): compare tiers with care"
        )
