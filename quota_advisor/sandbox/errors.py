"""Why a probe cannot be run."""

from __future__ import annotations

from quota_advisor.errors import QuotaAdvisorError


class ProbeError(QuotaAdvisorError):
    """The probe cannot run, or a run of it failed."""


class BurnerError(ProbeError):
    """The program that makes the load is missing, or did not do its work."""


class SandboxError(ProbeError):
    """There is no cgroup to measure in, or it does not take the limit."""


class BusyError(ProbeError):
    """The machine has other things to do."""
