"""Compose files: settings as written, wherever a service has them from."""

from __future__ import annotations

from textwrap import dedent

import pytest

from quota_advisor.documents.compose.merge import MAX_EXTENDS
from quota_advisor.documents.compose.unknown_keys import MAX_UNKNOWN
from quota_advisor.documents.reader import read_manifest
from quota_advisor.model.manifest import ComposeService, ExtendsFault, Place, Scalar, UnknownKey


def read(text: str) -> list[object]:
    return list(read_manifest("compose.yaml", dedent(text).encode()))


def services(text: str) -> dict[str, ComposeService]:
    found = read(text)
    assert all(isinstance(item, ComposeService) for item in found), found
    return {item.name: item for item in found if isinstance(item, ComposeService)}


def test_settings_are_read_as_written() -> None:
    found = services(
        """\
        name: shop
        services:
          web:
            image: nginx
            cpus: 0.5
            cpuset: "0,1"
            cpu_quota: 50000
            cpu_period: ~
            deploy:
              replicas: 2
              resources: {limits: {cpus: '0.50'}, reservations: {cpus: "0.25"}}
          job: {image: x, cpu_shares: 512}
        """
    )
    assert found["web"].place == Place(3, 3)
    assert found["web"].settings == {
        "cpus": Scalar("0.5", True, 5, 11),
        "cpu_quota": Scalar("50000", True, 7, 16),
        "cpuset": Scalar("0,1", False, 6, 13),
        "deploy.replicas": Scalar("2", True, 10, 17),
        "deploy.resources.limits.cpus": Scalar("0.50", False, 11, 34),
        "deploy.resources.reservations.cpus": Scalar("0.25", False, 11, 64),
    }
    assert found["job"].settings == {"cpu_shares": Scalar("512", True, 12, 31)}


def test_anchors_merges_and_extends_are_resolved() -> None:
    found = services(
        """\
        x-limits: &limits
          cpus: 1
          deploy: {resources: {limits: {cpus: "2"}}}
        services:
          base:
            image: base
            cpu_shares: 100
            environment: {A: "1", B: "1"}
          merged:
            cpus: 3
            <<: *limits
            image: m
          extended:
            extends: {service: base}
            environment: {B: "2"}
          twice: {extends: extended, cpus: 4}
        """
    )
    assert found["merged"].settings["cpus"] == Scalar("3", True, 10, 11)
    assert found["merged"].settings["deploy.resources.limits.cpus"].line == 3
    assert found["twice"].image == "base"
    assert found["twice"].settings["cpu_shares"].line == 7
    assert {k: v.text for k, v in found["twice"].environment.items()} == {"A": "1", "B": "2"}


def test_a_file_that_is_read_alone_has_no_others() -> None:
    (service,) = read("services:\n  a: {extends: {file: other.yaml, service: b}, cpus: 1}\n")
    assert isinstance(service, ComposeService)
    assert service.settings["cpus"].text == "1"
    (remark,) = service.unresolved
    assert remark.text == "a extends b of other.yaml: that file is not read"
    assert remark.fault is ExtendsFault.NOT_READ
    assert (remark.line, remark.column) == (2, 23)


def test_documents_of_a_file_are_laid_over_each_other() -> None:
    found = services(
        """\
        services:
          a: {image: x, cpus: 1, cpuset: "0"}
        ---
        services:
          a: {cpus: 2}
          b: {image: y}
        """
    )
    assert list(found) == ["a", "b"]
    assert found["a"].settings["cpus"] == Scalar("2", True, 5, 13)
    assert found["a"].settings["cpuset"].line == 2


def test_services_that_extend_each_other_end() -> None:
    found = services("services:\n  a: {extends: b, cpus: 1}\n  b: {extends: a, image: x}\n")
    assert found["a"].image == found["b"].image == "x"
    (remark,) = found["a"].unresolved
    assert found["b"].unresolved == (remark,)
    assert remark.fault is ExtendsFault.REFUSED
    assert (remark.text, remark.line) == ("b extends a: they extend each other", 3)


@pytest.mark.parametrize(
    ("entry", "text", "column"),
    [
        ("extends: a", "a extends a: they extend each other", 16),
        ("extends: b", "a extends b: there is no such service", 16),
        ("extends: {service: b}", "a extends b: there is no such service", 26),
        ("extends: {}", "a extends a service: it does not say which", 16),
        ("extends: ~", "a extends a service: it does not say which", 16),
    ],
)
def test_an_extends_that_leads_nowhere(entry: str, text: str, column: int) -> None:
    (remark,) = services(f"services:\n  a: {{{entry}, image: x}}\n")["a"].unresolved
    assert (remark.text, remark.line, remark.column) == (text, 2, column)
    assert remark.fault is ExtendsFault.REFUSED


