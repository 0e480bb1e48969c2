"""The page of each rule and their index, made from the rulebook and the fixtures.

The example that fires is the smallest case that does; the one that does not is, of the silent cases
of the same sort, the most like it, so that what makes the difference shows. A case that says
``example: true`` goes before all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from quota_advisor import checks
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import CHECKS
from tests.rules.cases import Case, Expectation, Expected, cases

MAX_LINKS = 5
"""Tests that a page links to, its examples among them; the directory has the rest."""

MAX_SILENT_LINES = 30
"""What a page shows of a file in which nothing is found: much of the same comes after."""

MAX_WIDTH = 160
"""What a page shows of a line; those of hostile files have no end."""

HEADINGS = {
    "host": "What runs on a host",
    "units": "Unit files and quadlets",
    "kubernetes": "Kubernetes",
    "compose": "Compose",
    "texts": "Texts and comments",
}
"""By the folder of ``quota_advisor/checks`` that a rule's function lies in."""

_TO_TESTS = "../../tests/rules"
_LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
_SWITCHES = {
    "limits": "--limits",
    "node_cpus": "--node-cpus",
    "kubernetes": "--kubernetes-version",
}


@dataclass(frozen=True, slots=True)
class _Shown:
    """A case with what is read of it once."""

    case: Case
    expectation: Expectation

    @property
    def is_silent(self) -> bool:
        """Whether the rule looks and finds nothing."""
        return not self.expectation.expect and not self.expectation.skips

    @property
    def files(self) -> list[Path]:
        """What is judged, file by file."""
        judged = self.case.judged
        return [judged] if judged.is_file() else sorted(p for p in judged.rglob("*") if p.is_file())

    @property
    def lines(self) -> list[str]:
        """All that is judged."""
        return [line for f in self.files for line in f.read_text("utf-8", "replace").splitlines()]

    @property
    def sort(self) -> str:
        """How it is read."""
        return "".join(self.case.judged.suffixes[-2:])


def rule_page(rule: Rule) -> str:
    """Return the page of a rule."""
    return "\n".join(_page(rule, [_Shown(case, case.read()) for case in cases(rule.id)]))


def rule_index(rules: Sequence[Rule]) -> str:
    """Return the tables of all rules, grouped as their functions are."""
    lines = ["# Rules", ""]
    folders = {rule.id: CHECKS[rule.id][1].__module__.split(".")[2] for rule in rules}
    for folder, heading in HEADINGS.items():
        lines += [f"## {heading}", "", "| rule | applies to | severity | what it finds |"]
        lines += ["|---|---|---|---|"]
        lines += [
            f"| [{r.id}]({r.id}.md) | {', '.join(r.applies_to)} | {r.severity} | {r.title} |"
            for r in rules
            if folders[r.id] == folder
        ]
        lines.append("")
    return "\n".join(lines)


def _page(rule: Rule, shown: Sequence[_Shown]) -> Iterator[str]:
    yield from (f"# {rule.id}", "", f"{rule.title}.", "")
    yield from ("<!-- made from the rulebook and the fixtures: make generate -->", "")
    yield from (
        "| applies to | severity | confidence | `lint --fix` | since |",
        "|---|---|---|---|---|",
    )
    fixes = "where it is certain" if rule.fixable else "no"
    applies_to = ", ".join(rule.applies_to)
    yield f"| {applies_to} | {rule.severity} | {rule.confidence} | {fixes} | {rule.since} |"
    yield ""
    yield from _section("Why it matters", rule.why)
    yield from _section("How to fix it", rule.fix)
    yield from _section("When it stays silent", rule.silent)
    yield from _options(rule)
    fires = _fires(shown)
    silent = _silent(shown, fires)
    yield from ("## An example that fires", "", *_example(fires))
    yield from ("## An example that does not", "", *_example(silent))
    yield from _links(rule, shown, (fires, silent))
    if rule.references:
        yield from ("## References", "", *(f"- {text}" for text in rule.references), "")


