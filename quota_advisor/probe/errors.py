"""Why a probe cannot be run; that there is no cgroup for it is a ``SandboxError``."""

from __future__ import annotations

from quota_advisor.errors import QuotaAdvisorError


class BurnerError(QuotaAdvisorError):
    """The program that makes the load is missing, or did not do its work."""


class BusyError(QuotaAdvisorError):
    """The machine has other things to do."""
