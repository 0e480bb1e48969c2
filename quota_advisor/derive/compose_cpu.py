"""What a compose service says of CPU, as numbers."""

from __future__ import annotations

from decimal import Decimal

from quota_advisor.derive.lazy import derived
from quota_advisor.derive.thread_counts import ThreadCount, thread_counts
from quota_advisor.documents.compose.keys import LIMIT
from quota_advisor.documents.compose.values import CPU_KEYS, USEC_KEYS, Value, read_setting
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC
from quota_advisor.model.manifest import ComposeService
from quota_advisor.records import dataclass
from quota_advisor.units import parse_cpu_list


@dataclass(eq=False)
class ComposeCpu:
    """The CPU settings of a service.

    Attributes:
        values: Those that are written down, by key.
    """

    service: ComposeService
    values: dict[str, Value]

    def number(self, key: str) -> Decimal | None:
        """Return a setting that is a number above zero."""
        value = self.values.get(key)
        return value if isinstance(value, Decimal) and value > 0 else None

    @derived
    def quota_cpus(self) -> Decimal | None:
        """What ``cpu_quota`` and ``cpu_period`` make together, in CPUs."""
        quota = self.number("cpu_quota")
        return quota and quota / (self.number("cpu_period") or DEFAULT_PERIOD_USEC)

    @derived
    def limits(self) -> tuple[Decimal, ...]:
        """Each limit that is written down, in CPUs."""
        written = (self.number("cpus"), self.number(LIMIT), self.quota_cpus)
        return tuple(cpus for cpus in written if cpus)

    @derived
    def cpuset(self) -> tuple[int, ...]:
        """The CPUs of the service's set; none where they are not known."""
        written = self.service.settings.get("cpuset")
        try:
            return parse_cpu_list(written.text) if written is not None else ()
        except ValueError:
            return ()

    @derived
    def thread_counts(self) -> tuple[ThreadCount, ...]:
        """Numbers of threads in environment and command."""
        return thread_counts(self.service.environment, self.service.command)


def derive_compose_cpu(service: ComposeService) -> ComposeCpu:
    """Return what a compose service says of CPU."""
    values = {
        key: read_setting(key, service.settings[key])
        for key in (*CPU_KEYS, *USEC_KEYS)
        if key in service.settings
    }
    return ComposeCpu(service, values)
