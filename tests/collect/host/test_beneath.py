"""No path leads out of the root, whichever way it is opened and whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quota_advisor.collect.host.beneath import open_beneath, walk_beneath
from quota_advisor.collect.host.root import HostRoot

Open = Callable[[int, str, int], int]
WAYS = (open_beneath, walk_beneath)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Make a root with a secret beside it, and every kind of link."""
    (tmp_path / "secret").write_text("outside")
    top = tmp_path / "host"
    (top / "etc/deep").mkdir(parents=True)
    (top / "secret").write_text("inside")
    (top / "etc/plain").write_text("plain")
    for name, target in {
        "absolute": "/secret",
        "climbing": "../../../../secret",
        "outside": str(tmp_path / "secret"),
        "dangling": "nowhere",
        "loop": "loop",
        "folder": "/etc",
        "twice": "folder/plain",
    }.items():
        (top / "etc" / name).symlink_to(target)
    return top


@pytest.fixture
def top(host: Path) -> Iterator[int]:
    handle = os.open(host, os.O_PATH | os.O_DIRECTORY)
    yield handle
    os.close(handle)


def content(way: Open, top: int, path: str) -> str:
    descriptor = way(top, path, os.O_RDONLY)
    try:
        return os.read(descriptor, 100).decode()
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/secret", "inside"),
        ("/../../secret", "inside"),
        ("/etc/absolute", "inside"),
        ("/etc/climbing", "inside"),
        ("/etc/folder/plain", "plain"),
        ("/etc/twice", "plain"),
        ("etc/./deep/../plain", "plain"),
    ],
)
def test_links_are_followed_within_the_root(way: Open, top: int, path: str, text: str) -> None:
    assert content(way, top, path) == text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/etc/outside", errno.ENOENT),
        ("/etc/dangling", errno.ENOENT),
        ("/etc/loop", errno.ELOOP),
        ("/etc/plain/x", errno.ENOTDIR),
    ],
)
def test_what_leads_nowhere_is_an_error(way: Open, top: int, path: str, number: int) -> None:
    with pytest.raises(OSError) as raised:  # noqa: PT011 - told by its number
        way(top, path, os.O_RDONLY)
    assert raised.value.errno == number


@pytest.mark.parametrize("way", WAYS)
def test_no_descriptor_is_left_open(way: Open, top: int) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for path in ("/etc/twice", "/etc/climbing", "/etc/loop", "/etc/dangling", "/secret/x"):
        try:
            os.close(way(top, path, os.O_RDONLY))
        except OSError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize("way", WAYS)
def test_a_link_that_is_swapped_meanwhile_never_leads_out(way: Open, top: int, host: Path) -> None:
    # A folder that turns into a link to the outside and back, as fast as possible.
    (host / "moving").mkdir()
    (host / "moving/secret").write_text("inside")
    (host / "bait").symlink_to(host.parent)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for first, second in (("moving", "aside"), ("bait", "moving")):
                (host / first).rename(host / second)
            for first, second in (("moving", "bait"), ("aside", "moving")):
                (host / first).rename(host / second)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = set()
        for _ in range(3_000):
            try:
                seen.add(content(way, top, "/moving/secret"))
            except OSError as error:
                seen.add(errno.errorcode[error.errno or 0])
    finally:
        done.set()
        thread.join()
    assert "inside" in seen
    assert "outside" not in seen


def test_without_the_system_call_a_host_reads_the_same(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ("/secret", "/etc/twice", "/etc/climbing")
    fast = [HostRoot(host).read(path) for path in files]
    monkeypatch.setattr("quota_advisor.collect.host.root.open_beneath", walk_beneath)
    assert [HostRoot(host).read(path) for path in files] == fast


def test_the_target_of_a_link_to_nothing_is_known(host: Path) -> None:
    root = HostRoot(host)
    assert root.resolve("/etc/dangling") == "/etc/nowhere"
    assert root.resolve("/etc/folder/plain") == "/etc/plain"
    assert root.resolve("/") == "/"


def test_a_pipe_does_not_keep_anybody_waiting(host: Path) -> None:
    os.mkfifo(host / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        HostRoot(host).read("/pipe")
