"""What is advised about a workload's quota: decided once, then only printed or applied."""

from __future__ import annotations

from enum import StrEnum

from quota_advisor.model.limit import Missing
from quota_advisor.records import dataclass


class Decision(StrEnum):
    """What to do about a quota."""

    SET = "set"
    RAISE = "raise"
    KEEP = "keep"
    LOWER = "lower"
    REMOVE = "remove"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The quota that a measured demand needs, and how it was computed.

    Attributes:
        cores: The need as a number of CPUs, with headroom.
        percent: The same as systemd writes it: 100 is one CPU.
        share_of_node_ratio: The same as a share of all CPUs of the node; for people, never written.
        lower_bound: The demand was held back while it was measured: the need may be higher.
        formula: The arithmetic with its numbers.
        windows: Number of sampling windows behind the number.
        interval_usec: Length of one.
    """

    cores: float
    percent: int
    share_of_node_ratio: float
    lower_bound: bool
    formula: str
    windows: int
    interval_usec: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command that does what is advised until it is taken back, quoted for a shell.

    Attributes:
        command: What to run.
        undo: What takes it back.
    """

    command: str
    undo: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The one decision about a quota.

    Attributes:
        decision: What to do.
        need: What the demand needs, or why that is not known.
        summary: What to do in one line, in the words of the workload's own knob.
        reasons: Why, the decisive reason first.
        steps: Commands that try it.
    """

    decision: Decision
    need: Need | Missing
    summary: str
    reasons: tuple[str, ...]
    steps: tuple[Step, ...] = ()

    @property
    def brief(self) -> str:
        """What to do in a few words, for a headline."""
        quota = self.quota
        if quota is not None:
            at_least = "at least " if quota.lower_bound else ""
            return f"{self.decision} to {at_least}{quota.percent} %"
        known = {Decision.KEEP: "keep the quota", Decision.REMOVE: "remove the quota"}
        return known.get(self.decision, "measure first: no number yet")

    @property
    def quota(self) -> Need | None:
        """The quota to set; None where nothing should be set.

        A need is known of quotas to keep too. Setting it there would cut them.
        """
        is_change = self.decision in (Decision.SET, Decision.RAISE, Decision.LOWER)
        return self.need if is_change and isinstance(self.need, Need) else None
