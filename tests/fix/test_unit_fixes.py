from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quota_advisor.documents.systemd.merge import merge_unit
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.errors import CollectError
from quota_advisor.fix import unit_plan as fixes
from quota_advisor.fix.edits import apply
from quota_advisor.fix.rewrite import rewrite
from quota_advisor.fix.unit_fixes import unit_fixes
from quota_advisor.model.unit import Outcome, UnitConfig
from tests.lint.conftest import Lint

# Before, after; None where nothing is certain and everything stays.
CASES = {
    "a quota that is read as another number": (
        "[Service]\nCPUQuota=050%\n",
        "[Service]\nCPUQuota=40%\n",
    ),
    "the name that D-Bus has for a key": (
        "[Service]\nCPUQuotaPeriodUSec=10ms\n",
        "[Service]\nCPUQuotaPeriodSec=10ms\n",
    ),
    "the name that D-Bus has, with a number in its unit": (
        "[Service]\nCPUQuotaPeriodUSec=10000\n",
        None,
    ),
    "the name that D-Bus has, with a number of several units": (
        "[Service]\nCPUQuotaPeriodUSec=10ms 5\n",
        None,
    ),
    "another case": ("[Service]\ncpuquota = 40%\n", "[Service]\nCPUQuota = 40%\n"),
    "one letter too many": ("[Slice]\nCPUQuotas=40%\n", "[Slice]\nCPUQuota=40%\n"),
    "one letter too few": ("[Service]\nAllowedCPU=0-3\n", "[Service]\nAllowedCPUs=0-3\n"),
    "two letters swapped": ("[Service]\nCPUQutoa=40%\n", "[Service]\nCPUQuota=40%\n"),
    "another word": ("[Service]\nCPULimit=40%\n", None),
    "a key that would get a value it refuses": ("[Service]\nCPUQuotas=1,5%\n", None),
    "a key that is set elsewhere too": ("[Service]\nCPUQuotas=20%\nCPUQuota=40%\n", None),
    "a key in the wrong section": (
        "[Unit]\nDescription=x\nCPUQuota=50%\n\n[Service]\nExecStart=/bin/a\n\n[Install]\n",
        "[Unit]\nDescription=x\n\n[Service]\nExecStart=/bin/a\nCPUQuota=50%\n\n[Install]\n",
    ),
    "a comment right above moves along": (
        "[Unit]\nDescription=x\n\n# half a CPU\n; agreed\nCPUQuota=50%\n[Service]\n# end\n",
        "[Unit]\nDescription=x\n\n[Service]\n# half a CPU\n; agreed\nCPUQuota=50%\n# end\n",
    ),
    "a setting in a comment stays": (
        "[Unit]\n#Documentation=x\nCPUQuota=50%\n[Service]\n",
        "[Unit]\n#Documentation=x\n[Service]\nCPUQuota=50%\n",
    ),
    "no section to move to": (
        "[Unit]\nCPUQuota=50%",
        "[Unit]\n\n[Service]\nCPUQuota=50%",
    ),
    "no section at all": (
        "CPUQuota=50%\n[Service]\nExecStart=/bin/a\n",
        "[Service]\nExecStart=/bin/a\nCPUQuota=50%\n",
    ),
    "two keys that move keep their order": (
        "[Unit]\nCPUWeight=50\nCPUQuota=50%\n[Service]\nType=simple\n",
        "[Unit]\n[Service]\nType=simple\nCPUWeight=50\nCPUQuota=50%\n",
    ),
    "a value over several lines": (
        "[Unit]\nAllowedCPUs=0 \\\n# between\n 1\n[Service]\nExecStart=/bin/a \\\n  b\n",
        "[Unit]\n[Service]\nExecStart=/bin/a \\\n  b\nAllowedCPUs=0 \\\n# between\n 1\n",
    ),
    "a key that is wrong in both ways": (
        "[Unit]\ncpuquota=50%\n[Service]\nType=simple\n",
        "[Unit]\n[Service]\nType=simple\nCPUQuota=50%\n",
    ),
    # Its author meant 50 %; in force it would be 40 %.
    "a misspelt key with a value that is misread": ("[Service]\ncpuquota=050%\n", None),
    "a misplaced key with a value that is misread": ("[Unit]\nCPUQuota=050%\n[Service]\n", None),
    "line ends of Windows and no last one": (
        "\ufeff[Service]\r\ncpuquota=50%\r\n[Unit]\r\nCPUWeight=20",
        "\ufeff[Service]\r\nCPUQuota=50%\r\nCPUWeight=20\r\n[Unit]",
    ),
    "a byte order mark before a key": (
        "\ufeffcpuweight=20\n[Service]\n",
        "\ufeff[Service]\nCPUWeight=20\n",
    ),
    "line ends that only systemd counts": ("[Service]\rCPUQuota=050%\r", None),
    "what somebody wants to keep": (
        "[Service]\n# quota-advisor: ignore[misread-cpu-quota] as shipped\nCPUQuota=050%\n",
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_certain_is_fixed_and_the_rest_stays(lint: Lint, tmp_path: Path, name: str) -> None:
    before, after = CASES[name]
    unit = "a.slice" if "[Slice]" in before else "a.service"
    lint("--fix", files={unit: before})
    assert (tmp_path / unit).read_bytes().decode() == (before if after is None else after)


@pytest.mark.parametrize("name", [name for name, (_, after) in CASES.items() if after])
def test_fixing_twice_changes_nothing_more_and_leaves_nothing_to_fix(
    lint: Lint, tmp_path: Path, name: str
) -> None:
    unit = "a.slice" if "[Slice]" in CASES[name][0] else "a.service"
    done = lint("--fix", files={unit: CASES[name][0]})
    assert done.code == 0
    assert done.err.count("fixed ") >= 1
    once = (tmp_path / unit).read_bytes()
    again = lint("--fix")
    assert (again.code, again.err) == (0, "")
    assert (tmp_path / unit).read_bytes() == once


def test_a_preview_is_a_diff_that_changes_nothing_and_can_be_applied(
    lint: Lint, tmp_path: Path
) -> None:
    text = "[Unit]\ncpuquota=50%\n\n[Service]\nExecStart=/bin/a"
    done = lint("--diff", "--format", "json=r.json", files={"sub/a.service": text})
    assert done.code == 1
    assert (tmp_path / "sub/a.service").read_text() == text
    assert done.out == (
        "--- a/sub/a.service\n"
        "+++ b/sub/a.service\n"
        "@@ -1,5 +1,5 @@\n"
        " [Unit]\n"
        "-cpuquota=50%\n"
        " \n"
        " [Service]\n"
        "-ExecStart=/bin/a\n"
        "\\ No newline at end of file\n"
        "+ExecStart=/bin/a\n"
        "+CPUQuota=50%\n"
        "\\ No newline at end of file\n"
    )
    assert "would fix sub/a.service:2: " in done.err
    assert (tmp_path / "r.json").is_file()


def test_without_anything_certain_the_diff_is_empty(lint: Lint) -> None:
    assert lint("--diff", files={"a.service": "[Service]\nCPULimit=4\n"}).out == ""


def test_the_mode_stays(lint: Lint, tmp_path: Path) -> None:
    lint(files={"real/a.service": "[Service]\nCPUQuota=050%\n"})
    path = tmp_path / "real/a.service"
    path.chmod(0o640)
    assert lint("real/a.service", "--fix").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert "CPUQuota=40%" in path.read_text()
    assert [p.name for p in path.parent.iterdir()] == ["a.service"]


def test_the_files_of_a_unit_are_fixed_together(lint: Lint, tmp_path: Path) -> None:
    drop_in = "a.service.d/10.conf"
    files = {"a.service": "[Service]\nCPUQuota=20%\n", drop_in: "[Service]\nCPUQuotas=40%\n"}
    lint("--fix", files=files)
    # With the right name it would take the place of 20 %: that is for people to decide.
    assert (tmp_path / drop_in).read_text() == files[drop_in]
    lint("--fix", files={"a.service": "[Service]\nType=simple\n"})
    assert (tmp_path / drop_in).read_text() == "[Service]\nCPUQuota=40%\n"


def test_a_drop_in_for_several_units_is_fixed_where_all_agree(lint: Lint, tmp_path: Path) -> None:
    files = {
        "a.service": "[Service]\nCPUQuota=20%\n",
        "b.service": "[Service]\n",
        "service.d/10.conf": "[Service]\nCPUQuotas=40%\n",
    }
    lint("--fix", files=files)
    assert (tmp_path / "service.d/10.conf").read_text() == files["service.d/10.conf"]


def test_a_stream_cannot_be_fixed_but_previewed(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"[Service]\nCPUQuota=050%\n")))
    assert lint("-", "--fix").code == 1


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.service"
    path.write_bytes(b"new")
    with pytest.raises(CollectError, match="no longer what was judged"):
        rewrite(path, b"old", b"newer")
    assert path.read_bytes() == b"new"


