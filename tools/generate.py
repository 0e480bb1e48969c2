"""Write the files that are made from others, or check that they are current.

The compiled rulebook comes from the rules, their pages from these and the fixtures, JSON schemas
from the models, the help texts of the README from the program.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pydantic
from typing_extensions import is_typeddict

from quota_advisor.audit.snapshot_file import Snapshot
from quota_advisor.cli import cli
from quota_advisor.k8s.snapshot import ClusterSnapshot
from quota_advisor.probe.profile import ProfileFile
from quota_advisor.render import report_v2
from quota_advisor.render.rules_v1 import RulesV1
from quota_advisor.rulebook.catalogue import COMPILED, compiled_rulebook, load_catalog
from quota_advisor.rulebook.settings_file import ConfigFile
from tools.rule_pages import rule_index, rule_page

TOP = Path(__file__).resolve().parent.parent
SCHEMAS: dict[str, Any] = {
    "report-v2": report_v2.ReportV2,
    "rules-v1": RulesV1,
    "snapshot-v1": Snapshot,
    "clusters-v1": ClusterSnapshot,
    "config": ConfigFile,
    "probe-profile": ProfileFile,
}


def main() -> int:
    """Write every generated file, or name those that are not current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    check = parser.parse_args().check
    stale = [path for path, text in generated() if _differs(path, text)]
    wanted = {path for path, _ in generated()}
    orphans = [p for p in (TOP / "docs" / "rules").glob("*.md") if p not in wanted]
    if check:
        for path in (*stale, *orphans):
            print(f"not current: {path.relative_to(TOP)} (make generate)", file=sys.stderr)
        return int(bool(stale or orphans))
    for path, text in generated():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in orphans:
        path.unlink()
    return 0


def generated() -> Iterator[tuple[Path, str]]:
    """Yield each generated file with its text."""
    yield COMPILED, compiled_rulebook()
    rules = load_catalog()
    for rule in rules.values():
        yield TOP / "docs" / "rules" / f"{rule.id}.md", rule_page(rule)
    yield TOP / "docs" / "rules" / "README.md", rule_index(list(rules.values()))
    for shape in vars(report_v2).values():
        if is_typeddict(shape):
            # What is written has these members and no others.
            pydantic.with_config(pydantic.ConfigDict(extra="forbid"))(shape)
    for name, model in SCHEMAS.items():
        schema = pydantic.TypeAdapter(model).json_schema(mode=_mode(name))
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        yield TOP / "docs" / "schema" / f"{name}.json", text
    yield TOP / "README.md", with_help((TOP / "README.md").read_text(encoding="utf-8"))


def with_help(text: str) -> str:
    """Return the README with the current help text after each ``<!-- help: … -->`` mark."""

    def fresh(match: re.Match[str]) -> str:
        words = match[1].split()
        return f"<!-- help: {match[1]} -->\n```text\n{help_text(words)}\n```\n<!-- end -->"

    return re.sub(r"<!-- help: (.*?) -->\n.*?<!-- end -->", fresh, text, flags=re.DOTALL)


def help_text(words: list[str]) -> str:
    """Return what ``quota-advisor WORDS --help`` prints on a terminal of 88 columns."""
    command: click.Command = cli
    context = click.Context(cli, info_name="quota-advisor", terminal_width=88, max_content_width=88)
    for word in words:
        assert isinstance(command, click.Group)  # noqa: S101 - a mark names a real command
        found = command.get_command(context, word)
        if found is None:
            raise SystemExit(f"README: no command {' '.join(words)!r}")
        command = found
        context = click.Context(
            command, info_name=word, parent=context, terminal_width=88, max_content_width=88
        )
    return command.get_help(context)


def _mode(name: str) -> Any:
    return "serialization" if name.startswith(("report", "rules")) else "validation"


def _differs(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_text(encoding="utf-8") != text


if __name__ == "__main__":
    sys.exit(main())
