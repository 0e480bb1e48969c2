from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from quota_advisor.checkout.ignored import Patterns
from quota_advisor.checkout.inputs import FileKind, discover, kind_by_content, kind_by_name
from tests.lint.samples import BAD_UNIT, deployment

BAD = deployment()


def names(*arguments: str, **options: object) -> list[str]:
    return [file.path for file in discover(arguments, **options).files]  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def put(*paths: str, text: str = "") -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.yaml", FileKind.MANIFEST),
        ("a.yml", FileKind.MANIFEST),
        ("a.json", FileKind.MANIFEST),
        ("a.service", FileKind.UNIT),
        ("a@.socket", FileKind.UNIT),
        ("a.service.d/10.conf", FileKind.UNIT),
        ("service.d/10.conf", FileKind.UNIT),
        ("a-.slice.d/10.conf", FileKind.UNIT),
        ("web.container", FileKind.QUADLET),
        ("web.container.d/10.conf", FileKind.QUADLET),
        ("kubelet.conf.d/10.conf", FileKind.MANIFEST),
        ("/etc/openshift/kubelet.conf.d/10.conf", FileKind.MANIFEST),
        ("/etc/kubernetes/kubelet/config.json.d/40-nodeadm.conf", FileKind.MANIFEST),
        ("kubelet.service.d/10.conf", FileKind.UNIT),
        ("kubelet.conf.d/.hidden.conf", None),
        ("kubelet.conf.d/10.txt", None),
        ("kubelet.conf", None),
        ("kubelet/kubelet.conf", None),
        ("a.timer", None),
        ("a.conf", None),
        ("conf.d/a.conf", None),
        ("a.service.d/.hidden.conf", None),
        ("README.md", None),
        (".service", None),
    ],
)
def test_a_name_tells_how_a_file_is_read(name: str, kind: FileKind | None) -> None:
    assert kind_by_name(name) is kind


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"[Service]\n", FileKind.UNIT),
        (b"# comment\n\n; other\n[Slice]\nCPUQuota=1%\n", FileKind.UNIT),
        (b"\xef\xbb\xbf[Container]\r\nImage=x\n", FileKind.QUADLET),
        (b"[1, 2]\n", FileKind.MANIFEST),
        (b"kind: Pod\n", FileKind.MANIFEST),
        (b"", FileKind.MANIFEST),
    ],
)
def test_content_tells_where_a_name_does_not(head: bytes, kind: FileKind) -> None:
    assert kind_by_content(head) is kind


def test_a_directory_is_walked_and_only_what_can_be_judged_is_taken() -> None:
    put("b/z.yaml", "b/a.service", "b/README.md", "b/.hidden/c.yml", ".git/x.yaml", "a.json")
    assert names(".") == ["a.json", "b/a.service", "b/z.yaml", "b/.hidden/c.yml"]


def test_files_are_named_the_way_the_user_names_them(here: Path) -> None:
    put("b/z.yaml")
    assert names("b") == ["b/z.yaml"]
    assert names("./b/") == ["b/z.yaml"]
    assert names(str(here / "b")) == [str(here / "b/z.yaml")]


def test_a_file_named_twice_is_read_once() -> None:
    put("b/z.yaml")
    os.link("b/z.yaml", "b/y.yaml")
    assert names("b/z.yaml", "b", "b/*.yaml") == ["b/z.yaml"]


def test_patterns_that_no_shell_expanded() -> None:
    put("a/x.yaml", "a/b/y.yaml", "a/b/z.txt")
    assert names("a/*.yaml") == ["a/x.yaml"]
    assert names("a/**/*.yaml") == ["a/b/y.yaml", "a/x.yaml"]


@pytest.mark.parametrize("name", ["nowhere.yaml", "no/*.yaml", "bad\0name"])
def test_a_name_without_a_file_is_a_problem(name: str) -> None:
    found = discover([name])
    assert found.files == []
    assert len(found.problems) == 1


def test_gitignore_counts_nested_and_from_above() -> None:
    put(".gitignore", text="*.tmp.yaml\n/build/\n!keep.tmp.yaml\n# comment\n")
    put("sub/.gitignore", text="secret/\n!x.tmp.yaml\n")
    put("sub/secret/a.yaml", "sub/x.tmp.yaml", "sub/y.tmp.yaml", "sub/keep.tmp.yaml")
    put("build/a.yaml", "sub/build/a.yaml")
    assert names("sub") == ["sub/keep.tmp.yaml", "sub/x.tmp.yaml", "sub/build/a.yaml"]
    assert "build/a.yaml" not in names(".")


def test_git_info_exclude_counts_too() -> None:
    put(".git/info/exclude", text="local/\n")
    put("local/a.yaml", "b.yaml")
    assert names(".") == ["b.yaml"]


