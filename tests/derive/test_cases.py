"""What rules look at is worked out once for each case, and only when a rule asks."""

from __future__ import annotations

from dataclasses import dataclass, field

from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.lazy import derived
from quota_advisor.documents.reader import read_manifest
from quota_advisor.model.lint import LintContext
from quota_advisor.model.manifest import Pod

POD = b"""\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - {name: app, resources: {limits: {cpu: 500m}}}
"""


@dataclass(eq=False)
class Counted:
    asked: list[str] = field(default_factory=list)

    @derived
    def answer(self) -> int:
        """An answer."""
        self.asked.append("answer")
        return 42


def test_nothing_is_worked_out_before_it_is_asked_for() -> None:
    assert Counted().asked == []


def test_it_is_worked_out_once_for_each_object() -> None:
    one, other = Counted(), Counted()
    assert (one.answer, other.answer, one.answer, other.answer) == (42, 42, 42, 42)
    assert (one.asked, other.asked) == (["answer"], ["answer"])


def test_a_case_keeps_what_was_derived_of_it_while_another_is_judged() -> None:
    pod = next(d for d in read_manifest("pod.yaml", POD) if isinstance(d, Pod))
    one, other = PodCase(pod, LintContext()), PodCase(pod, LintContext())
    first = one.cpu
    assert other.cpu is not first
    assert one.cpu is first
    assert [cpu.limit for cpu in first.containers] == [500]
