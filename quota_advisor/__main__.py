"""Start the command line: the console script, and ``python -m quota_advisor``.

Next to nothing is imported before an interruption is caught.
"""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    # A command lives for seconds and makes next to no cycles; the collector would walk every
    # imported object a dozen times before the first file is read.
    gc.disable()
    try:
        from quota_advisor.cli import main as run  # noqa: PLC0415 - it takes a while

        run()
    except KeyboardInterrupt:
        with suppress(OSError):
            os.write(2, b"quota-advisor: interrupted\n")
        os._exit(INTERRUPTED)


def kubectl_plugin() -> NoReturn:
    """Run as ``kubectl quota-advisor``: the command ``k8s`` under the name of kubectl's plugin."""
    import sys  # noqa: PLC0415 - as above

    sys.argv.insert(1, "k8s")
    main()


if __name__ == "__main__":
    main()
