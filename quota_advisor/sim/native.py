"""The simulator's library: found, loaded, and its structures."""

from __future__ import annotations

import ctypes
import os
from array import array
from functools import cache
from pathlib import Path

from quota_advisor.errors import CollectError
from quota_advisor.shipped import native_files
from quota_advisor.sim.trace import Trace

NAME = "libquota_sim.so"
OVERRIDE = "QUOTA_ADVISOR_SIM"
"""Environment variable with the path of the library, for development."""

NO_MEMORY = -2

_VERSION = 1


class NativeTrace(ctypes.Structure):
    """``struct quota_sim_trace``."""

    _fields_ = (
        ("elapsed_usec", ctypes.c_void_p),
        ("used_usec", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
    )


class NativeSetting(ctypes.Structure):
    """``struct quota_sim_setting``."""

    _fields_ = (
        ("quota_ns", ctypes.c_int64),
        ("period_ns", ctypes.c_int64),
        ("burst_ns", ctypes.c_int64),
        ("phase_ns", ctypes.c_int64),
        ("tick_ns", ctypes.c_int64),
        ("slice_ns", ctypes.c_int64),
        ("cpus", ctypes.c_uint32),
        ("kernel", ctypes.c_uint32),
    )


class NativeResult(ctypes.Structure):
    """``struct quota_sim_result``."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in (
            "nr_periods",
            "nr_throttled",
            "throttled_ns",
            "nr_bursts",
            "burst_ns",
            "elapsed_ns",
            "demand_ns",
            "used_ns",
            "backlog_ns",
            "stalled_ns",
            "delay_p50_ns",
            "delay_p95_ns",
            "delay_p99_ns",
            "delay_p999_ns",
            "delay_max_ns",
        )
    )


def pointers(trace: Trace) -> NativeTrace:
    """Point at the trace's own memory: a day of samples is not copied for each candidate."""
    for values in (trace.elapsed_usec, trace.used_usec):
        if values.itemsize != ctypes.sizeof(ctypes.c_uint32) or len(values) != len(trace):
            raise ValueError("a trace is two arrays of 32 bits, of one length")
    return NativeTrace(_address(trace.elapsed_usec), _address(trace.used_usec), len(trace))


def _address(values: array[int]) -> int:
    return values.buffer_info()[0]


class NativeUse(ctypes.Structure):
    """``struct quota_sim_use``."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in (
            "windows",
            "active_windows",
            "p50_ucpus",
            "p95_ucpus",
            "p99_ucpus",
            "max_ucpus",
            "busiest_p95_ucpus",
        )
    )


@cache
def library() -> ctypes.CDLL:
    """Return the library. Calls release the interpreter's lock: traces run side by side.

    Raises:
        CollectError: It is not installed.
    """
    override = os.environ.get(OVERRIDE)
    for path in (Path(override),) if override else native_files(NAME):
        try:
            found = ctypes.CDLL(str(path))
            version = found.quota_sim_version()
        except (OSError, AttributeError):
            continue
        if version == _VERSION:
            found.quota_sim_parallelism.restype = ctypes.c_uint32
            return found
    raise CollectError(
        "the simulator (libquota_sim.so) is not installed",
        hint="install quota-advisor from a wheel that was built with a C compiler",
    )
