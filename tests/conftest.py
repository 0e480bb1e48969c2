"""Settings of all tests, and the fixtures that those of several rooms share."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

from quota_advisor import checks
from tests.lint.conftest import lint, repository
from tests.probe.conftest import make_result, make_run

__all__ = ["lint", "make_result", "make_run", "repository"]

# A shell that starts the tests in the background makes all their programs ignore interruptions.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests look rules up before anything is judged.
checks.load_all()

# A gate must say the same of the same commit: there the examples are the same each time. A search
# for new ones is anybody's run without CI set. Shared machines are slow at times, so no deadline.
settings.register_profile("gate", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("gate" if os.environ.get("CI") else "search")
