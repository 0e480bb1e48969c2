"""In which cgroup a process is, by its own word.

Source: cgroups(7), ``/proc/PID/cgroup``: one line a hierarchy, ``number:controllers:path``; v2 has
number 0 and names no controllers.
"""

from __future__ import annotations

from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.limit import Missing

_ENDED = " (deleted)"


def group_of_process(root: HostRoot, pid: int | Missing) -> str | Missing:
    """Return the cgroup of a process in the hierarchy of the CPU controller."""
    if isinstance(pid, Missing):
        return pid
    text = root.try_read(f"/proc/{pid}/cgroup")
    return text if isinstance(text, Missing) else parse_process_group(text)


def parse_process_group(text: str) -> str | Missing:
    """Return the path in the hierarchy with the CPU controller, else in that of v2."""
    lines = [line.split(":", 2) for line in text.splitlines() if line.count(":") > 1]
    by_controller = {name: path for _, names, path in lines for name in names.split(",")}
    path = by_controller.get("cpu", by_controller.get("", ""))
    # Above the top of its namespace a path begins with "/..": then it is not one of ours.
    if not path.startswith("/") or path.startswith("/..") or path.endswith(_ENDED):
        return Missing(reason=f"no cgroup that can be named from here: {path!r}")
    return path
