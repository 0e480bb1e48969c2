"""Small files of strangers: regular, in their tree, and small."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from quota_advisor.files.reading import read_found, read_named

LIMIT = 1 << 20
Read = Callable[[Path, int], bytes]
both = pytest.mark.parametrize("read", [read_found, read_named])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a repository with a secret beside it."""
    (tmp_path / "secret").write_text("hunter2")
    top = tmp_path / "tree"
    (top / ".git").mkdir(parents=True)
    (top / "file").write_text("text")
    return top


@both
def test_a_file_is_read(tree: Path, read: Read) -> None:
    assert read(tree / "file", LIMIT) == b"text"


@both
def test_a_link_within_the_tree_is_followed(tree: Path, read: Read) -> None:
    (tree / "sub").mkdir()
    (tree / "sub/link").symlink_to("../file")
    assert read(tree / "sub/link", LIMIT) == b"text"


@both
@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "/dev/zero"])
def test_a_link_out_of_the_tree_is_not_followed(tree: Path, read: Read, target: str) -> None:
    (tree / "link").symlink_to(target)
    with pytest.raises(OSError, match="leads out of its directory tree"):
        read(tree / "link", LIMIT)


@both
def test_a_directory_that_is_a_link_leads_out_no_better(tree: Path, read: Read) -> None:
    (tree / "out").symlink_to("..")
    with pytest.raises(OSError, match="leads out of its directory tree"):
        read(tree / "out/secret", LIMIT)


def test_outside_of_repositories_only_what_was_found_stays_in_its_directory(tree: Path) -> None:
    (tree / ".git").rmdir()
    (tree / "link").symlink_to("../secret")
    assert read_named(tree / "link", LIMIT) == b"hunter2"
    with pytest.raises(OSError, match="leads out"):
        read_found(tree / "link", LIMIT)


@both
def test_a_named_pipe_is_not_waited_for(tree: Path, read: Read) -> None:
    os.mkfifo(tree / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        read(tree / "pipe", LIMIT)


@both
def test_a_socket_is_refused(tree: Path, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    with socket.socket(socket.AF_UNIX) as held:
        held.bind("socket")
        with pytest.raises(OSError, match="no regular file"):
            read(tree / "socket", LIMIT)


@both
def test_a_directory_is_called_one(tree: Path, read: Read) -> None:
    with pytest.raises(IsADirectoryError):
        read(tree / ".git", LIMIT)


@both
def test_a_huge_file_costs_no_memory(tree: Path, read: Read) -> None:
    with (tree / "huge").open("wb") as file:
        file.truncate(1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read(tree / "huge", LIMIT)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@both
def test_as_much_as_the_limit_is_read(tree: Path, read: Read) -> None:
    (tree / "file").write_bytes(b"x" * LIMIT)
    assert len(read(tree / "file", LIMIT)) == LIMIT


@both
def test_a_device_that_never_ends_is_refused(read: Read) -> None:
    with pytest.raises(OSError, match=r"no regular file|leads out"):
        read(Path("/dev/zero"), LIMIT)
