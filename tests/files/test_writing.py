"""Files that root and CI write: whole, where they were asked for, and for whom."""

from __future__ import annotations

import os
import random
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quota_advisor.errors import CollectError
from quota_advisor.files import writing
from quota_advisor.files.places import opened
from quota_advisor.files.writing import check_file, write_file

KILLS = int(os.environ.get("KILLS", "20"))
"""A long run takes 200, see docs/security.md."""

NOBODY = 65534


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a working directory as CI has one: a checkout, with a victim beside it."""
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "beside").mkdir()
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    monkeypatch.chdir(checkout)
    return checkout


@pytest.fixture
def as_root() -> None:
    if os.geteuid():
        pytest.skip("needs root: gives files to others")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refused(path: Path | str, complaint: str, *, private: bool = False) -> None:
    with pytest.raises(CollectError, match=complaint):
        check_file(Path(path))
    with pytest.raises(CollectError, match=complaint):
        write_file(Path(path), "text", private=private)


def test_a_file_is_replaced_and_nothing_else_is_left(here: Path) -> None:
    target = here / "report"
    target.write_text("old")

    check_file(target)
    write_file(target, "new")

    assert target.read_text() == "new"
    assert sorted(path.name for path in here.iterdir()) == [".git", "report"]


# ---- links


def test_a_report_that_is_a_link_is_refused(here: Path) -> None:
    (here / "report.sarif").symlink_to("../victim")
    refused("report.sarif", "it is a link")
    refused(here / "report.sarif", "it is a link")
    assert (here / "../victim").read_text() == "precious"


def test_a_link_that_leads_nowhere_makes_no_file(here: Path) -> None:
    (here / "report").symlink_to("../new")
    refused("report", "it is a link")
    assert not (here / "../new").exists()


@pytest.mark.parametrize("absolute", [False, True])
def test_a_directory_that_a_change_commits_as_a_link_is_refused(
    here: Path, *, absolute: bool
) -> None:
    (here / "out").symlink_to("../beside")
    refused(here / "out/report" if absolute else "out/report", "out is a link")
    assert not list((here / "../beside").iterdir())


def test_a_link_in_another_repository_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "deep").mkdir()
    (here / "deep/out").symlink_to("../../beside")
    monkeypatch.chdir(here.parent / "beside")
    refused(here / "deep/out/report", "out is a link")


def test_a_link_outside_that_is_the_users_own_is_followed(here: Path) -> None:
    (here.parent / "reports").symlink_to("beside")
    here.parent.chmod(0o755)

    check_file(here.parent / "reports/a")
    write_file(here.parent / "reports/a", "text")

    assert (here.parent / "beside/a").read_text() == "text"


def test_a_link_where_others_can_write_is_refused(here: Path) -> None:
    (here.parent / "reports").symlink_to("beside")
    here.parent.chmod(0o1777)
    refused(here.parent / "reports/a", "reports is a link")


@pytest.mark.usefixtures("as_root")
def test_a_link_of_somebody_else_is_refused(here: Path) -> None:
    here.parent.chmod(0o755)
    (here.parent / "reports").symlink_to("beside")
    os.lchown(here.parent / "reports", NOBODY, NOBODY)
    refused(here.parent / "reports/a", "reports is a link")


@pytest.mark.usefixtures("as_root")
def test_a_link_in_a_directory_of_somebody_else_is_refused(here: Path) -> None:
    (here.parent / "reports").symlink_to("beside")
    here.parent.chmod(0o755)
    os.chown(here.parent, NOBODY, NOBODY)
    refused(here.parent / "reports/a", "reports is a link")


def test_links_of_the_system_are_followed_from_the_root_directory(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.parent / "var").mkdir()
    (here.parent / "var/run").symlink_to("../beside")
    monkeypatch.chdir("/")
    write_file(Path(str(here.parent / "var/run/a")[1:]), "text")
    assert (here.parent / "beside/a").read_text() == "text"


def test_a_circle_of_links_ends(here: Path) -> None:
    here.parent.chmod(0o755)
    (here.parent / "a").symlink_to("b")
    (here.parent / "b").symlink_to("a")
    refused(here.parent / "a/report", "too many levels")


# ---- modes


def test_a_report_may_be_read_by_all_that_the_umask_lets(here: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(here / "report", "text")
    finally:
        os.umask(before)
    assert mode(here / "report") == 0o640


def test_what_is_private_is_for_nobody_else(here: Path) -> None:
    (here / "facts").write_text("old")
    (here / "facts").chmod(0o666)
    write_file(here / "facts", "new", private=True)
    assert mode(here / "facts") == 0o600


def test_what_replaces_a_private_file_is_private(here: Path) -> None:
    (here / "report").write_text("old")
    (here / "report").chmod(0o600)
    write_file(here / "report", "new")
    assert mode(here / "report") == 0o600


# ---- devices, pipes, descriptors


def test_a_device_is_written_to() -> None:
    check_file(Path("/dev/null"))
    write_file(Path("/dev/null"), "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_pipe_with_a_reader_is_written_to(here: Path) -> None:
    os.mkfifo(here / "pipe")
    reader = os.open(here / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    check_file(here / "pipe")
    write_file(here / "pipe", "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)


def test_a_pipe_that_nobody_reads_is_not_waited_for(here: Path) -> None:
    os.mkfifo(here / "pipe")
    with pytest.raises(CollectError, match="nobody reads this pipe"):
        write_file(here / "pipe", "text")


@pytest.mark.usefixtures("as_root")
def test_nothing_private_goes_into_a_pipe_of_somebody_else(here: Path) -> None:
    os.mkfifo(here / "pipe")
    os.chown(here / "pipe", NOBODY, NOBODY)
    reader = os.open(here / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(CollectError, match="a pipe of somebody else"):
        write_file(here / "pipe", "text", private=True)
    os.close(reader)


def test_a_socket_is_neither(here: Path) -> None:
    with socket.socket(socket.AF_UNIX) as held:
        held.bind("socket")
        refused(here / "socket", "neither a file nor a pipe")


def test_an_open_descriptor_is_written_to_under_each_of_its_names(here: Path) -> None:
    with (here / "report").open("w") as file:
        for name in (f"/dev/fd/{file.fileno()}", f"/proc/self/fd/{file.fileno()}"):
            check_file(Path(name))
            write_file(Path(name), "text\n")
    assert (here / "report").read_text() == "text\ntext\n"


def test_standard_output_is_written_to_as_it_was_opened(here: Path) -> None:
    code = (
        "from pathlib import Path; from quota_advisor.files.writing import write_file;"
        "print('before', flush=True); write_file(Path('/dev/stdout'), 'text\\n')"
    )
    with (here / "out").open("w") as file:
        subprocess.run([sys.executable, "-c", code], check=True, stdout=file)
    assert (here / "out").read_text() == "before\ntext\n"


# ---- what cannot be written


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "is a directory"),
        ("..", "is a directory"),
        ("none/report", "no such file or directory"),
        ("file/report", "not a directory"),
        ("n" * 300, "file name too long"),
    ],
)
def test_what_cannot_be_written_is_said_beforehand_and_then(
    here: Path, name: str, complaint: str
) -> None:
    (here / "file").touch()
    refused(here / name, complaint)


def test_a_name_as_long_as_names_may_be(here: Path) -> None:
    write_file(here / ("ä" * 127), "text")
    assert (here / ("ä" * 127)).read_text() == "text"


# ---- temporary files


@pytest.fixture(params=["unnamed", "named"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write as on file systems with and without files that have no name."""
    if request.param == "named":
        monkeypatch.setattr(os.path, "isdir", lambda _: False)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_both_ways_replace(here: Path) -> None:
    (here / "report").write_text("old")
    write_file(here / "report", "new")
    assert (here / "report").read_text() == "new"
    assert sorted(path.name for path in here.iterdir()) == [".git", "report"]


