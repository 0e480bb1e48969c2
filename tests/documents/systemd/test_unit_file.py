from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.documents.systemd.unit_file import MAX_LINE_BYTES, parse_unit_file
from quota_advisor.model.unit import UnitFile

PATH = "/etc/systemd/system/api.service"


def parse(text: str | bytes) -> UnitFile:
    return parse_unit_file(PATH, text.encode() if isinstance(text, str) else text)


def assigned(file: UnitFile) -> list[tuple[str, str, str]]:
    return [(a.section, a.key, a.value) for a in file.assignments]


def places(file: UnitFile) -> list[tuple[int, int, int, int]]:
    return [
        (a.location.line, a.location.column, a.value_location.line, a.value_location.column)
        for a in file.assignments
    ]


def refused(file: UnitFile) -> list[tuple[int, str, bool]]:
    return [(line.location.line, line.reason, line.fatal) for line in file.malformed]


def test_assignments_and_their_places() -> None:
    file = parse("# note\n[Service]\n\n  CPUQuota  =  60%  \nCPUWeight=\n")
    assert assigned(file) == [("Service", "CPUQuota", "60%"), ("Service", "CPUWeight", "")]
    assert places(file) == [(4, 3, 4, 16), (5, 1, 5, 11)]
    assert file.assignments[0].location.file == PATH


def test_columns_count_characters() -> None:
    file = parse("[Service]\nDescription=é\\\nü CPUQuota=1%\n")
    assert file.assignments[0].value == "é ü CPUQuota=1%"
    file = parse("[Service]\n\tÄ=ö = %\n")
    assert places(file) == [(2, 2, 2, 4)]


def test_key_before_any_section_has_none() -> None:
    assert assigned(parse("CPUQuota=1%")) == [("", "CPUQuota", "1%")]


def test_value_goes_on_behind_a_backslash_and_over_comments() -> None:
    file = parse("[Service]\nCPUQuota=\\\n# why\n  60%\n")
    assert assigned(file) == [("Service", "CPUQuota", "60%")]
    assert places(file) == [(2, 1, 4, 3)]


def test_swallowed_lines_are_kept_with_their_places() -> None:
    file = parse("[Service]\nEnvironment=A=b \\\n; note\n  CPUQuota=60% \\\n\nCPUWeight=5\n")
    first = file.assignments[0]
    assert first.value == "A=b    CPUQuota=60%"
    assert [(s.text, s.location.line, s.location.column) for s in first.swallowed] == [
        ("CPUQuota=60%", 4, 3)
    ]
    assert assigned(file)[1] == ("Service", "CPUWeight", "5")


def test_continuation_at_the_end_of_the_file() -> None:
    assert assigned(parse("[Service]\nCPUQuota=60%\\")) == [("Service", "CPUQuota", "60%")]


def test_key_below_a_continued_blank_line() -> None:
    file = parse("[Service]\n\\\n CPUQuota=60%\n")
    assert places(file) == [(3, 2, 3, 11)]
    assert file.assignments[0].swallowed == ()


@pytest.mark.parametrize("tail", ["\\\\", "\\ ", "\\\t"])
def test_what_looks_like_a_continuation_and_is_none(tail: str) -> None:
    file = parse(f"[Service]\nEnvironment=A{tail}\nCPUQuota=60%\n")
    assert ("Service", "CPUQuota", "60%") in assigned(file)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\r", "\0", "\r\n\0"])
def test_every_end_of_line_that_systemd_knows(end: str) -> None:
    file = parse(f"[Service]{end}CPUQuota=60%{end}{end}CPUWeight=5{end}")
    assert assigned(file) == [("Service", "CPUQuota", "60%"), ("Service", "CPUWeight", "5")]
    assert [a.location.line for a in file.assignments] == [2, 4]


def test_byte_order_mark_is_no_column() -> None:
    file = parse("\ufeffCPUQuota=1%\n\ufeffCPUQuota=2%\n")
    assert places(file)[0] == (1, 1, 1, 10)
    assert file.assignments[1].key == "\ufeffCPUQuota"


