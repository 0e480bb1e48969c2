"""What workers send arrives as it was."""

from __future__ import annotations

from quota_advisor.lint.outcome import Digest, Outcome
from quota_advisor.lint.wire import pack, unpack
from tests.render.test_formats import report


def test_findings_arrive_as_they_were() -> None:
    sent, expected = report().results, report().results
    arrived = unpack(pack(Outcome(results=sent, fixed={"a": [Digest.of(b"x")]})))
    assert any(f.fix and f.related and f.location for f in expected.findings)
    assert arrived.results == expected
    assert arrived.fixed == {"a": [Digest.of(b"x")]}