def test_what_a_variable_names_is_not_looked_for() -> None:
    text = "services:\n  a: {extends: {file: '${BASE}.yml', service: b}, image: x}\n"
    (remark,) = services(text)["a"].unresolved
    assert remark.fault is ExtendsFault.NOT_READ


def test_a_chain_is_followed_so_far_wherever_it_is_entered() -> None:
    count = MAX_EXTENDS + 2
    links = [f"  s{n}: {{extends: s{n + 1}, cpus: 1}}" for n in range(count)]
    last = f"  s{count}: {{image: x, cpuset: '0'}}"
    for order in (links, links[::-1]):
        found = services("\n".join(["services:", *order, last, ""]))
        assert "cpuset" in found["s3"].settings
        assert found["s3"].unresolved == ()
        assert "cpuset" not in found["s2"].settings
        assert [r.fault for r in found["s0"].unresolved] == [ExtendsFault.NOT_READ]


def test_commands_are_words() -> None:
    found = services(
        """\
        services:
          a: {image: x, entrypoint: [python, -m], command: "serve --name 'a b' -w 4"}
          b: {image: x, command: "it's"}
        """
    )
    words = [word.text for word in found["a"].command]
    assert words == ["python", "-m", "serve", "--name", "a b", "-w", "4"]
    assert (found["a"].command[6].line, found["a"].command[6].column) == (2, 52)
    assert [word.text for word in found["b"].command] == ["it's"]


@pytest.mark.parametrize("environment", ["[A=1, B, C=]", "{A: 1, B: ~, C: ''}"])
def test_environment_is_a_list_or_a_mapping(environment: str) -> None:
    found = services(f"services:\n  a: {{image: x, environment: {environment}}}\n")["a"]
    assert {name: value.text for name, value in found.environment.items()} == {"A": "1", "C": ""}


def test_the_place_of_a_listed_variable_is_that_of_its_value() -> None:
    found = services("services:\n  a:\n    image: x\n    environment:\n    - 'A=7'\n")["a"]
    assert found.environment["A"] == Scalar("7", False, 5, 10)


def test_values_from_variables_are_nobodys_business() -> None:
    text = 'services:\n  a: {image: x, cpus: "${CPUS:-0.5}", cpuset: "$$x", cpu_shares: $SHARES}\n'
    assert set(services(text)["a"].settings) == {"cpuset"}


def test_compose_has_tags_of_its_own() -> None:
    found = services(
        "services:\n  a:\n    image: x\n    cpus: !reset 1\n    cpuset: !override '1'\n"
    )
    assert {key: value.text for key, value in found["a"].settings.items()} == {"cpuset": "1"}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("cpus: [1]", "services.a.cpus"),
        ("deploy: 1", "services.a.deploy"),
        ("deploy: {resources: []}", "services.a.deploy.resources"),
        ("environment: x", "services.a.environment"),
        ("extends: [b]", "services.a.extends"),
    ],
)
def test_wrong_shapes_are_told(entry: str, path: str) -> None:
    (wrong,) = services(f"services:\n  a: {{image: x, {entry}}}\n")["a"].wrong_shapes
    assert (wrong.path, wrong.line) == (path, 2)


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  - name: a\n",
        "services:\n  web: http://example.com\n",
        "services: 3\n",
        "apiVersion: v1\nkind: Thing\nservices: {a: {image: x}}\n",
    ],
)
def test_what_only_has_services_is_no_compose_file(text: str) -> None:
    assert read(text) == []


def test_unknown_keys_know_their_place_and_what_they_may_mean() -> None:
    found = services(
        """\
        services:
          a:
            image: x
            deploy:
              resources:
                limits:
                  cpu: 1
              limits: {cpus: 1}
          b: {extends: a, cpu: 2}
        """
    )
    assert found["a"].unknown_keys == (
        UnknownKey("limits", "deploy", ("deploy.resources.limits",), False, 8, 7, "compose.yaml"),
        UnknownKey(
            "cpu",
            "deploy.resources.limits",
            ("deploy.resources.limits.cpus",),
            True,
            7,
            11,
            "compose.yaml",
        ),
    )
    assert [key.line for key in found["b"].unknown_keys] == [8, 7, 9]


def test_of_very_many_unknown_keys_some_are_told() -> None:
    keys = ", ".join(f"cpu{n}: 1" for n in range(20_000))
    found = services(f"services:\n  a: {{image: x, {keys}}}\n")
    assert len(found["a"].unknown_keys) == MAX_UNKNOWN


def test_a_service_that_is_none_does_not_hide_the_others() -> None:
    found = services("services:\n  a: text\n  b: {image: x}\n")
    assert found["a"].wrong_shapes[0].path == "services.a"
    assert found["b"].image == "x"