def test_a_file_with_a_second_name_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.service"
    path.write_bytes(b"old")
    (tmp_path / "b.service").hardlink_to(path)
    with pytest.raises(CollectError, match="hard links"):
        rewrite(path, b"old", b"new")


def test_one_file_that_cannot_be_changed_stops_no_other(lint: Lint, tmp_path: Path) -> None:
    text = "[Service]\nCPUQuota=050%\n"
    lint(files={"a.service": text, "b.service": text})
    (tmp_path / "twin").hardlink_to(tmp_path / "a.service")
    done = lint("--fix")
    assert done.code == 3
    assert "could not change a.service: it has several hard links\n" in done.err
    assert done.lines == [line for line in done.lines if line.startswith("a.service:")]
    assert (tmp_path / "a.service").read_text() == text
    assert "CPUQuota=40%" in (tmp_path / "b.service").read_text()


# ---- properties

LINES = st.sampled_from(
    [
        "[Unit]", "[Service]", "[Install]", "[X-Own]", "", "# a comment", "; CPUQuota=1%",
        "Description=x", "ExecStart=/bin/a \\", "  -b", "CPUQuota=50%", "CPUQuota=050%",
        "cpuquota=30%", "CPUQuota=", "CPUQuota=1,5%", "CPUQuotaPeriodUSec=10ms",
        "CPUQuotaPeriodUSec=10", "CPUWeight=20", "CPUWeigth=30", "CPULimit=2", "AllowedCPU=0-1",
        "AllowedCPUs=2 \\", "garbage", "[broken",
    ]
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\r\n"])


def unit(data: bytes) -> UnitConfig:
    return merge_unit("a.service", parse_unit_file("a.service", data))


def fix_all(data: bytes) -> bytes:
    """Fix until nothing is left to fix, every finding wanted."""
    for _ in range(10):
        config = unit(data)
        rules = (fixes.UNKNOWN_KEY, fixes.WRONG_SECTION, fixes.MISREAD)
        places = [
            place
            for judged in config.judged
            for place in (judged.assignment.location, judged.assignment.value_location)
        ]
        planned = fixes.plan([config], {(rule, place) for rule in rules for place in places})
        after, _ = apply(data, unit_fixes(data, planned).values())
        if after == data:
            return data
        data = after
    raise AssertionError("there is always one more thing to fix")


@given(st.lists(LINES, max_size=14), ENDS, st.sampled_from([0, 1]))
@example(["CPUQuota=50%", "[Service]", "AllowedCPUs=2 \\"], "\n", 0)
@example(["CPUQuota=50%", "[Service]", "AllowedCPUs=2 \\", "# a"], "\n", 1)
def test_fixes_end_and_change_nothing_but_what_they_say(
    lines: list[str], end: str, last: int
) -> None:
    before = (end.join(lines) + end * last).encode()
    after = fix_all(before)
    assert fix_all(after) == after
    old, new = unit(before), unit(after)
    # What was in force stays in force, with the same numbers; only what was ignored may join it.
    in_force = {j.assignment.key for j in old.judged if j.outcome is Outcome.APPLIED}
    if "CPUQuota" in in_force:
        assert new.quota_per_sec_usec == old.quota_per_sec_usec
    if "AllowedCPUs" in in_force:
        assert new.allowed_cpus == old.allowed_cpus
    # Comments and foreign keys are all still there, in whatever order.
    foreign = [line for line in lines if line.startswith(("#", ";", "Desc", "Exec", "garb"))]
    kept = after.decode().replace("\r", "").split("\n")
    assert all(kept.count(line) == lines.count(line) for line in foreign)


@given(st.binary(max_size=200))
def test_no_content_breaks_fixing(data: bytes) -> None:
    fix_all(b"[Unit]\nCPUQuota=50%\n" + data)
