"""Files that --fix changes: only those, all of them, and nobody sees more than before."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from quota_advisor.errors import CollectError
from quota_advisor.fix.rewrite import rewrite
from tests.lint.conftest import Lint
from tests.lint.samples import BAD_UNIT

FIXED = BAD_UNIT.replace("050", "40")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.service"
    path.write_bytes(b"old")
    return path


def test_the_copy_is_never_readable_for_more_people(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.chmod(0o600)
    seen: list[int] = []
    write, fsync = os.fdopen, os.fsync

    def noting(descriptor: int, *arguments: object) -> object:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return write(descriptor, *arguments)  # type: ignore[call-overload]

    def syncing(descriptor: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o777)
        fsync(descriptor)

    monkeypatch.setattr(os, "fdopen", noting)
    monkeypatch.setattr(os, "fsync", syncing)
    rewrite(file, b"old", b"new")
    assert seen[:3] == [0o600] * 3
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_owner_and_attributes_stay(file: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root: gives a file to somebody else")
    os.chown(file, 65534, 65534)
    file.chmod(0o640)
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no attributes")
    rewrite(file, b"old", b"new")
    status = file.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (65534, 65534, 0o640)
    assert os.getxattr(file, "user.note") == b"kept"


def test_a_file_whose_attributes_cannot_be_kept_is_left_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no attributes")

    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "setxattr", refused)
    with pytest.raises(CollectError, match=r"attribute user\.note cannot be kept"):
        rewrite(file, b"old", b"new")
    assert (file.read_bytes(), list(file.parent.iterdir())) == (b"old", [file])


def test_what_is_saved_meanwhile_is_not_lost(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fchmod = os.fchmod

    def saving(descriptor: int, mode: int) -> None:
        file.write_bytes(b"saved by somebody")
        fchmod(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", saving)
    with pytest.raises(CollectError, match="changed while it was written"):
        rewrite(file, b"old", b"new")
    assert (file.read_bytes(), list(file.parent.iterdir())) == (b"saved by somebody", [file])


def test_what_turned_into_something_else_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("elsewhere")
    for name, complaint in (("pipe", "no longer a regular"), ("link", "a link"), ("x", "gone")):
        with pytest.raises(CollectError, match=complaint):
            rewrite(tmp_path / name, b"", b"new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("named", ["out/", "out/a.service", "out/*.service", "*/a.service"])
def test_nothing_outside_the_tree_is_changed(
    lint: Lint, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, named: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.service").write_text(BAD_UNIT)
    (tmp_path / "out").symlink_to(outside)
    done = lint(named, "--fix")
    assert done.code == 3
    assert "could not change out/a.service: out is a link" in done.err
    assert (outside / "a.service").read_text() == BAD_UNIT


def test_a_file_that_is_a_link_is_not_changed(lint: Lint, tmp_path: Path) -> None:
    lint(files={"real/a.service": BAD_UNIT})
    (tmp_path / "a.service").symlink_to("real/a.service")
    done = lint("a.service", "--fix")
    assert (done.code, "it is a link" in done.err) == (3, True)
    assert (tmp_path / "real/a.service").read_text() == BAD_UNIT


def test_a_named_pipe_is_passed_over(lint: Lint, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "b.service")
    done = lint("--fix", files={"a.service": BAD_UNIT})
    assert (tmp_path / "a.service").read_text() == FIXED
    assert done.code == 0


@pytest.mark.parametrize("stderr", ["closed", "full", "broken"])
def test_all_files_are_changed_though_nobody_listens(tmp_path: Path, stderr: str) -> None:
    (tmp_path / ".git").mkdir()
    for name in "abc":
        (tmp_path / f"{name}.service").write_text(BAD_UNIT)
    to = {"closed": "2>&-", "full": "2>/dev/full", "broken": "2> >(exec 0<&-; sleep 1)"}[stderr]
    command = f"{sys.executable} -m quota_advisor lint --fix {to}"
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False, capture_output=True)
    assert {path.read_text() for path in tmp_path.glob("*.service")} == {FIXED}
