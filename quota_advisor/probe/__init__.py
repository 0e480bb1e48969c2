"""Measures quotas on this very node: real load, real bandwidth control, real latencies.

::

    order = make_order(Asked(profile="microburst", slo="p99=20ms"))
    check_machine(order)
    result = probe(order)
    print(render("table", result))
"""

from __future__ import annotations

from quota_advisor.probe.errors import BurnerError, BusyError
from quota_advisor.probe.order import Asked, Order, make_order
from quota_advisor.probe.profile import Profile, find_profile, profile_names
from quota_advisor.probe.report import FORMATS, render
from quota_advisor.probe.result import Result
from quota_advisor.probe.session import check_machine, probe
from quota_advisor.probe.slo import Knob
from quota_advisor.sandbox import Priority, SandboxError

__all__ = [
    "FORMATS",
    "Asked",
    "BurnerError",
    "BusyError",
    "Knob",
    "Order",
    "Priority",
    "Profile",
    "Result",
    "SandboxError",
    "check_machine",
    "find_profile",
    "make_order",
    "probe",
    "profile_names",
    "render",
]
