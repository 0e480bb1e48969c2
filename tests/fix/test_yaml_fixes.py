from __future__ import annotations

import io
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quota_advisor.documents.kubernetes.quantity import parse_cpu
from quota_advisor.documents.reader import read_manifest
from quota_advisor.documents.yaml.split import whole
from quota_advisor.documents.yaml.written import Entry, Span
from quota_advisor.fix import yaml_fixes
from quota_advisor.fix.yaml_changes import Edit, Rename, Shift, edited
from quota_advisor.fix.yaml_fixes import MAX_DOCUMENT_BYTES, fix_yaml
from quota_advisor.fix.yaml_plan import MISPLACED, MISREAD, RULES, Proposal
from quota_advisor.model.manifest import Pod, Scalar
from quota_advisor.model.source import Location
from tests.lint.conftest import Lint

FIXES = Path(__file__).parent / "cases"
MADE = sorted((FIXES / "made").glob("*.before.*"))
LEFT = sorted((FIXES / "left").iterdir())

SILENT = ("kept",)
"""Files in which the rules have nothing to say, because somebody said so."""

TOGETHER = (*SILENT, "aliases", "ephemeral")
"""Files whose containers are left because of each other."""


Form = Callable[[bytes], bytes]


def windows(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def marked(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data


FORMS: dict[str, Form] = {
    "as it is": bytes,
    "line ends of Windows": windows,
    "a byte order mark": marked,
}


def names(paths: list[Path]) -> list[str]:
    return [path.name.partition(".")[0] for path in paths]


# ---- files


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", MADE, ids=names(MADE))
def test_what_is_certain_is_fixed_once_and_for_all(
    lint: Lint, tmp_path: Path, before: Path, form: str
) -> None:
    after = before.with_name(before.name.replace(".before", ".after"))
    name = f"a{before.suffix}"
    lint("--fix", files={name: FORMS[form](before.read_bytes())})
    assert (tmp_path / name).read_bytes() == FORMS[form](after.read_bytes())
    again = lint("--fix")
    assert again.err == ""
    assert (tmp_path / name).read_bytes() == FORMS[form](after.read_bytes())


@pytest.mark.parametrize("path", LEFT, ids=names(LEFT))
def test_what_is_not_certain_stays(lint: Lint, tmp_path: Path, path: Path) -> None:
    before = path.read_bytes()
    done = lint("--fix", "--format", "json", files={path.name: before})
    assert (tmp_path / path.name).read_bytes() == before
    assert "fixed" not in done.err
    found = {rule for _, _, _, rule in done.found()}
    assert bool(found.intersection(RULES)) is (path.stem not in SILENT)


def test_none_of_them_stays_only_because_another_does() -> None:
    for path in LEFT:
        head, *items = re.split(rb"(?=\n  - )", path.read_bytes().rstrip(b"\n"))
        for item in items if path.stem not in TOGETHER else ():
            alone = head + item + b"\n"
            assert fix_everything(alone) == alone, alone.decode()


# ---- the command


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: a
    image: app
    limits: {cpu: 010}
    env: []
"""


GOOD = POD.replace("limits: {cpu: 010}", "resources: {limits: {cpu: 1}}")


def test_a_preview_is_a_diff_that_changes_nothing(lint: Lint, tmp_path: Path) -> None:
    done = lint("--diff", "--format", "json=r.json", files={"k8s/a.yaml": POD})
    assert done.code == 1
    assert (tmp_path / "k8s/a.yaml").read_text() == POD
    assert done.out == (
        "--- a/k8s/a.yaml\n"
        "+++ b/k8s/a.yaml\n"
        "@@ -5,5 +5,6 @@\n"
        "   containers:\n"
        "   - name: a\n"
        "     image: app\n"
        "-    limits: {cpu: 010}\n"
        "+    resources:\n"
        "+      limits: {cpu: 8}\n"
        "     env: []\n"
    )
    assert done.err == (
        "would fix k8s/a.yaml:8: limits was ignored in the container; in its resources it takes"
        " effect\n"
        "would fix k8s/a.yaml:9: 010 is read as 8: written so, what is in force stays\n"
    )
    assert (tmp_path / "r.json").is_file()


def test_the_rest_is_reported_after_fixing(lint: Lint) -> None:
    text = POD.replace("env: []", "cpu: 1")
    done = lint("--fix", "--format", "json", files={"a.yaml": text})
    assert done.code == 1
    assert done.found() == [
        ("a.yaml", 9, 21, "static-cpu-near-miss"),
        ("a.yaml", 10, 5, "resources-misplaced"),
    ]
    memory = POD.replace("cpu: 010", "cpu: 010, memory: 1Gi")
    assert lint("--fix", files={"a.yaml": memory}).code == 0


def test_the_mode_stays(lint: Lint, tmp_path: Path) -> None:
    lint(files={"real/a.yaml": POD})
    path = tmp_path / "real/a.yaml"
    path.chmod(0o640)
    assert lint("real/a.yaml", "--fix").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert "limits: {cpu: 8}" in path.read_text()
    assert [p.name for p in path.parent.iterdir()] == ["a.yaml"]


def test_one_file_that_cannot_be_changed_stops_no_other(lint: Lint, tmp_path: Path) -> None:
    lint(files={"a.yaml": POD, "b.yaml": POD})
    (tmp_path / "twin").hardlink_to(tmp_path / "a.yaml")
    done = lint("--fix")
    assert done.code == 3
    assert "could not change a.yaml: it has several hard links\n" in done.err
    assert (tmp_path / "a.yaml").read_text() == POD
    assert "limits: {cpu: 8}" in (tmp_path / "b.yaml").read_text()


def test_units_quadlets_and_manifests_are_fixed_together(lint: Lint, tmp_path: Path) -> None:
    files = {
        "a.yaml": POD,
        "b.service": "[Service]\nCPUQuota=050%\n",
        "c.container": "[Container]\nImage=a\n[Service]\nCPUQuota=050%\ncpuweight=5\n",
    }
    done = lint("--fix", files=files)
    assert done.err.count("fixed ") == 4
    assert "limits: {cpu: 8}" in (tmp_path / "a.yaml").read_text()
    assert (tmp_path / "b.service").read_text() == "[Service]\nCPUQuota=40%\n"
    # What else sets the weight of a quadlet may stand in a drop-in.
    fixed = files["c.container"].replace("050%", "40%")
    assert (tmp_path / "c.container").read_text() == fixed


def test_a_stream_is_left_alone(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(POD.encode())))
    done = lint("-", "--fix")
    assert (done.code, "fixed" in done.err) == (1, False)


def test_a_rule_that_is_left_out_fixes_nothing(lint: Lint, tmp_path: Path) -> None:
    lint("--fix", "--ignore", MISPLACED, files={"a.yaml": POD})
    assert (tmp_path / "a.yaml").read_text() == POD


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_text_of_another_encoding_is_left_alone(lint: Lint, tmp_path: Path, encoding: str) -> None:
    data = ("# größer\n" + POD).encode(encoding)
    lint("--fix", files={"a.yaml": data})
    assert (tmp_path / "a.yaml").read_bytes() == data


@pytest.mark.parametrize("line_end", ["\r", "\x85", "\u2028"])
def test_line_ends_of_yaml_alone_are_left_alone(lint: Lint, tmp_path: Path, line_end: str) -> None:
    data = f"# a{line_end}# b\n{POD}".encode()
    lint("--fix", files={"a.yaml": data})
    assert (tmp_path / "a.yaml").read_bytes() == data


def test_files_that_were_joined_with_their_marks_are_left_alone(lint: Lint, tmp_path: Path) -> None:
    data = f"{GOOD}---\n\ufeff{POD}".encode()
    done = lint("--fix", "--format", "json", files={"a.yaml": data})
    assert (tmp_path / "a.yaml").read_bytes() == data
    assert len(done.found()) > 1


def test_a_broken_document_stops_no_other(lint: Lint, tmp_path: Path) -> None:
    broken = "apiVersion: v1\nkind: Pod\nspec: {containers: [\n"
    lint("--fix", files={"a.yaml": f"{broken}---\n{POD}---\n{broken}"})
    after = (tmp_path / "a.yaml").read_text()
    assert after.startswith(f"{broken}---\n")
    assert after.endswith(f"---\n{broken}")
    assert "limits: {cpu: 8}" in after


def test_places_after_a_document_that_grew_are_those_of_the_new_file() -> None:
    data = f"{POD}---\n{POD}".encode()
    fixed = fix_yaml("a.yaml", data, everything(data))
    assert fixed is not None
    assert [(s.was.line, s.now.line, s.now.column) for s in fixed.settled] == [
        (8, 9, 7),
        (18, 20, 7),
    ]


def test_a_large_document_is_left_alone() -> None:
    filler = "# " + "x" * 60 + "\n"
    most = MAX_DOCUMENT_BYTES - len(POD)
    small = (POD + filler * (most // len(filler))).encode()
    large = small + filler.encode()
    assert fix_everything(small) != small
    assert fix_everything(large) == large


@pytest.mark.parametrize(
    ("text", "proven"),
    [
        ("a: {cpus: 1}\nb: 1\n", True),
        ("a: &a {cpus: 1}\nb: *a\n", False),
        ("a: {cpus: 1, <<: {cpu: 2}}\nb: 1\n", False),
        ("a: {cpus: 1, cpu: 2}\nb: 1\n", False),
    ],
)
def test_a_change_that_does_more_than_it_says_is_not_made(text: str, *, proven: bool) -> None:
    data = text.encode()
    document = yaml_fixes._read("a.yaml", data, whole(data), set())
    assert document is not None
    key = Span(text.index("cpus"), text.index("cpus") + 4, 1, text.index("cpus") + 1)
    entry = Entry("cpus", key, key, 0, shared=False)
    proposal = Proposal(Rename(("a",), entry, "cpu"), ())
    assert bool(yaml_fixes._proven(document, [proposal])) is proven


# ---- properties


def everything(data: bytes) -> set[tuple[str, Location]]:
    """Ask for every fix that there could be."""
    found = set()
    for pod in read_manifest("a.yaml", data):
        if isinstance(pod, Pod):
            found |= {(MISPLACED, pod.at(misplaced)) for misplaced in pod.misplaced}
            found |= {(MISREAD, pod.at(amount)) for _, amount in amounts(pod)}
    return found


def amounts(pod: Pod) -> Iterator[tuple[tuple[str, str], Scalar]]:
    for container in pod.containers:
        for side in ("limits", "requests"):
            cpu = getattr(container.resources, side).get("cpu")
            if cpu is not None:
                yield (container.name, side), cpu


def fix_everything(data: bytes) -> bytes:
    for _ in range(10):
        fixed = fix_yaml("a.yaml", data, everything(data))
        if fixed is None:
            return data
        assert fixed.data != data
        data = fixed.data
    raise AssertionError("there is always one more thing to fix")


NUMBERS = st.sampled_from(["500m", "1", '"2"', "1500m", "010", "0x10", "'0.1k'", "1.5", "50%", ""])
CPU = st.sampled_from(["cpu", "cpus", "CPU", '"cpus"', "'Cpu'"])
SIDES = st.sampled_from(["limits", "requests", '"limits"', "limit", "Requests"])
COMMENTS = st.sampled_from(["", "", "", "# one", "#two: {", "", "  # - three"])
STEPS = st.sampled_from([2, 3, 4])


def block(key: str, inner: list[str], step: int, comment: str) -> list[str]:
    return [f"{key}:  {comment}".rstrip(), *(" " * step + line if line else "" for line in inner)]


@st.composite
def sides(draw: st.DrawFn) -> list[str]:
    key, cpu, number = draw(SIDES), draw(CPU), draw(NUMBERS)
    entries = [f"{cpu}: {number}".rstrip()]
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, 1)), "memory: 1Gi")
    if draw(st.booleans()):
        return [f"{key}: {{{', '.join(entries)}}}  {draw(COMMENTS)}".rstrip()]
    lines = [line for entry in entries for line in (draw(COMMENTS), f"{entry}  {draw(COMMENTS)}")]
    return block(key, [*(line.rstrip() for line in lines), draw(COMMENTS)], draw(STEPS), "")


@st.composite
def containers(draw: st.DrawFn) -> list[str]:
    inner: list[str] = []
    parts = [[f"name: c{draw(st.integers(0, 9))}"], ["image: app"]]
    for _ in range(draw(st.integers(0, 3))):
        side = draw(sides())
        if draw(st.booleans()):
            inner += side
        else:
            parts.insert(draw(st.integers(0, len(parts))), side)
    if draw(st.booleans()) or inner:
        name = draw(st.sampled_from(["resources", "resources", "resource"]))
        resources = block(name, inner, draw(STEPS), draw(COMMENTS))
        parts.insert(draw(st.integers(0, len(parts))), resources)
    first, *lines = parts[0] + [line for part in parts[1:] for line in (draw(COMMENTS), *part)]
    return [f"- {first}", *("  " + line if line else "" for line in lines)]


@st.composite
def pods(draw: st.DrawFn) -> bytes:
    lines = ["apiVersion: v1", "kind: Pod", "metadata: {name: a}", "spec:", "  containers:"]
    for container in draw(st.lists(containers(), min_size=1, max_size=3)):
        lines += ["    " + line if line else "" for line in container]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join([*lines, ""] if draw(st.booleans()) else lines).encode()


def meaning(data: bytes) -> Counter[Any]:
    """Return every word of a document that is no name of resources, and what amounts are worth."""
    words = re.findall(r"#[^\r\n]*|[^\s{}:,]+", data.decode())
    found: Counter[Any] = Counter()
    for word in words:
        bare = word.strip("'\"")
        if word.startswith("#"):
            found[word] += 1
        elif bare in ("cpu", "cpus", "CPU", "Cpu"):
            found["cpu"] += 1
        elif bare.lower() in ("limits", "limit"):
            found["limits"] += 1
        elif bare.lower() == "requests":
            found["requests"] += 1
        elif bare not in ("resources", "resource"):
            found[parse_cpu(Scalar(bare, word == bare, 0, 0))] += 1
    return found


def comments(data: bytes) -> list[str]:
    return [line.strip() for line in re.findall(r"#[^\r\n]*", data.decode())]


def in_force(data: bytes) -> Counter[Any]:
    return Counter(
        (where, parse_cpu(amount))
        for pod in read_manifest("a.yaml", data)
        if isinstance(pod, Pod)
        for where, amount in amounts(pod)
    )


@given(pods())
@example(POD.encode())
def test_fixes_end_and_change_nothing_but_what_they_say(before: bytes) -> None:
    after = fix_everything(before)
    assert fix_everything(after) == after
    assert meaning(after) == meaning(before)
    assert comments(after) == comments(before)
    assert after.count(b"\r\n") in (0, after.count(b"\n"))
    assert (b"\r" in after) == (b"\r" in before)
    # What was in force stays in force; only what was ignored may join it.
    assert in_force(before) <= in_force(after)
    # Lines only gain an indent, another name, or a line above them.
    shape = [re.sub(rb"\W", b"", line) for line in before.splitlines() if line.strip()]
    assert len([line for line in after.splitlines() if line.strip()]) - len(shape) == (
        after.count(b"resources:") - before.count(b"resources:") - renamed(before, after)
    )


def renamed(before: bytes, after: bytes) -> int:
    return before.count(b"resource:") - after.count(b"resource:")


@given(st.binary(max_size=200))
def test_no_content_breaks_fixing(data: bytes) -> None:
    for text in (data, POD.encode() + b"---\n" + data, POD.encode() + data):
        wanted = {
            (rule, Location(file="a.yaml", line=line, column=column))
            for rule in RULES
            for line in range(1, 15)
            for column in (1, 3, 5, 13, 14)
        }
        fix_yaml("a.yaml", text, wanted)


EDITS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2), st.text("xy", max_size=3)))


@given(st.text("abc", min_size=40, max_size=40), EDITS)
def test_characters_are_found_where_edits_have_put_them(text: str, drawn: Any) -> None:
    edits, free = [], 0
    for at, length, new in sorted(drawn):
        if at >= free and (length or new):
            edits.append(Edit(at, text[at : at + length], new))
            free = at + length + 1
    after, shift = edited(text, edits), Shift(edits)
    gone = {i for at, old, _ in edits for i in range(at, at + len(old))}
    assert all(after[shift.of(i)] == text[i] for i in range(len(text)) if i not in gone)
    assert len(after) == shift.of(len(text))