def test_comment_behind_a_byte_order_mark_is_silently_dropped() -> None:
    file = parse("\ufeff# quota-advisor: ignore[a] b\n[Service]\nCPUQuota=1%\n")
    assert file.malformed == ()
    assert len(file.suppressions) == 1
    assert len(file.assignments) == 1


def test_suppressions() -> None:
    file = parse(
        "[Service]\n  # quota-advisor: ignore[quota-octal, quota-small] measured in May\n"
        "; quota-advisor:ignore[x]\n# quota-advisor: ignore\nA=# quota-advisor: ignore[y]\n"
    )
    first, second = file.suppressions
    assert (first.rules, first.reason) == (("quota-octal", "quota-small"), "measured in May")
    assert (first.location.line, first.location.column) == (2, 3)
    assert (second.rules, second.reason) == (("x",), "")


def test_malformed_lines() -> None:
    file = parse("[Service]\nCPUQuota 5%\n=5%\nCPUQuota=6%\n")
    assert refused(file) == [(2, "there is no '='", False), (3, "there is no key", False)]
    assert assigned(file) == [("Service", "CPUQuota", "6%")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[Service] # again", "does not end in"),
        (b"[", "does not end in"),
        (b'["Service"]', "characters"),
        (b"Environment=\xff", "UTF-8"),
        (b"Environment=\xed\xa0\x80", "UTF-8"),
        (b"Environment=\xef\xbf\xbe", "UTF-8"),
        (b"A=" + b"x" * (MAX_LINE_BYTES - 2), "too long"),
        (b"#" + b"x" * (MAX_LINE_BYTES - 1), "too long"),
        ((b"A" * 1023 + b"\\\n") * 1025, "too long"),
    ],
)
def test_some_lines_end_the_reading(line: bytes, reason: str) -> None:
    file = parse(b"[Service]\nCPUQuota=1%\n" + line + b"\nCPUQuota=2%\n")
    assert assigned(file) == [("Service", "CPUQuota", "1%")]
    assert len(file.malformed) == 1
    assert file.malformed[0].fatal
    assert reason in file.malformed[0].reason


def test_longest_line_that_is_read() -> None:
    file = parse(b"[Service]\nA=" + b"x" * (MAX_LINE_BYTES - 3) + b"\nCPUQuota=2%\n")
    assert file.malformed == ()
    assert len(file.assignments) == 2


def test_bytes_that_are_no_text_may_stand_in_comments() -> None:
    assert parse(b"# \xff\n[Service]\nA=b\n").malformed == ()


def test_extension_sections_may_hold_anything() -> None:
    assert parse("[X-Mine]\nfree text\n").malformed == ()


PIECES = (
    b"[Service] CPUQuota = 60% \\ \n \r \0 # ; quota-advisor:ignore[a] \xef\xbb\xbf \xff [ ]"
).split(b" ")


@given(
    st.one_of(
        st.binary(), st.lists(st.sampled_from([*PIECES, b" ", b"\t", "é".encode()])).map(b"".join)
    )
)
def test_any_bytes_are_read_and_places_point_at_keys(data: bytes) -> None:
    file = parse(data)
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    lines = [
        match[0] for match in re.finditer("[^\n\r\0]*(?:\r\n\0?|\n\r\0?|[\n\r]\0?|\0|$)", text)
    ]
    for found in file.assignments:
        line = lines[found.location.line - 1]
        at = found.location.column - 1
        head = found.key.split(" ")[0].split("\t")[0]
        assert line[at : at + len(head)] == head
        value_line = lines[found.value_location.line - 1]
        start = found.value_location.column - 1
        head = re.split(r"[ \t]", found.value)[0]
        assert value_line[start : start + len(head)] == head
    for refused_line in file.malformed:
        assert 1 <= refused_line.location.line <= len(lines)
