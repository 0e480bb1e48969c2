from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quota_advisor.cli import run
from tests.lint.conftest import Lint
from tests.lint.samples import BAD_UNIT, GOOD_UNIT, deployment

BAD = deployment()
GOOD = deployment(request="100m", limit="200m")


def test_nothing_found_is_0(lint: Lint) -> None:
    done = lint(files={"a.service": GOOD_UNIT})
    assert (done.code, done.out, done.err) == (0, "nothing found\n", "")


def test_a_finding_is_1_and_stands_on_standard_output(lint: Lint) -> None:
    done = lint("a.yaml", files={"a.yaml": BAD})
    assert done.code == 1
    assert done.out.startswith("a.yaml:14:18: error: container 'main' requests 500m")
    assert done.err == ""


def test_fail_on_decides_what_makes_it_1(lint: Lint) -> None:
    assert lint("--fail-on", "never", files={"a.yaml": BAD}).code == 0
    assert lint("--fail-on", "info", files={"a.yaml": GOOD}).code in (0, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "xml"],
        ["--format", "json", "--format", "sarif"],
        ["--select", "no-such-rule"],
        ["--jobs", "0"],
        ["--limits", "sometimes"],
        ["--kubernetes-version", "new"],
        ["--fix", "--diff"],
        ["--no-such-option"],
        ["--baseline", "nowhere.json"],
        ["--config", "nowhere.yaml"],
    ],
)
def test_wrong_usage_is_2_and_one_or_two_lines_of_standard_error(
    lint: Lint, arguments: list[str]
) -> None:
    done = lint(*arguments, files={"a.yaml": BAD})
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err


def test_what_could_not_be_read_is_3_and_the_rest_is_judged(lint: Lint) -> None:
    done = lint("nowhere.yaml", "a.yaml", files={"a.yaml": BAD})
    assert done.code == 3
    assert "a.yaml:14:18: error" in done.out
    assert done.err == "could not read nowhere.yaml: no such file or directory\n"


