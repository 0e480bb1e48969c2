"""Temporary cgroups and scopes: made, named, and removed in every exit path.

::

    with open_sandbox("demo") as sandbox, sandbox.group() as group:
        group.set_limit(Bandwidth(quota_usec=50_000, period_usec=100_000))
        before = group.counters()
        ...  # start something that joins group.join_files

A child that is started in the ``with`` block is started and ended under :func:`shielded`.
"""

from __future__ import annotations

from quota_advisor.sandbox.cgroup import TemporaryCgroup
from quota_advisor.sandbox.errors import SandboxError
from quota_advisor.sandbox.place import Sandbox, open_sandbox
from quota_advisor.sandbox.priority import Priority
from quota_advisor.sandbox.signals import shielded

__all__ = [
    "Priority",
    "Sandbox",
    "SandboxError",
    "TemporaryCgroup",
    "open_sandbox",
    "shielded",
]
