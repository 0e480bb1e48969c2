"""Two busy threads under a 50 % quota, and what quota-advisor says about them.

Needs root and a CPU cgroup hierarchy. The load runs in a cgroup of its own that is removed
afterwards, however this program ends.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from quota_advisor import cli
from quota_advisor.errors import QuotaAdvisorError
from quota_advisor.model.limit import Bandwidth
from quota_advisor.probe.burner import end_child, find_burner, start_burner
from quota_advisor.sandbox import Priority, TemporaryCgroup, open_sandbox, shielded

LIMIT = Bandwidth(quota_usec=50_000, period_usec=100_000)
WINDOW_SEC = 10
LOAD_SEC = 120
SETTLE_SEC = 0.5


def main() -> int:
    """Start the load, audit the machine, end the load."""
    try:
        # Outweighing everybody: the quota, not the crowd, must be what limits.
        with open_sandbox("demo", Priority.HIGH) as sandbox, sandbox.group() as group:
            group.set_limit(LIMIT)
            with load(group):
                return show(group)
    except QuotaAdvisorError as error:
        print(f"demo: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return cli.EXIT_INTERRUPTED


@contextmanager
def load(group: TemporaryCgroup) -> Iterator[None]:
    """Keep two threads busy in the cgroup."""
    arguments = ["saturate", "--threads", "2", "--duration", str(LOAD_SEC)]
    with shielded() as exposed:
        child = start_burner(find_burner(), arguments, join=group.join_files)
        try:
            with exposed():
                wait_for_load(group, child)
                yield
        finally:
            end_child(child)


def wait_for_load(group: TemporaryCgroup, child: subprocess.Popen[str]) -> None:
    """Wait until the load runs in the cgroup."""
    members = group.directories[0] / "cgroup.procs"
    while str(child.pid) not in members.read_text(encoding="ascii").split():
        if child.poll() is not None and child.stderr is not None:
            sys.exit(f"demo: {child.stderr.read().strip()}")
        time.sleep(0.01)
    time.sleep(SETTLE_SEC)


def show(group: TemporaryCgroup) -> int:
    """Audit the machine, as a user would."""
    arguments = ["audit", "host", "--window", str(WINDOW_SEC)]
    print(f"Two busy threads run in {group.path} under {LIMIT.percent:g} % of one CPU.")
    print(f"$ quota-advisor {' '.join(arguments)}\n", flush=True)
    code = cli.run(arguments)
    print(f"\n(exit code {code}: the tool found something to say; the load is gone)")
    return 0 if code in (cli.EXIT_CLEAN, cli.EXIT_FINDINGS) else code


if __name__ == "__main__":
    sys.exit(main())
