"""Write what a new rule starts from: prose, function, two cases, its line in the table of modules.

All of it runs at once, and what is left to fill in fails a test: the case that fires, each TODO.
"""

from __future__ import annotations

import argparse
import ast
import keyword
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CHECKS = TOP / "quota_advisor" / "checks"
TABLE = CHECKS / "__init__.py"

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: app
      resources: {limits: {cpu: 500m}}
"""
RUNNING = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: app
      resources: {limits: {cpu: 500m}}
status: {phase: Running}
"""
KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuCFSQuota: true
"""
COMPOSE = """\
services:
  web: {image: app, cpus: 0.5}
"""
UNIT = """\
[Service]
CPUQuota=50%
"""
QUADLET = """\
[Container]
Image=app

[Service]
CPUQuota=50%
"""
HOST = """\
cgroups:
  /batch.slice: {limit: 50000 100000}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A type of subject.

    Attributes:
        folder: Where its checks lie in ``checks/``.
        name: What a check calls what it is given.
        applies_to: The word for it in the prose of a rule.
        found: What a finding says besides its message: mostly where the value to blame stands.
        suffix: Of what a case of it is.
        sample: What a case starts from.
        subject: What a finding in the sample names.
    """

    folder: str
    name: str
    applies_to: str
    found: str
    suffix: str
    sample: str
    subject: str


SUBJECTS = {
    "PodCase": Judged(
        folder="kubernetes",
        name="case",
        applies_to="pods",
        found="location=case.pod.at(…)",
        suffix=".yaml",
        sample=POD,
        subject="Pod web",
    ),
    "LiveCase": Judged(
        folder="kubernetes",
        name="case",
        applies_to="running pods",
        found="evidence=(Evidence(…),)",
        suffix=".cluster.yaml",
        sample=RUNNING,
        subject="Pod web",
    ),
    "KubeletConfig": Judged(
        folder="kubernetes",
        name="config",
        applies_to="kubelet configuration",
        found="location=config.at(…)",
        suffix=".yaml",
        sample=KUBELET,
        subject="KubeletConfiguration fires.yaml",
    ),
    "ComposeCase": Judged(
        folder="compose",
        name="case",
        applies_to="compose services",
        found="location=case.service.at(…)",
        suffix=".yaml",
        sample=COMPOSE,
        subject="compose-service web",
    ),
    "UnitConfig": Judged(
        folder="units",
        name="unit",
        applies_to="units",
        found="location=assignment.value_location",
        suffix=".service",
        sample=UNIT,
        subject="service fires.service",
    ),
    "QuadletCase": Judged(
        folder="units",
        name="case",
        applies_to="quadlets",
        found="location=assignment.value_location",
        suffix=".container",
        sample=QUADLET,
        subject="quadlet fires.container",
    ),
    "Workload": Judged(
        folder="host",
        name="workload",
        applies_to="workloads",
        found="evidence=(Evidence(…),)",
        suffix=".facts.yaml",
        sample=HOST,
        subject="slice batch.slice",
    ),
    "Host": Judged(
        folder="host",
        name="host",
        applies_to="hosts",
        found="evidence=(Evidence(…),)",
        suffix=".facts.yaml",
        sample=HOST,
        subject="node host",
    ),
}

PROSE = """\
id: {id}
title: "TODO: what it finds, at most 60 characters"
severity: warning
confidence: high
since: "{version}"
applies_to: [{applies_to}]
why: |
  TODO: what happens, with numbers.
fix: |
  TODO: what to do about it.
silent: |
  TODO: when it says nothing although something may look wrong.
references:
  - "TODO: where the facts are documented"
"""
FUNCTION = '''\
"""TODO: what the rules in this file are about; or move the function to others of its kind."""

from __future__ import annotations

from {home} import {type}
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Verdicts, check


@check({type})
def {function}({name}: {type}, rule: Rule) -> Verdicts:
    """Find TODO."""
    # TODO: yield Hit(message=…, {found}) for what is wrong,
    # and Skip(reason) where it cannot tell. Others of this folder show how.
    yield from ()
'''
FIRES = """\
# TODO: why this case exists
expect:
  - severity: warning
    subject: {subject}
    message: "TODO: what the rule says; REWRITE_FIXTURES=1 writes what it does say"
