"""A quota to judge, whether a kernel holds it now or files plan it: what both can tell of it."""

from __future__ import annotations

from quota_advisor.derive.thread_counts import Kind
from quota_advisor.model.finding import Subject
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.source import Location, Source
from quota_advisor.records import NamedTuple


class AskedPeriod(NamedTuple):
    """A period that somebody chose.

    Attributes:
        limit: The limit with that period, as the kernel has or gets it.
        asked_usec: The period as asked for, which may be more than the kernel takes.
        at: Where it is written; None where no file says so.
    """

    limit: Bandwidth
    asked_usec: int
    at: Location | None


class AskedQuota(NamedTuple):
    """A quota as somebody configured it.

    Attributes:
        per_sec_usec: CPU time per second of wall time.
        period_usec: The period that goes with it.
        limit: What systemd makes of both.
        at: Where it is written; None where no file says so.
    """

    per_sec_usec: int
    period_usec: int
    limit: Bandwidth
    at: Location | None


class LimitAbove(NamedTuple):
    """A quota of one's own, and the smallest limit that holds for everything around it.

    Attributes:
        own: The quota itself.
        own_at: Where it is written; None where that is not known.
        limit: The one above.
        source: Where a kernel told that one.
        owner: Name or path of what sets it.
        owner_kind: ``slice`` of the same files, or ``ancestor`` of a cgroup.
        set_at: File and line that set it; empty where it was read from a kernel.
        at: Where it is written; None where that is not known.
    """

    own: Bandwidth
    own_at: Location | None
    limit: Bandwidth
    source: Source | None
    owner: str
    owner_kind: str
    set_at: str
    at: Location | None


class Threads(NamedTuple):
    """Threads that a quota has to feed.

    Attributes:
        number: How many.
        setting: What tells a program to start them; empty where they run and were counted.
        kind: What they do with a CPU, where it is known.
        at: Where the setting is written.
    """

    number: int
    setting: str = ""
    kind: Kind | None = None
    at: Location | None = None


class QuotaCase:
    """The subject of rules that judge a quota alike before and while it holds.

    What a kind of case cannot know is None or empty.
    """

    @property
    def subject(self) -> Subject:
        """What a finding about the quota names."""
        raise NotImplementedError

    @property
    def limit(self) -> Bandwidth | None:
        """The quota as the kernel has it, or as systemd would write it."""
        return None

    @property
    def limit_source(self) -> Source | None:
        """Where the kernel told its limit."""
        return None

    @property
    def cpus(self) -> int | None:
        """CPUs that it may be spent on; None where nothing runs yet."""
        return None

    @property
    def period(self) -> AskedPeriod | None:
        """The period, where somebody chose it."""
        return None

    @property
    def asked(self) -> AskedQuota | None:
        """The quota as configured."""
        return None

    @property
    def above(self) -> LimitAbove | None:
        """The quota beside the smallest limit above it, which may be larger."""
        return None

    @property
    def threads(self) -> tuple[Threads, ...]:
        """Threads that it has to feed: those that run, or numbers that are written down."""
        return ()

    def throttled_at_least(self, bar_ratio: float) -> float | Missing | None:
        """Return the lower bound of the throttled share of periods; None where nothing runs yet.

        Args:
            bar_ratio: What it is held against.
        """
        del bar_ratio
        return None
