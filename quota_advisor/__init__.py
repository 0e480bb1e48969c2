"""Find CPU quotas that hurt, say what they should be, and prove it.

The verbs that report are functions too, each returning a
:class:`~quota_advisor.model.report.Report`::

    from quota_advisor import audit_host, judge_snapshot, lint_paths

    report = audit_host(window_sec=10)
    for finding in report.results.findings:
        print(finding.severity, finding.subject.name, finding.message)

What goes wrong is a :class:`~quota_advisor.errors.QuotaAdvisorError`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quota_advisor.audit.host import audit_host
    from quota_advisor.audit.snapshot import judge_snapshot
    from quota_advisor.lint import lint as lint_paths

__version__ = "0.1.0"

__all__ = ["audit_host", "judge_snapshot", "lint_paths"]

_HOMES = {
    "audit_host": ("quota_advisor.audit.host", "audit_host"),
    "judge_snapshot": ("quota_advisor.audit.snapshot", "judge_snapshot"),
    "lint_paths": ("quota_advisor.lint", "lint"),
}


def __getattr__(name: str) -> object:
    # The program's own start must not pay for what a caller from Python asks for.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, function = _HOMES[name]
    return getattr(importlib.import_module(module), function)
