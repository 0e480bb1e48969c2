"""Why there is no sandbox."""

from __future__ import annotations

from quota_advisor.errors import QuotaAdvisorError


class SandboxError(QuotaAdvisorError):
    """No temporary cgroup can be made, limited or removed."""
