"""Compose files that bear on each other: which are read, which are judged, whose rules count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quota_advisor.checkout import compose_projects as lint_compose
from quota_advisor.checkout.chunks import CHUNK_BYTES, MAX_DOCUMENT_BYTES
from quota_advisor.documents.compose.recognise import may_extend
from quota_advisor.lint import run as linting
from tests.lint.conftest import Lint

BAD = "services:\n  app: {image: app, cpus: half}\n"
BASE = "services:\n  web:\n    image: app\n    cpus: 1\n"
OVERRIDE = "services:\n  web:\n    cpus: half\n"
INVALID = "compose-invalid-cpus"
UNRESOLVED = "compose-extends-unresolved"


def extending(file: str, service: str = "app") -> str:
    return f"services:\n  web:\n    extends: {{file: {file}, service: {service}}}\n"


def found(lint: Lint, *arguments: str, files: dict[str, str | bytes] | None = None) -> set[str]:
    """Return place and rule of every finding."""
    done = lint("--format", "json", *arguments, files=files)
    return {f"{file}:{line}:{column} {rule}" for file, line, column, rule in done.found()}


# ---- which files are read


def test_a_file_that_git_ignores_is_read_where_it_is_needed_and_not_judged(lint: Lint) -> None:
    comment = "# quota-advisor: ignore[compose-cpu-conflict] nothing here uses this\n"
    other = comment + BAD + "  own: {image: app, cpus: none}\n"
    files: dict[str, str | bytes] = {
        ".gitignore": "common.yml\n", "common.yml": other, "web.yml": extending("common.yml"),
    }  # fmt: skip
    assert found(lint, files=files) == {f"common.yml:3:27 {INVALID}"}
    assert found(lint, "common.yml") == {
        f"common.yml:3:27 {INVALID}",
        f"common.yml:4:27 {INVALID}",
        "common.yml:1:1 unused-suppression",
    }


def test_an_override_file_counts_where_it_is_in_the_input(lint: Lint) -> None:
    files: dict[str, str | bytes] = {"compose.yaml": BASE, "compose.override.yml": OVERRIDE}
    wrong = f"compose.override.yml:3:11 {INVALID}"
    assert found(lint, files=files) == {wrong}
    # As with "compose -f compose.yaml".
    assert found(lint, "compose.yaml") == set()
    assert found(lint, "compose.yaml", "compose.override.yml") == {wrong}
    # A developer's own override file is none of the repository's.
    assert found(lint, files={".gitignore": "*.override.yml\n"}) == set()


def test_an_override_file_alone_is_judged_with_its_base(lint: Lint) -> None:
    base = "services:\n  web: {image: app, cpus: 1}\n  own: {image: app, cpus: half}\n"
    over = "services:\n  web:\n    deploy: {resources: {limits: {cpus: '2'}}}\n"
    files: dict[str, str | bytes] = {"a/compose.yaml": base, "a/compose.override.yaml": over}
    assert found(lint, "a/compose.override.yaml", files=files) == {
        "a/compose.override.yaml:3:41 compose-cpu-conflict"
    }


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        (("compose.yaml", "compose.yml"), "compose.yml"),
        (("compose.yml", "docker-compose.yml"), "docker-compose.yml"),
        (("docker-compose.yml", "docker-compose.yaml"), "docker-compose.yaml"),
    ],
)
def test_of_several_bases_compose_takes_one(lint: Lint, names: tuple[str, str], wrong: str) -> None:
    """What is mended in the one that counts stays wrong in the other."""
    bad = "services:\n  web: {image: app, cpus: half}\n"
    files: dict[str, str | bytes] = dict.fromkeys(names, bad)
    files["docker-compose.override.yaml"] = "services:\n  web: {cpus: 1}\n"
    assert found(lint, files=files) == {f"{wrong}:2:27 {INVALID}"}


def test_what_is_excluded_is_not_read(lint: Lint) -> None:
    files: dict[str, str | bytes] = {
        "web.yml": extending("vendor/common.yml"), "vendor/common.yml": BAD,
        "compose.yaml": BASE, "compose.override.yml": OVERRIDE,
    }  # fmt: skip
    options = ("--exclude", "vendor/", "--exclude", "*.override.yml")
    assert found(lint, *options, files=files) == set()
    told = lint("--verbose", *options).out
    assert "web extends app of vendor/common.yml: that file is excluded" in told


def test_standard_input_has_no_relatives(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    lint(files={"common.yml": BAD, "in.yml": extending("common.yml")})
    with Path("in.yml").open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        done = lint("-", "--stdin-name", "web.yml", "--verbose")
    assert done.code == 0
    assert "standard input lies in no directory" in done.out


def test_nothing_outside_of_the_repository_is_read(lint: Lint, tmp_path: Path) -> None:
    lint(files={"outside/common.yml": BAD, "inside/web.yml": "", "inside/.git/HEAD": ""})
    Path("inside/link.yml").symlink_to("../outside/common.yml")
    Path("inside/way").symlink_to("../outside")
    for name in (
        "../outside/common.yml",
        "link.yml",
        "way/common.yml",
        f"{tmp_path}/x",
        "/dev/zero",
    ):
        told = lint("--verbose", "inside", files={"inside/web.yml": extending(name)})
        assert (told.code, "outside of the repository" in told.out) == (0, True), name


def test_without_a_repository_files_are_followed_as_compose_follows_them(lint: Lint) -> None:
    lint(files={"outside/common.yml": BAD, "inside/web.yml": extending("../outside/common.yml")})
    Path(".git").rmdir()
    assert found(lint, "inside") == {f"outside/common.yml:2:27 {INVALID}"}


def test_the_top_of_the_repository_is_not_outside_of_it(lint: Lint) -> None:
    assert "that is a directory" in lint(files={"web.yml": extending(".")}).out


def test_a_link_within_the_repository_is_followed(lint: Lint) -> None:
    lint(files={"a/common.yml": BAD, "b/web.yml": extending("link.yml")})
    Path("b/link.yml").symlink_to("../a/common.yml")
    # In the input it is the file behind the link, and told once.
    assert found(lint) == {f"a/common.yml:2:27 {INVALID}"}
    assert found(lint, "b") == {f"b/link.yml:2:27 {INVALID}"}


def test_a_way_back_is_taken_from_the_name_not_from_a_link(lint: Lint) -> None:
    """As compose has it: what stands before ".." is gone before anything is looked for."""
    lint(
        files={"a/common.yml": "", "b/common.yml": BAD, "b/web.yml": extending("way/../common.yml")}
    )
    Path("a/deep").mkdir()
    Path("b/way").symlink_to("../a/deep")
    assert found(lint, "b/web.yml") == {f"b/common.yml:2:27 {INVALID}"}


def test_a_file_is_the_same_however_it_is_named(lint: Lint, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a/common.yml": BAD,
        "b/web.yml": extending("../b/../a/common.yml"),
    }
    assert found(lint, files=files) == {f"a/common.yml:2:27 {INVALID}"}
    absolute = str(tmp_path / "a/common.yml")
    assert found(lint, absolute, "b/web.yml") == {f"{absolute}:2:27 {INVALID}"}


# ---- what cannot be read


def test_what_is_no_file_is_told_and_waited_for_by_nobody(lint: Lint) -> None:
    lint(files={"huge.yml": ""})
    os.mkfifo("pipe.yml")
    os.truncate("huge.yml", MAX_DOCUMENT_BYTES + 1)
    Path("loop.yml").symlink_to("loop.yml")
    for name, reason in {
        "pipe.yml": "that is no regular file",
        "huge.yml": "that file is larger than 32 MiB",
        "loop.yml": "that file cannot be read: too many levels of symbolic links",
        "long" * 100: "that file cannot be read: file name too long",
        # Which words follow depends on the version of Python.
        '"nul\\0"': "that file cannot be read: ",
    }.items():
        done = lint("web.yml", files={"web.yml": extending(name) + "    cpus: half\n"})
        assert "web.yml:3:21: warning: web extends app of" in done.out, name
        assert reason in done.out
        # The rest is judged all the same.
        assert "web.yml:4:11: error: cpus: half is refused" in done.out


def test_files_that_are_not_in_the_input_are_read_so_far(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint_compose, "MAX_OTHER_BYTES", len(BAD))
    second = extending("two.yml").removeprefix("services:\n").replace("web", "api")
    files: dict[str, str | bytes] = {
        "one.yml": BAD, "two.yml": BAD, "web.yml": extending("one.yml") + second,
    }  # fmt: skip
    assert found(lint, "web.yml", files=files) == {
        f"one.yml:2:27 {INVALID}",
        f"web.yml:5:21 {UNRESOLVED}",
    }
    assert UNRESOLVED not in str(found(lint))


def test_a_large_file_is_a_relative_like_others(lint: Lint) -> None:
    filler = "# filler\n" * (CHUNK_BYTES // 9 + 1)
    files: dict[str, str | bytes] = {
        "common.yml": filler + BAD + "---\n" + filler, "web.yml": extending("common.yml"),
    }  # fmt: skip
    line = filler.count("\n") + 2
    assert found(lint, files=files) == {f"common.yml:{line}:27 {INVALID}"}


def test_a_broken_relative_is_one_finding_in_each_file(lint: Lint) -> None:
    files: dict[str, str | bytes] = {
        "common.yml": "services:\n  app: {cpus: 1\n", "web.yml": extending("common.yml"),
    }  # fmt: skip
    assert found(lint, files=files) == {
        "common.yml:3:1 broken-document",
        f"web.yml:3:21 {UNRESOLVED}",
    }


# ---- comments, rules and baselines


@pytest.mark.parametrize("file", ["web.yml", "common.yml"])
def test_a_comment_in_either_file_counts(lint: Lint, file: str) -> None:
    comment = f"# quota-advisor: ignore[{INVALID}] wanted\n"
    files: dict[str, str] = {"web.yml": extending("common.yml"), "common.yml": BAD}
    done = lint("--format", "json", "web.yml", files={**files, file: comment + files[file]})
    assert done.found() == []
    assert [entry["reason"] for entry in done.report["suppressed"]] == ["wanted"]


def test_a_comment_is_used_where_only_another_file_needs_it(lint: Lint) -> None:
    """The base itself passes: its comment is for those who extend it."""
    comment = "# quota-advisor: ignore[compose-threads-exceed-cpus] measured\n"
    base = "services:\n  app: {image: app, environment: [OMP_NUM_THREADS=8]}\n"
    files: dict[str, str | bytes] = {
        "common.yml": comment + base, "web.yml": extending("common.yml") + "    cpus: 1\n",
    }  # fmt: skip
    assert found(lint, files=files) == set()
    assert found(lint, "common.yml") == {"common.yml:1:1 unused-suppression"}


def test_each_finding_follows_the_rules_for_its_own_file(lint: Lint) -> None:
    config = (
        "overrides:\n- paths: [common.yml]\n  rules: {compose-invalid-cpus: {enabled: false}}\n"
    )
    both = extending("common.yml") + "    cpuset: x\n    cpu_quota: 1\n"
    files: dict[str, str | bytes] = {
        ".quota-advisor.yaml": config, "common.yml": BAD, "web.yml": both,
    }  # fmt: skip
    assert found(lint, files=files) == {f"web.yml:5:16 {INVALID}"}
    other = config.replace("common.yml", "web.yml")
    assert found(lint, files={".quota-advisor.yaml": other}) == {f"common.yml:2:27 {INVALID}"}


def test_a_baseline_holds_wherever_lint_is_called(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = "services:\n  web:\n    deploy: {resources: {limits: {cpus: '2'}}}\n"
    files: dict[str, str | bytes] = {"a/compose.yaml": BASE, "a/compose.override.yaml": over}
    assert lint(files=files).code == 1
    lint("--write-baseline", "known.json")
    assert lint("--baseline", "known.json").code == 0
    monkeypatch.chdir("a")
    Path("compose.yaml").write_text("\n\n" + BASE, encoding="utf-8")
    assert lint("--baseline", "../known.json").code == 0


@pytest.mark.parametrize("jobs", ["2", "5"])
def test_the_number_of_processes_changes_nothing(
    lint: Lint, monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    files: dict[str, str | bytes] = {}
    for n in range(20):
        files |= {
            f"{n:02}/compose.yaml": BASE + "    cpu_quota: 1000\n",
            # Identical copies would be told once.
            f"{n:02}/docker-compose.override.yml": f"# {n}\n{OVERRIDE}",
            f"{n:02}/web.yml": extending("../common.yml"),
            f"{n:02}/alone.yml": f"# {n}\n{BAD}",
        }
    alone = lint("--format", "json", "--jobs", "1", files={**files, "common.yml": BAD})
    assert len(alone.found()) == 41
    monkeypatch.setattr(linting, "SMALL_BYTES", 0)
    assert lint("--format", "json", "--jobs", jobs).out == alone.out


def test_few_files_are_parsed_to_know_what_they_extend() -> None:
    assert may_extend(extending("common.yml").encode())
    assert may_extend(b'{"services": {"a": {"extends": {"file": "b", "service": "c"}}}}')
    assert not may_extend(BASE.encode())
    assert not may_extend(b"apiVersion: v1\nkind: ConfigMap\ndata: {x: services extends file}\n")
    assert not may_extend(b"# licence\napiVersion: v1\n# services extends file\n")
