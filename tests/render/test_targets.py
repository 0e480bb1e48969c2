from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from quota_advisor.errors import CollectError, UsageError
from quota_advisor.render.targets import check_file, parse_formats, write_file

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


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "report"
    target.write_text("old")

    check_file(target)
    write_file(target, "new")

    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")

    write_file(tmp_path / "link", "new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_device_is_written_to() -> None:
    check_file(Path("/dev/null"))
    write_file(Path("/dev/null"), "text")

    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "is a directory"),
        ("none/report", "no such file or directory"),
        ("file/report", "not a directory"),
    ],
)
def test_what_cannot_be_written_is_said_beforehand_and_then(
    tmp_path: Path, name: str, complaint: str
) -> None:
    (tmp_path / "file").touch()
    target = tmp_path / name

    with pytest.raises(CollectError, match=complaint):
        check_file(target)
    with pytest.raises(CollectError, match="cannot be written"):
        write_file(target, "text")


def test_a_foreign_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / f".report.{os.getpid()}.tmp"
    other.write_text("not ours")

    with pytest.raises(CollectError, match="file exists"):
        write_file(tmp_path / "report", "text")
    assert other.read_text() == "not ours"
