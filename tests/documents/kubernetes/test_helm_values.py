"""Values of charts are known by the names of their files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.documents.kubernetes.helm_values import KIND, is_values
from quota_advisor.documents.reader import read_manifest
from quota_advisor.model.manifest import Pod

TEXT = b"resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n"


def pods(file: str, text: bytes = TEXT) -> list[Pod]:
    return [found for found in read_manifest(file, text) if isinstance(found, Pod)]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("values.yaml", True), ("chart/values-prod.yml", True), ("prod.values.yaml", True),
        ("my_values.yaml", True), ("values.schema.json", False), ("evalues.yaml", False),
        ("valuestore.yaml", False), ("values", False), ("values/app.yaml", False),
    ],
)  # fmt: skip
def test_names(file: str, expected: bool) -> None:  # noqa: FBT001
    assert is_values(file) is expected
    assert bool(pods(file)) is expected


def test_an_object_is_what_it_says_whatever_its_file_is_called() -> None:
    (found,) = pods("values.yaml", b"apiVersion: x.io/v1\nkind: Thing\nspec:\n  " + TEXT)
    assert found.kind == "Thing"
    # Charts may call a part of their values so: they are no compose file.
    (values,) = pods("values.yaml", b"services: {web: {image: x, cpus: 1}}\n" + TEXT)
    assert values.kind == "HelmValues"


def test_a_kind_of_workload_is_a_value_like_others() -> None:
    (found,) = pods("values.yaml", b"kind: Deployment\nspec: {replicas: 2}\n" + TEXT)
    assert (found.kind, found.subject.name, found.partial) == (KIND, "values.yaml", True)
    assert [c.name for c in found.containers] == ["resources"]


@given(st.sampled_from(["containers", "limits", "resources", "kind", "cpu", "a"]), st.booleans())
def test_keys_in_odd_places_are_no_defect(key: str, exact: bool) -> None:  # noqa: FBT001
    extra = b"x: !!str a\n" if exact else b""
    text = f"{key}: {{limits: {{cpu: 1}}, resources: {{cpu: 1}}}}\n".encode()
    pods("values.yaml", extra + text + b"containers: [{name: a, image: b, cpu: 1}]\n")
