from __future__ import annotations

import pytest

from quota_advisor.errors import UsageError
from quota_advisor.render.targets import parse_formats

KNOWN = ("table", "csv", "json")


def test_formats_and_their_files_are_read() -> None:
    parsed = parse_formats(("csv=a=b.csv", "table"), KNOWN)

    assert [(name, str(path)) for name, path in parsed] == [("csv", "a=b.csv"), ("table", "None")]


def test_the_table_is_what_nobody_has_to_ask_for() -> None:
    assert parse_formats((), KNOWN) == [("table", None)]


@pytest.mark.parametrize(
    ("formats", "complaint"),
    [
        (("cvs",), "did you mean 'csv'"),
        (("xml",), "choose from table, csv, json"),
        (("csv=",), "the file name is missing"),
        (("csv", "json"), "two formats want standard output"),
        (("csv=a", "json=./a"), "two formats want the file a"),
    ],
)
def test_other_formats_are_refused(formats: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_formats(formats, KNOWN)


def test_two_formats_may_go_to_the_same_device() -> None:
    assert len(parse_formats(("csv=/dev/null", "json=/dev/null"), KNOWN)) == 2