def _section(heading: str, text: str) -> list[str]:
    return [f"## {heading}", "", text.strip(), ""]


def _options(rule: Rule) -> Iterator[str]:
    if rule.options:
        yield from ("## Options", "", "| option | default | unit | meaning |", "|---|---|---|---|")
        for name, option in rule.options.items():
            text = " ".join(option.help.split())
            yield f"| `{name}` | {option.default:g} | {option.unit} | {text} |"
        yield ""


def _fires(shown: Sequence[_Shown]) -> _Shown:
    """Return the smallest case in which the rule finds something."""
    return min(
        (one for one in shown if one.expectation.expect),
        key=lambda one: (
            not one.expectation.example,
            one.case.judged.is_dir(),
            len(one.lines),
            one.case.name,
        ),
    )


def _silent(shown: Sequence[_Shown], fires: _Shown) -> _Shown:
    """Return the silent case that is most like the one that fires."""

    def unlike(one: _Shown) -> float:
        return 1 - SequenceMatcher(None, "\n".join(fires.lines), "\n".join(one.lines)).ratio()

    return min(
        (one for one in shown if one.is_silent),
        key=lambda one: (
            not one.expectation.example,
            one.sort != fires.sort,
            unlike(one),
            one.case.name,
        ),
    )


def _example(one: _Shown) -> Iterator[str]:
    """Yield a case: why it exists, what is judged, and what is said of it."""
    comment = one.case.expect.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    form = f" (facts of a host in [short form]({_TO_TESTS}/README.md))" * one.case.is_host
    form += " (objects as the API server lists them)" * one.case.is_cluster
    yield from (f"{_link(one.case)}{form}: {comment}", "")
    for file in one.files:
        if one.case.judged.is_dir():
            yield from (f"`{file.relative_to(one.case.judged.parent)}`", "")
        lines = file.read_text("utf-8", "replace").splitlines()
        most = len(lines) if one.expectation.expect else MAX_SILENT_LINES
        yield f"```{_LANGUAGES.get(file.suffix, 'ini')}"
        yield from (*map(_clipped, lines[:most]), "```", "")
        if more := lines[most:]:
            yield from (f"… and {len(more)} lines more.", "")
    switches = " ".join(_switches(one.expectation))
    found = one.expectation.expect
    told = f"Found with `{switches}`:" if switches else "Found:"
    yield from (told if found else told.replace("Found", "Nothing found").replace(":", "."), "")
    yield from (*map(_finding, found), "") if found else ()


def _clipped(line: str) -> str:
    return line if len(line) <= MAX_WIDTH else f"{line[:MAX_WIDTH]} …"


def _finding(found: Expected) -> str:
    file = f" of {found.file}" if found.file is not None else ""
    place = f", line {found.line}{file}" if found.line is not None else ""
    return f"- **{found.severity}**, {found.subject}{place}: {found.message}"


def _switches(expectation: Expectation) -> Iterator[str]:
    for name, switch in _SWITCHES.items():
        if name in expectation.model_fields_set:
            value = getattr(expectation, name)
            yield f"{switch} {value:g}" if isinstance(value, float) else f"{switch} {value}"


def _links(rule: Rule, shown: Sequence[_Shown], examples: Sequence[_Shown]) -> Iterator[str]:
    others = [one for one in shown if one not in examples][: MAX_LINKS - len(examples)]
    if others:
        yield from ("## More tests", "", *(f"- {_link(one.case)}" for one in others))
        if len(shown) > MAX_LINKS:
            yield f"- [all {len(shown)}]({_TO_TESTS}/{rule.id})"
        yield ""


def _link(case: Case) -> str:
    return f"[{case.name.replace('-', ' ')}]({_TO_TESTS}/{case.rule}/{case.judged.name})"


checks.load_all()
