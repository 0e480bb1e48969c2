"""What a recording holds: an Arrow IPC stream, compressed as a whole by gzip.

``docs/recordings.md`` is the public description; a test holds the two together.
"""

from __future__ import annotations

from typing import Literal

import pydantic

from quota_advisor.records import NamedTuple

SUFFIX = ".arrows.gz"

METADATA_KEY = b"quota_advisor"
"""Key of the stream's metadata whose value is an :class:`About` in JSON."""

VERSION: Literal[1] = 1


class Column(NamedTuple):
    """One column.

    Attributes:
        name: Its name; the unit ends it.
        bits: Width of its unsigned numbers; 0 for text.
        nullable: Whether a value may be unknown.
        meaning: For people.
    """

    name: str
    bits: Literal[0, 32, 64]
    nullable: bool
    meaning: str


COLUMNS = (
    Column("cgroup", 0, False, "path of the cgroup"),
    Column("elapsed_usec", 32, False, "length of the window that this row ends"),
    Column("used_usec", 32, True, "CPU time used in it, over all CPUs; null where nobody looked"),
    Column("periods", 32, True, "active periods of its own quota that ended in it"),
    Column("throttled_periods", 32, True, "those of them that ended throttled"),
    Column("throttled_usec", 32, True, "time throttled by its own quota, summed over CPUs"),
    Column("stalled_usec", 32, True, "the same by its own or any quota above (cpu.stat.local)"),
    Column("threads", 32, True, "threads, looked up once a second"),
    Column("quota_usec", 64, True, "quota in force; null for none"),
    Column("period_usec", 32, True, "its period"),
    Column("burst_usec", 32, True, "burst allowance; null where the kernel has none"),
)
"""All columns, in order. A recording of one cgroup has no column ``cgroup``: it stands in About."""


class About(pydantic.BaseModel):
    """What was recorded, where and how.

    Attributes:
        version: Of this layout.
        program: Name and version of what wrote it.
        started_at: Date and time of the first reading (ISO 8601, UTC).
        subject: What was asked for, as people call it; empty where everything limited was.
        cgroup: Its cgroup; empty likewise.
        host: Name of the machine.
        kernel: ``uname -r``.
        cgroup_version: Of the hierarchy with the CPU controller.
        cpus: CPUs online.
        tick_usec: The scheduler's tick; None where it is not known.
        interval_usec: Intended length of a window.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = VERSION
    program: str
    started_at: str
    subject: str
    cgroup: str
    host: str
    kernel: str
    cgroup_version: Literal[1, 2]
    cpus: int = pydantic.Field(ge=1)
    tick_usec: int | None = pydantic.Field(default=None, gt=0)
    interval_usec: int = pydantic.Field(gt=0)