"""
SILENT = "# TODO: why this case exists\nexpect: []\n"

NEXT = """\
Now fill in what says TODO, in this order:
  rules/{id}.yaml                      what, why, how, when not, which thresholds
  {module}   the condition
  tests/rules/{id}/     cases around each threshold
make generate, a line in CHANGELOG.md, and: python -m pytest tests/rules tests/rulebook -k {id}"""


def main() -> int:
    """Write the files of a new rule, or say why not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("id", help="name of the rule: lower case with dashes")
    parser.add_argument("subject", choices=SUBJECTS, help="type of subject that it judges")
    arguments = parser.parse_args()
    refusal = next(refusals(arguments.id), None)
    if refusal is not None:
        print(f"new-rule: {refusal}", file=sys.stderr)
        return 2
    write(arguments.id, arguments.subject)
    module = module_of(arguments.id, SUBJECTS[arguments.subject]).relative_to(TOP)
    print(NEXT.format(id=arguments.id, module=module))
    return 0


def refusals(rule: str) -> Iterator[str]:
    """Yield why no rule can be called that."""
    if re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", rule) is None or keyword.iskeyword(rule):
        yield f"{rule!r} is no name of a rule: lower case with dashes, a letter first"
    if (TOP / "rules" / f"{rule}.yaml").exists() or (TOP / "tests" / "rules" / rule).exists():
        yield f"there is a rule {rule!r} already"
    function = rule.replace("-", "_")
    for path in CHECKS.rglob("*.py"):
        if path.stem == function or f"\ndef {function}(" in path.read_text(encoding="utf-8"):
            yield f"{path.relative_to(TOP)} has that name already"


def module_of(rule: str, judged: Judged) -> Path:
    """Return where the function of a rule is written."""
    return CHECKS / judged.folder / f"{rule.replace('-', '_')}.py"


def write(rule: str, kind: str) -> None:
    """Write the files of a rule that does not exist yet."""
    judged = SUBJECTS[kind]
    words = {
        "id": rule,
        "function": rule.replace("-", "_"),
        "type": kind,
        "version": version(),
        "home": home(kind),
        "name": judged.name,
        "found": judged.found,
        "applies_to": judged.applies_to,
        "subject": judged.subject,
    }
    cases = TOP / "tests" / "rules" / rule
    cases.mkdir()
    for path, text in (
        (TOP / "rules" / f"{rule}.yaml", PROSE.format(**words)),
        (module_of(rule, judged), FUNCTION.format(**words)),
        (cases / f"fires{judged.suffix}", judged.sample),
        (cases / "fires.expect.yaml", FIRES.format(**words)),
        (cases / f"silent{judged.suffix}", judged.sample),
        (cases / "silent.expect.yaml", SILENT),
    ):
        path.write_text(text, encoding="utf-8")
    enter(kind, f"{judged.folder}.{words['function']}")


def home(kind: str) -> str:
    """Return the module that a type of subject comes from."""
    for room in ("model", "derive"):
        for path in sorted((TOP / "quota_advisor" / room).rglob("*.py")):
            if re.search(rf"^class {kind}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
                return ".".join(path.relative_to(TOP).with_suffix("").parts)
    raise SystemExit(f"new-rule: nothing in quota_advisor is called {kind}")


def version() -> str:
    """Return the version that the rule comes with."""
    text = (TOP / "quota_advisor" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None  # noqa: S101 - the build reads it there as well
    return found[1]


def enter(kind: str, module: str) -> None:
    """Add a module to the table of those that judge a type of subject."""
    text = TABLE.read_text(encoding="utf-8")
    old = next(
        value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == kind
    )
    source = ast.get_source_segment(text, old)
    assert source is not None  # noqa: S101 - it was parsed from this text
    names = sorted({*ast.literal_eval(source), module})
    lines = "".join(f'        "{name}",\n' for name in names)
    TABLE.write_text(text.replace(f'"{kind}": {source}', f'"{kind}": (\n{lines}    )'), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