@pytest.mark.usefixtures("way")
def test_a_failure_leaves_the_old_content_and_nothing_else(here: Path) -> None:
    (here / "report").write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with opened(here / "report") as place, pytest.raises(OSError, match="No space"):
        writing.replace(place, (b"new",), 0o644, full)

    assert (here / "report").read_text() == "old"
    assert sorted(path.name for path in here.iterdir()) == [".git", "report"]


def test_a_foreign_file_in_the_way_is_left_alone(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", bytes)
    other = here / f".report.{'00' * 8}.tmp"
    other.write_text("not ours")

    with pytest.raises(CollectError, match="file exists"):
        write_file(here / "report", "text")
    assert other.read_text() == "not ours"


def test_a_link_in_place_of_the_temporary_file_is_not_followed(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", bytes)
    monkeypatch.setattr(os.path, "isdir", lambda _: False)
    (here / f".report.{'00' * 8}.tmp").symlink_to("../victim")

    with pytest.raises(CollectError, match="file exists"):
        write_file(here / "report", "text")
    assert (here / "../victim").read_text() == "precious"


WRITER = """
import sys
from pathlib import Path
from quota_advisor.files.writing import write_file
print("ready", flush=True)
while True:
    for letter in "ab":
        write_file(Path(sys.argv[1]), letter * 300_000)
"""


def killed(target: Path, how: signal.Signals) -> Iterator[str]:
    """Yield what a file holds after its writer was killed, at another moment each time."""
    dice = random.Random(1)  # noqa: S311 - moments, no secrets
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(target)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(dice.uniform(0, 0.05))
            writer.send_signal(how)
        yield target.read_text()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_end_in_the_middle_leaves_the_old_or_the_new_and_nothing_else(
    here: Path, how: signal.Signals
) -> None:
    (here / "out").mkdir()
    target = here / "out/report"
    target.write_text("a" * 300_000)
    for content in killed(target, how):
        assert content in ("a" * 300_000, "b" * 300_000)
        assert [path.name for path in target.parent.iterdir()] == ["report"]


def test_a_kill_in_the_middle_leaves_the_old_or_the_new(here: Path) -> None:
    """Only between two calls of the kernel has the new file another name, and it is whole then."""
    (here / "out").mkdir()
    target = here / "out/report"
    target.write_text("a" * 300_000)
    for content in killed(target, signal.SIGKILL):
        assert content in ("a" * 300_000, "b" * 300_000)
        for path in target.parent.iterdir():
            assert path.stat().st_size == 300_000
