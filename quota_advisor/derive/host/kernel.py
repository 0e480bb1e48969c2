"""What a kernel does with quotas and real-time tasks, as far as its version and files tell."""

from __future__ import annotations

import re

from quota_advisor.model.limit import Missing
from quota_advisor.model.node import NodeFacts

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")

_EXPIRY = (4, 18, 0)
"""Commit 512ac999d275 made slices expire, which they had not done since 3.16."""

_NO_EXPIRY = (5, 3, 9)
"""Commit de53fd7aedb1 of 5.4 took expiry away; stable series got it too."""

_MENDED_SERIES = {(4, 19): 84}
"""Stable series within the range with their first release without expiry."""

_FAIR_SERVER = (6, 12, 0)
"""Commit 5f6bd380c7bd: normal tasks have a server of their own, which -1 does not switch off."""


def kernel_version(release: str) -> tuple[int, int, int] | Missing:
    """Return the numbers in ``uname -r``; a distribution's third one may say nothing."""
    match = _VERSION.match(release)
    if match is None:
        return Missing(reason=f"kernel release {release!r} has no version number")
    return int(match[1]), int(match[2]), int(match[3] or 0)


def slices_expire(release: str) -> bool | Missing:
    """Whether unused slices of quota may expire on a kernel.

    Distributions carry the fix in releases that do not show it: yes means maybe.
    """
    version = kernel_version(release)
    if isinstance(version, Missing):
        return version
    mended_from = _MENDED_SERIES.get(version[:2])
    if mended_from is not None and version[2] >= mended_from:
        return False
    return _EXPIRY <= version < _NO_EXPIRY


def fair_server_guards(node: NodeFacts) -> bool:
    """Whether the kernel keeps time for normal tasks whatever real-time tasks want."""
    if isinstance(node.fair_server, bool):
        return node.fair_server
    version = kernel_version(node.kernel_release)
    return not isinstance(version, Missing) and version >= _FAIR_SERVER