def test_what_is_named_is_read_even_if_git_ignores_it() -> None:
    put(".gitignore", text="*.yaml\n")
    put("a.yaml")
    assert names("a.yaml") == ["a.yaml"]


def test_excluded_files_are_not_read_even_if_named() -> None:
    put("vendor/a.yaml", "b.yaml")
    assert names("vendor/a.yaml", "b.yaml", exclude=[Patterns(["vendor/"], Path.cwd())]) == [
        "b.yaml"
    ]
    assert names(".", exclude=[Patterns(["vendor/"], Path.cwd())]) == ["b.yaml"]


def test_links_are_not_followed_unless_named() -> None:
    put("real/a.yaml")
    Path("loop").mkdir()
    Path("loop/again").symlink_to("../loop")
    Path("loop/b.yaml").symlink_to("b.yaml")
    Path("link.yaml").symlink_to("real/a.yaml")
    assert names(".") == ["real/a.yaml"]
    assert names("link.yaml") == ["link.yaml"]
    looped = discover(["loop/b.yaml"])
    assert "symbolic links" in looped.problems[0].reason


def test_what_is_no_file_is_a_problem_when_named_and_a_note_when_found(here: Path) -> None:
    os.mkfifo("pipe.yaml")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(here / "api.socket"))
    found = discover(["."])
    assert found.problems == []
    assert [note.split(":")[0] for note in found.notes] == ["api.socket", "pipe.yaml"]
    assert "a named pipe" in discover(["pipe.yaml"]).problems[0].reason
    assert "a device" in discover(["/dev/null"]).problems[0].reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_a_problem() -> None:
    put("closed/a.yaml")
    Path("closed").chmod(0)
    try:
        assert discover(["."]).problems[0].subject == "closed"
    finally:
        Path("closed").chmod(0o755)


def test_a_file_that_is_too_large_is_a_problem() -> None:
    with Path("huge.yaml").open("wb") as file:
        file.truncate((1 << 30) + 1)
    assert "1024 MiB" in discover(["huge.yaml"]).problems[0].reason


def test_a_name_that_is_not_utf8_is_shown_all_the_same() -> None:
    Path(os.fsdecode(b"b\xe9.yaml")).write_text(BAD)
    assert names(".") == ["b\\xe9.yaml"]


def test_standard_input_is_named_and_told_apart_by_its_content() -> None:
    (file,) = discover(["-"], stdin=BAD_UNIT.encode()).files
    assert (file.path, file.kind) == ("<stdin>", FileKind.UNIT)
    (file,) = discover(["-"], stdin=b"kind: Pod", stdin_name="chart.yaml").files
    assert (file.path, file.kind) == ("chart.yaml", FileKind.MANIFEST)


@pytest.mark.parametrize(
    ("arguments", "text", "place"),
    [
        (["-"], BAD, "<stdin>:14:18"),
        (["-"], BAD_UNIT, "<stdin>:3:10"),
        (["-", "--stdin-name", "api.service"], BAD_UNIT, "api.service:3:10"),
        (["/dev/stdin"], BAD, "/dev/stdin:14:18"),
    ],
)
def test_a_pipe_is_linted(arguments: list[str], text: str, place: str) -> None:
    command = [sys.executable, "-m", "quota_advisor", "lint", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{place}: error: ")
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["vendor", "third_party", "testdata", "node_modules"])
def test_what_others_wrote_is_read_only_if_it_is_named(name: str) -> None:
    put("a.yaml", f"x/{name}/b.yaml", f"x/{name}/y/c.yaml", f"x/{name}s/d.yaml", f"{name}.yaml")
    put(f"named/{name}/{name}/e.yaml", f"named/{name}/f.yaml")
    found = discover(["."])
    assert [file.path for file in found.files] == sorted(
        ["a.yaml", f"{name}.yaml", f"x/{name}s/d.yaml"]
    )
    assert found.of_others == [f"named/{name}", f"x/{name}"]
    assert names(f"x/{name}") == [f"x/{name}/b.yaml", f"x/{name}/y/c.yaml"]
    assert names(f"x/{name}/y") == names(f"x/{name}/y/c.yaml") == [f"x/{name}/y/c.yaml"]
    assert names(f"named/{name}") == [f"named/{name}/f.yaml"]
    assert names(f"**/{name}/*.yaml") == [
        f"named/{name}/f.yaml",
        f"named/{name}/{name}/e.yaml",
        f"x/{name}/b.yaml",
    ]


def test_what_is_ignored_is_not_called_left_out() -> None:
    put(".gitignore", text="node_modules/\n")
    put("a.yaml", "node_modules/b.yaml", "vendor/c.yaml")
    assert discover(["."], exclude=[Patterns(["vendor"], Path())]).of_others == []
