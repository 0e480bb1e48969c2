"""One row a quota, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io

from quota_advisor.simulate.report.fields import outcome_fields, setting_fields
from quota_advisor.simulate.run import Result


def render(result: Result) -> str:
    """Return the candidates, or with a sweep the frontier, as CSV; unknown values are empty.

    ``demand`` says which estimate a row is for: ``known``, or ``least`` and ``most`` where a quota
    held the group back while it was recorded.
    """
    rows = []
    for candidate in (*result.candidates, *result.frontier):
        first = "known" if candidate.at_most is None else "least"
        rows.append({**setting_fields(candidate.setting), "demand": first})
        rows[-1] |= outcome_fields(candidate.outcome)
        if candidate.at_most is not None:
            rows.append({**setting_fields(candidate.setting), "demand": "most"})
            rows[-1] |= outcome_fields(candidate.at_most)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["quota_percent"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
