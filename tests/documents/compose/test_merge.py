"""Compose documents laid over each other: what counts, and in which file it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quota_advisor.documents.compose.layer import Layer
from quota_advisor.documents.compose.merge import ExtendsResolver, NotFound, joined, services
from quota_advisor.documents.reader import read_compose
from quota_advisor.documents.yaml.tree import MAX_NODES
from quota_advisor.model.manifest import ComposeService, ExtendsFault

MISSING = NotFound("there is no such file", ExtendsFault.REFUSED)


def layers(name: str, text: str) -> list[Layer]:
    documents, found = read_compose(name, text.encode())
    assert documents == []
    return found


def merged(*texts: str, others: Mapping[str, str] = {}) -> dict[str, ComposeService]:
    """Merge texts as the files a, b, c …; each of them may extend the others by name."""
    read = {name: layers(name, text) for name, text in others.items()}
    known = {name: joined(found) for name, found in read.items() if found}
    stack = [layer for n, text in enumerate(texts) for layer in layers("abc"[n], text)]
    resolver = ExtendsResolver(lambda _file, other: known.get(other, MISSING))
    return {service.name: service for service in services(stack, resolver)}


def web(entries: str) -> str:
    return f"services:\n  web: {entries}\n"


def values(service: ComposeService) -> dict[str, str]:
    """Return everything that counts, each with its file."""
    found = {**service.settings, **service.environment}
    held = {key: f"{scalar.file}:{scalar.text}" for key, scalar in found.items()}
    if service.command:
        held["words"] = " ".join(f"{word.file}:{word.text}" for word in service.command)
    return held


CASES = [
    ("scalars", "{cpus: 1, cpuset: x}", "{cpus: 2}", {"cpus": "b:2", "cpuset": "a:x"}),
    ("null is nothing", "{cpus: 1}", "{cpus: ~}", {"cpus": "a:1"}),
    ("over null", "{cpus: ~}", "{cpus: 2}", {"cpus": "b:2"}),
    ("variable", "{cpus: 1}", "{cpus: '${CPUS:-2}'}", {}),
    ("over a variable", "{cpus: $CPUS}", "{cpus: 2}", {"cpus": "b:2"}),
    (
        "mappings",
        "{deploy: {replicas: 2, resources: {limits: {cpus: 1}}}}",
        "{deploy: {resources: {reservations: {cpus: 2}}}}",
        {
            "deploy.replicas": "a:2",
            "deploy.resources.limits.cpus": "a:1",
            "deploy.resources.reservations.cpus": "b:2",
        },
    ),
    (
        "null mapping",
        "{deploy: {replicas: 2}, environment: {A: 1}}",
        "{deploy: ~, environment: ~}",
        {"deploy.replicas": "a:2", "A": "a:1"},
    ),
    (
        "variables of both forms",
        "{environment: [A=1, B=1, C=1]}",
        "{environment: {B: 2, C: ~, D: 2}}",
        {"A": "a:1", "B": "b:2", "D": "b:2"},
    ),
    ("variable from outside", "{environment: {A: 1}}", "{environment: [A]}", {}),
    ("words", "{entrypoint: [x], command: [y, z]}", "{command: w}", {"words": "a:x b:w"}),
    ("words of the image", "{command: [y]}", "{command: ~}", {}),
    ("no words", "{command: [y]}", "{command: []}", {}),
    ("reset", "{cpus: 1, cpuset: x}", "{cpus: !reset 2}", {"cpuset": "a:x"}),
    ("reset null", "{cpus: 1}", "{cpus: !reset null}", {}),
    ("reset mapping", "{deploy: {replicas: 2}, cpus: 1}", "{deploy: !reset {}}", {"cpus": "a:1"}),
    ("reset below", "{deploy: {replicas: 2}}", "{deploy: {replicas: !reset 1}}", {}),
    ("reset variables", "{environment: [A=1]}", "{environment: !reset []}", {}),
    ("reset variable", "{environment: {A: 1, B: 1}}", "{environment: {A: !reset x}}", {"B": "a:1"}),
    ("reset words", "{command: [y]}", "{command: !reset []}", {}),
    (
        "override",
        "{deploy: {replicas: 2, resources: {limits: {cpus: 1}}}, cpus: 1}",
        "{deploy: !override {resources: {reservations: {cpus: 2}}}}",
        {"cpus": "a:1", "deploy.resources.reservations.cpus": "b:2"},
    ),
    ("override variables", "{environment: [A=1]}", "{environment: !override [B=2]}", {"B": "b:2"}),
    ("override service", "{cpus: 1}", "!override {cpuset: x}", {"cpuset": "b:x"}),
    ("null service", "{cpus: 1}", "~", {"cpus": "a:1"}),
    ("a name that begins the same", "{cpus: 1, cpuset: x}", "{cpus: !reset 1}", {"cpuset": "a:x"}),
]


@pytest.mark.parametrize(
    ("base", "over", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_an_override_file_counts_more(base: str, over: str, expected: dict[str, str]) -> None:
    service = merged(web(base), web(over))["web"]
    assert values(service) == expected
    assert service.wrong_shapes == ()
    assert service.file == ("b" if over.startswith("!override") else "a")


@pytest.mark.parametrize(
    ("base", "over", "expected"),
    [c[1:] for c in CASES if c[2].startswith("{")],
    ids=[c[0] for c in CASES if c[2].startswith("{")],
)
def test_what_is_extended_is_merged_in_the_same_way(
    base: str, over: str, expected: dict[str, str]
) -> None:
    extends = "{extends: {file: base, service: web}, " + over[1:]
    service = merged(web(extends), others={"base": web(base)})["web"]
    names = {"base": "a", "a": "b"}
    found = {
        key: " ".join(f"{names[w.partition(':')[0]]}:{w.partition(':')[2]}" for w in text.split())
        for key, text in values(service).items()
    }
    assert found == expected
    assert service.file == "a"


@pytest.mark.parametrize("row", json.loads(Path(__file__).with_name("compose.json").read_text()))
def test_services_are_those_that_compose_makes(row: dict[str, Any]) -> None:
    own = [row["files"][name] for name in PROJECT if name in row["files"]]
    found = merged(*own, others=row["files"])
    if "refused" in row:
        told = [remark.fault for service in found.values() for remark in service.unresolved]
        shapes = [shape for service in found.values() for shape in service.wrong_shapes]
        assert ExtendsFault.REFUSED in told or shapes
        return
    assert {name: plain(service) for name, service in found.items()} == row["services"]
    assert not any(service.unresolved for service in found.values())


PROJECT = ("compose.yaml", "compose.override.yaml")


def plain(service: ComposeService) -> dict[str, str]:
    """Return what counts in the form of the table."""
    found = {key: scalar.text for key, scalar in service.settings.items()}
    found |= {f"env {name}": scalar.text for name, scalar in service.environment.items()}
    words = " ".join(word.text for word in service.command)
    return {**found, "words": words} if words else found


def test_a_service_can_be_taken_away_and_come_back() -> None:
    gone = "services:\n  web: !reset null\n"
    assert merged(web("{cpus: 1}"), gone) == {}
    assert values(merged(web("{cpus: 1}"), gone, web("{cpuset: x}"))["web"]) == {"cpuset": "c:x"}


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ("services: !override {api: {cpus: 2}}\n", {"api"}),
        ("services: !reset {api: {cpus: 2}}\n", set()),
        ("services:\n  !override\n  api: {cpus: 2}\n", {"api"}),
    ],
)
def test_all_services_can_be_replaced(over: str, expected: set[str]) -> None:
    assert set(merged(web("{cpus: 1}"), over)) == expected
    assert set(joined([*layers("a", web("{cpus: 1}")), *layers("a", over)]).services) == expected


def test_a_tag_in_what_is_extended_reaches_no_further() -> None:
    other = "services:\n  app: {command: !reset [x], environment: {A: !reset 1}, cpus: !reset 1}\n"
    base = web("{command: [y], environment: {A: 2}, cpus: 2}")
    over = web("{extends: {file: other, service: app}, cpuset: z}")
    service = merged(base, over, others={"other": other})["web"]
    assert values(service) == {"words": "a:y", "A": "a:2", "cpus": "a:2", "cpuset": "b:z"}


def test_a_service_that_replaces_another_has_what_it_extends() -> None:
    over = web("!override {extends: {file: other, service: app}, cpuset: z}")
    service = merged(web("{cpus: 2}"), over, others={"other": "services: {app: {cpu_shares: 5}}\n"})
    assert values(service["web"]) == {"cpuset": "b:z", "cpu_shares": "other:5"}


def test_a_tag_reaches_as_far_as_its_anchor() -> None:
    over = "services:\n  web: {deploy: &d !override {replicas: 3}}\n  api: {deploy: *d}\n"
    base = "services:\n  web: &b {deploy: {resources: {limits: {cpus: 1}}}}\n  api: *b\n"
    found = merged(base, over)
    assert values(found["web"]) == values(found["api"]) == {"deploy.replicas": "b:3"}


def test_a_tag_without_a_value() -> None:
    over = "services:\n  web:\n    cpus: !reset\n    cpuset: y\n    environment: !reset\n"
    base = web("{cpus: 1, cpuset: x, environment: [A=1]}")
    assert values(merged(base, over)["web"]) == {"cpuset": "b:y"}


def test_a_chain_leads_through_files() -> None:
    top = web("{extends: {file: one, service: app}, cpus: 1}")
    one = "services:\n  app: {extends: {file: two, service: root}, cpuset: x}\n"
    two = "services:\n  root: {extends: other, cpu_shares: 5}\n  other: {cpus: 9, cpu_count: 3}\n"
    service = merged(top, others={"one": one, "two": two})["web"]
    assert values(service) == {
        "cpus": "a:1", "cpuset": "one:x", "cpu_shares": "two:5", "cpu_count": "two:3",
    }  # fmt: skip
    assert service.at(service.settings["cpu_count"]).line == 3
    assert service.at(service.settings["cpu_count"]).file == "two"


def test_files_that_extend_each_other_end() -> None:
    one = "services:\n  app: {extends: {file: two, service: app}, cpuset: x}\n"
    two = "services:\n  app: {extends: {file: one, service: app}, cpus: 9}\n"
    service = merged(web("{extends: {file: one, service: app}}"), others={"one": one, "two": two})[
        "web"
    ]
    assert values(service) == {"cpus": "two:9", "cpuset": "one:x"}
    (remark,) = service.unresolved
    assert (remark.file, remark.text) == ("two", "app extends app of one: they extend each other")


def test_what_is_laid_over_does_not_reach_into_another_document() -> None:
    """Compose resolves extends before it merges: the override has no services of its base."""
    over = "services:\n  web: {extends: base}\n"
    (remark,) = merged("services:\n  base: {cpus: 1}\n  web: {cpus: 2}\n", over)["web"].unresolved
    assert (remark.file, remark.text) == ("b", "web extends base: there is no such service")


def test_a_file_of_several_documents_is_extended_as_a_whole() -> None:
    first = "services:\n  app: {cpus: 1, extends: root}\n  root: {cpuset: x}\n"
    other = f"{first}---\nservices:\n  app: {{cpu_shares: 5}}\n"
    service = merged(web("{extends: {file: o, service: app}}"), others={"o": other})["web"]
    assert values(service) == {"cpus": "o:1", "cpuset": "o:x", "cpu_shares": "o:5"}


def test_a_missing_file_takes_nothing_else_away() -> None:
    service = merged(web("{extends: {file: gone, service: app}, cpus: 1}"))["web"]
    assert values(service) == {"cpus": "a:1"}
    (remark,) = service.unresolved
    assert remark.text == "web extends app of gone: there is no such file"
    assert (remark.file, remark.line, remark.column) == ("a", 2, 25)


def test_wrong_shapes_are_told_where_they_stand() -> None:
    base = "services:\n  app: {cpus: [1]}\n"
    top = web("{extends: {file: base, service: app}, deploy: 3}")
    service = merged(top, others={"base": base})["web"]
    assert [(w.path, w.file) for w in service.wrong_shapes] == [
        ("services.app.cpus", "base"),
        ("services.web.deploy", "a"),
    ]


def test_a_service_without_a_value_is_misshapen_unless_it_is_laid_over_another() -> None:
    assert len(merged(web("~"))["web"].wrong_shapes) == 1
    assert merged(web("{cpus: 1}"), web("~"))["web"].wrong_shapes == ()


def test_comments_of_every_document_that_has_a_part_count() -> None:
    comment = "# quota-advisor: ignore[x] {}\n"
    base = comment.format("base") + "services:\n  web: {cpus: 1}\n  api: {cpus: 1}\n"
    over = comment.format("over") + web("{cpus: 2}")
    found = merged(base, over)
    assert [s.reason for s in found["web"].suppressions] == ["base", "over"]
    assert [s.reason for s in found["api"].suppressions] == ["base"]


def test_a_service_that_many_take_over_does_not_fill_the_memory() -> None:
    variables = ", ".join(f"V{n}: 1" for n in range(10_000))
    many = "".join(f"  s{n}: {{extends: big}}\n" for n in range(200))
    found = merged(f"services:\n  big: {{environment: {{{variables}}}}}\n{many}")
    held = sum(len(service.environment) for service in found.values())
    assert held <= MAX_NODES + 30_000
    assert found["s199"].unresolved[0].fault is ExtendsFault.NOT_READ


def test_any_services_will_do_in_a_file_that_is_known_to_be_compose() -> None:
    (layer,) = layers("a", "{services: {web: {hostname: x}}}")
    assert list(layer.services) == ["web"]
    assert read_compose("a", b"apiVersion: v1\nkind: X\nservices: {a: {image: x}}\n") == ([], [])


NAMES = st.sampled_from(["web", "api", "app"])
SCALARS = st.sampled_from([None, 1, "x", "", "${A}", [], {}, [1], {"cpus": 1}])
SERVICES = st.dictionaries(
    NAMES,
    SCALARS
    | st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("cpus", "cpuset", "deploy", "command", "entrypoint"), SCALARS),
            "deploy": SCALARS | st.fixed_dictionaries({"resources": SCALARS, "replicas": SCALARS}),
            "environment": SCALARS | st.dictionaries(NAMES, SCALARS) | st.lists(SCALARS),
            "extends": SCALARS
            | NAMES
            | st.fixed_dictionaries(
                {"service": NAMES | SCALARS},
                optional={"file": st.sampled_from(["a", "b", "c"]) | SCALARS},
            ),
        },
    ),
)


TAGS = st.sampled_from(["", "!reset ", "!override ", "!other "])


@settings(deadline=None)
@given(st.lists(SERVICES, min_size=1, max_size=3), SERVICES, TAGS, TAGS)
def test_nothing_that_services_can_be_is_too_much(
    own: list[dict[str, Any]], other: dict[str, Any], tag: str, inner: str
) -> None:
    texts = [json.dumps({"services": each}) for each in (*own, other)]
    texts = [text.replace(': {"', f': {tag}{{"').replace(": 1", f": {inner}1") for text in texts]
    found = merged(*texts[:-1], others={"a": texts[0], "c": texts[-1]})
    for service in found.values():
        for value in (*service.settings.values(), *service.environment.values()):
            assert service.at(value).file in ("a", "b", "c")