def test_a_file_that_vanishes_between_finding_and_reading_is_3(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quota_advisor.checkout import chunks  # noqa: PLC0415

    def gone(_file: object) -> bytes:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(chunks, "read_input", gone)
    assert lint("a.yaml", files={"a.yaml": BAD}).code == 3


def test_a_defect_in_reading_one_file_is_3_and_the_others_are_judged(
    lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quota_advisor.documents.reader import read_manifest as original  # noqa: PLC0415
    from quota_advisor.lint import judge  # noqa: PLC0415

    def broken(name: str, data: bytes) -> object:
        if name == "a.yaml":
            raise ZeroDivisionError("planted")
        return original(name, data)

    monkeypatch.setattr(judge, "read_manifest", broken)
    done = lint(files={"a.yaml": BAD, "b.yaml": BAD})
    assert done.code == 3
    assert "b.yaml:14:18" in done.out
    assert "please report: ZeroDivisionError: planted" in done.err


def test_a_directory_without_anything_to_judge_is_a_note(lint: Lint) -> None:
    done = lint(files={"README.md": "# x"})
    assert done.code == 0
    assert "no file to judge" in done.err


def test_several_formats_at_once(lint: Lint, tmp_path: Path) -> None:
    files = ("json=r.json", "sarif=r.sarif", "junit=r.xml", "github=r.txt", "markdown=r.md")
    options = [part for file in files for part in ("--format", file)]
    done = lint("a.yaml", *options, "--format", "table", files={"a.yaml": BAD})
    assert done.out.startswith("a.yaml:14:18: error")
    assert json.loads((tmp_path / "r.json").read_text())["command"] == "lint"
    assert json.loads((tmp_path / "r.sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "r.xml").read_text().startswith("<?xml")
    assert (tmp_path / "r.txt").read_text().startswith("::error file=a.yaml")
    assert (tmp_path / "r.md").read_text().startswith("# quota-advisor lint")


def test_standard_output_holds_nothing_but_the_report(lint: Lint) -> None:
    done = lint("nowhere", "a.yaml", "--format", "json", "-v", files={"a.yaml": BAD})
    assert json.loads(done.out)["summary"]["error"] == 1


def test_select_and_ignore(lint: Lint) -> None:
    files = {"a.yaml": BAD, "a.service": BAD_UNIT}
    assert len(lint("--select", "misread-cpu-quota", files=files).lines) == 1
    done = lint("--ignore", "misread-cpu-quota", "--format", "json")
    assert "misread-cpu-quota" not in {rule for *_, rule in done.found()}


def test_the_house_rule_for_limits(lint: Lint) -> None:
    bare = deployment().split("        resources:")[0]
    assert "cpu-limit-missing" not in lint(files={"a.yaml": bare}).out
    assert "cpu-limit-missing" in lint("--limits", "required").out
    assert "cpu-limit-forbidden" in lint("--limits", "forbidden", files={"a.yaml": BAD}).out


def test_the_size_of_a_node_and_the_version_of_the_cluster(lint: Lint) -> None:
    large = {"a.yaml": deployment(request="6", limit="8")}
    assert "limit-exceeds-node" in lint("--node-cpus", "4", files=large).out
    assert "limit-exceeds-node" not in lint("--node-cpus", "64").out
    lint("--kubernetes-version", "v1.30.2")


def test_limit_ranges_count_wherever_they_stand_in_the_input(lint: Lint) -> None:
    bare = deployment().split("        resources:")[0]
    bare = bare.replace("  name: api\n", "  name: api\n  namespace: shop\n", 1)
    limits = (
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: d, namespace: shop}\n"
        "spec:\n  limits:\n  - {type: Container, default: {cpu: 500m}}\n"
    )
    alone = lint("a.yaml", "--limits", "required", "--format", "json", files={"a.yaml": bare})
    assert "cpu-limit-missing" in {rule for *_, rule in alone.found()}
    files = {"z/limits.yaml": limits}
    together = lint("--limits", "required", "--format", "json", "--jobs", "2", files=files)
    assert "cpu-limit-missing" not in {rule for *_, rule in together.found()}


def test_suppressions_need_a_reason_and_a_purpose(lint: Lint) -> None:
    def with_comment(rule: str, reason: str) -> dict[str, str | bytes]:
        comment = f"# quota-advisor: ignore[{rule}] {reason}"
        return {"a.yaml": BAD.replace("    spec:", f"    spec: {comment}")}

    done = lint("-v", files=with_comment("request-exceeds-limit", "agreed with the team"))
    assert done.code == 0
    assert "left out: agreed with the team [request-exceeds-limit]" in done.out
    without = lint(files=with_comment("request-exceeds-limit", ""))
    assert "suppression-without-reason" in without.out
    assert "[request-exceeds-limit]" in without.out
    assert "unused-suppression" in lint(files=with_comment("limit-below-10m", "none here")).out


def test_a_comment_leaves_out_remarks_about_its_own_document_only(lint: Lint) -> None:
    twice = GOOD.replace("kind:", "kind: Job\nkind:")
    comment = "# quota-advisor: ignore[duplicate-key] made so by a tool\n"
    done = lint("-v", files={"a.yaml": f"{twice}---\n{comment}{twice}"})
    assert [line for line in done.lines if "duplicate-key" in line] == [
        "a.yaml:3:1: warning: the key 'kind' is written twice; the later one counts [duplicate-key]"
    ]
    assert ": left out: made so by a tool [duplicate-key]" in done.out
    assert "unused-suppression" not in done.out
    broken = lint(files={"a.yaml": f"{comment}kind: Pod\nspec: {{containers: [\n"})
    assert "[broken-document]" in broken.out


def test_what_could_not_be_judged_is_listed_once_a_kind_unless_verbose(lint: Lint) -> None:
    files = {f"{name}.kube": "[Service]\nCPUQuota=50%\n" for name in ("a", "b")}
    brief = lint("--format", "json", files=files).report["skipped"]
    kinds = [(skip["rule"], skip["reason"]) for skip in brief]
    assert len(kinds) == len(set(kinds))
    assert len(lint("--format", "json", "--verbose").report["skipped"]) > len(brief)


def test_a_hostile_name_cannot_forge_a_line(lint: Lint) -> None:
    name = "a\n::error::forged.yaml"
    done = lint("--format", "github", files={name: BAD})
    assert not any(line.startswith("::error::forged") for line in done.out.splitlines())


def test_an_interrupted_reader_of_the_output_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("---\n".join(deployment(f"app-{n}") for n in range(2000)))
    with subprocess.Popen(
        [sys.executable, "-m", "quota_advisor", "lint", "--jobs", "2", "a.yaml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--help"]) == 0
    text = capsys.readouterr().out
    for option in ("--fix", "--diff", "--baseline", "--jobs", "--stdin-name", "--exclude"):
        assert option in text
    assert "--wide" not in text


def test_limit_ranges_of_other_directories_do_not_crowd_out_one(lint: Lint) -> None:
    limits = (
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: d}\n"
        "spec:\n  limits:\n  - {type: Container, default: {cpu: 500m}}\n"
    )
    files: dict[str, str | bytes] = {f"team{n:02}/limits.yaml": limits for n in range(40)}
    bare = deployment().split("        resources:")[0]
    files["team39/all.yaml"] = f"{limits}---\n{bare}"
    assert lint("--limits", "required", files=files).out == "nothing found\n"
