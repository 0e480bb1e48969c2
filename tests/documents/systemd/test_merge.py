from __future__ import annotations

import pytest

from quota_advisor.documents.systemd.merge import is_cpu_key, judge, merge_unit, suggested_key
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited, Unset
from quota_advisor.model.unit import JudgedAssignment, Outcome, UnitConfig, UnitFile


def file(text: str, path: str = "/etc/systemd/system/api.service") -> UnitFile:
    return parse_unit_file(path, text.encode())


def config(*texts: str, name: str = "api.service") -> UnitConfig:
    fragment, *drop_ins = (file(text, f"/{number}") for number, text in enumerate(texts))
    return merge_unit(name, fragment, drop_ins)


def verdicts(name: str, text: str) -> list[JudgedAssignment]:
    return list(judge(name, file(text).assignments))


def outcomes(name: str, text: str) -> list[str]:
    return [verdict.outcome for verdict in verdicts(name, text)]


def test_nothing_set() -> None:
    merged = config("[Service]\nExecStart=/bin/true\n")
    assert (merged.quota_per_sec_usec, merged.period_usec) == (Unlimited(), Unset())
    assert (merged.quota_from, merged.period_from, merged.judged) == (None, None, ())


def test_last_valid_assignment_of_all_files_wins() -> None:
    merged = config(
        "[Service]\nCPUQuota=20%\nCPUQuotaPeriodSec=10ms\n",
        "[Service]\nCPUQuota=40%\nCPUQuota=oops\n",
    )
    assert merged.quota_per_sec_usec == 400_000
    assert merged.quota_from is not None
    assert (merged.quota_from.location.file, merged.quota_from.location.line) == ("/1", 2)
    assert merged.limit == Bandwidth(quota_usec=4_000, period_usec=10_000)


def test_empty_value_resets_and_is_what_decided() -> None:
    merged = config("[Service]\nCPUQuota=20%\nCPUQuotaPeriodSec=10ms\n", "[Service]\nCPUQuota=\n")
    assert merged.quota_per_sec_usec == Unlimited()
    assert merged.quota_from is not None
    assert merged.quota_from.location.file == "/1"
    assert merged.period_usec == 10_000


@pytest.mark.parametrize("text", ["CPUQuotaPeriodSec=infinity", "CPUQuotaPeriodSec="])
def test_period_without_end_is_no_period(text: str) -> None:
    merged = config(f"[Service]\nCPUQuotaPeriodSec=10ms\n{text}\n")
    assert merged.period_usec == Unset()


def test_zero_period_is_kept_as_configured() -> None:
    assert config("[Service]\nCPUQuotaPeriodSec=0\n").period_usec == 0


def test_allowed_cpus_add_up_until_they_are_reset() -> None:
    text = "[Service]\nAllowedCPUs=0\nAllowedCPUs=\nAllowedCPUs=1-2\nAllowedCPUs=x\nAllowedCPUs=4\n"
    merged = config(text)
    assert merged.allowed_cpus == (1, 2, 4)
    assert [v.outcome for v in merged.judged] == [
        Outcome.OVERRIDDEN,
        Outcome.APPLIED,
        Outcome.APPLIED,
        Outcome.INVALID,
        Outcome.APPLIED,
    ]


def test_drop_ins_without_a_unit_file_count() -> None:
    gone = Missing(reason="gone")
    merged = merge_unit("a.slice", gone, [file("[Slice]\nCPUQuota=5%\n")])
    assert merged.quota_per_sec_usec == 50_000
    assert merged.files == merged.drop_ins


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("a.service", "Service"),
        ("a@b.service", "Service"),
        ("a.slice", "Slice"),
        ("a.scope", "Scope"),
        ("a.socket", "Socket"),
        ("a.mount", "Mount"),
        ("a.swap", "Swap"),
    ],
)
def test_section_follows_the_type(name: str, section: str) -> None:
    assert outcomes(name, f"[{section}]\nCPUQuota=5%\n") == [Outcome.APPLIED]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.service", "[Unit]\nCPUQuota=5%\n", "it stands in [Unit], not in [Service]"),
        ("a.service", "CPUQuota=5%\n", "it stands before the first section, not in [Service]"),
        ("a.service", "[service]\nCPUQuota=5%\n", "it stands in [service], not in [Service]"),
        ("a.slice", "[Service]\nCPUQuota=5%\n", "it stands in [Service], not in [Slice]"),
        ("a.slice", "[Slice]\nCPUAffinity=0\n", "[Slice] does not take this key"),
        ("a.timer", "[Timer]\nCPUQuota=5%\n", "units of this type have no CPU settings"),
    ],
)
def test_wrong_section(name: str, text: str, reason: str) -> None:
    (verdict,) = verdicts(name, text)
    assert (verdict.outcome, verdict.reason) == (Outcome.WRONG_SECTION, reason)


def test_overridden_tells_by_what() -> None:
    first, second = verdicts("a.service", "[Service]\nCPUWeight=5\nCPUWeight=6\n")
    assert first.outcome is Outcome.OVERRIDDEN
    assert first.overridden_by == second.assignment
    assert first.reason == "line 3 of /etc/systemd/system/api.service sets it again"
    assert second.outcome is Outcome.APPLIED


def test_invalid_does_not_override() -> None:
    assert outcomes("a.service", "[Service]\nCPUQuota=5%\nCPUQuota=5\n") == [
        Outcome.APPLIED,
        Outcome.INVALID,
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("CPUQuotaPeriodUSec", "CPUQuotaPeriodSec"),
        ("CPUQuotaPerSecUSec", "CPUQuota"),
        ("CPUQuotaBurst", ""),
        ("cpuquota", "CPUQuota"),
        ("CPUQouta", "CPUQuota"),
        ("CPU Quota", "CPUQuota"),
        ("AllowedCPU", "AllowedCPUs"),
        ("CPUZebra", ""),
    ],
)
def test_unknown_key_and_what_was_meant(key: str, meant: str) -> None:
    (verdict,) = verdicts("a.service", f"[Service]\n{key}=1\n")
    assert verdict.outcome is Outcome.UNKNOWN_KEY
    assert verdict.suggestion == suggested_key(key) == meant


@pytest.mark.parametrize(
    "key", ["Environment", "LimitCPU", "MemoryMax", "X-CPUQuota", "ConditionCPUs"]
)
def test_other_keys_are_not_judged(key: str) -> None:
    assert not is_cpu_key(key)


def test_extension_sections_are_not_judged() -> None:
    assert outcomes("a.service", "[X-Mine]\nCPUQuota=5%\nCPUFoo=1\n") == []


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("CPUWeight=idle", True),
        ("CPUWeight=10000", True),
        ("CPUWeight=0", False),
        ("CPUWeight=10001", False),
        ("CPUShares=2", True),
        ("CPUShares=1", False),
        ("CPUAccounting=YES", True),
        ("CPUAccounting=", False),
        ("CPUAccounting=maybe", False),
        ("CPUAffinity=numa", True),
        ("CPUAffinity=0-3 8", True),
        ("CPUAffinity=all", False),
        ("CPUSchedulingPolicy=fifo", True),
        ("CPUSchedulingPolicy=fast", False),
        ("CPUSchedulingPriority=99", True),
        ("CPUSchedulingPriority=100", False),
        ("CPUSetPartition=isolated", True),
    ],
)
def test_values_of_the_other_keys(text: str, valid: bool) -> None:  # noqa: FBT001
    expected = Outcome.APPLIED if valid else Outcome.INVALID
    assert outcomes("a.service", f"[Service]\n{text}\n") == [expected]
