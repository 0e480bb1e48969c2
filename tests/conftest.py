"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

from quota_advisor import checks

# Tests look rules up before anything is judged.
checks.load_all()

# A gate must say the same of the same commit: there the examples are the same each time. A search
# for new ones is anybody's run without CI set. Shared machines are slow at times, so no deadline.
settings.register_profile("gate", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("gate" if os.environ.get("CI") else "search")
