"""CPU quantities, held against what the API's own code answers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.documents.kubernetes.quantity import (
    CpuQuantity,
    InvalidQuantity,
    NullQuantity,
    parse_cpu,
)
from quota_advisor.model.manifest import Scalar

ANSWERS = json.loads((Path(__file__).parent / "quantities.json").read_text(encoding="utf-8"))


def written(text: str) -> Scalar:
    """Return a value as YAML's parser hands it over."""
    event = list(yaml.parse(f"cpu: {text}\n", Loader=yaml.SafeLoader))[4]
    assert isinstance(event, yaml.ScalarEvent)
    return Scalar(event.value, not event.style, 1, 6)


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row["yaml"])
def test_every_quantity_is_what_the_api_makes_of_it(row: dict[str, str]) -> None:
    found = parse_cpu(written(row["yaml"]))
    if row["answer"] == "invalid":
        assert isinstance(found, InvalidQuantity)
        assert found.reason
    elif row["answer"] == "null":
        assert isinstance(found, NullQuantity)
    else:
        assert isinstance(found, CpuQuantity)
        assert Fraction(found.nanocores, 10**9) == Fraction(row["answer"])


@pytest.mark.parametrize(
    ("text", "millicores"),
    [
        ("0.1", 100), ("100m", 100), ('"100m"', 100), ("2.5", 2500), ("2.", 2000), ("010", 8000),
        ("0o10", 8000), ("0x10", 16000), ("1_000", 1_000_000), ("1k", 1_000_000),
        ("1e3", 1_000_000), ("1E3", 1_000_000), ("5e-1", 500), (".5", 500), ("+2", 2000),
        ("1.5m", 2), ("0.5m", 1), ("0.0001", 1), ("100n", 1), ("-1", -1000), ("1Ki", 1_024_000),
        ("1000m", 1000), ("1.0", 1000), ("1E", 10**21), ("1.5", 1500), ("0.05", 50),
        ('"010"', 10_000), ("08", 8000),
    ],
)  # fmt: skip
def test_fractions_of_a_millicore_are_rounded_up(text: str, millicores: int) -> None:
    found = parse_cpu(written(text))
    assert isinstance(found, CpuQuantity)
    assert found.millicores == millicores


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1e3m", "has an exponent and a suffix"),
        ("1:30", "is a time"),
        ('""', "there is no number"),
        ('"1,5"', "has a comma"),
        ('"100 m"', "has a blank"),
        ("50%", "is a percentage"),
        (".inf", "is not a number"),
        ("true", "is not a quantity"),
        ("NaN", "is not a quantity"),
        ("1K", "is not a suffix"),
        ('"0x10"', "is not a quantity"),
        ("1e99999999999", "exponent"),
    ],
)
def test_a_refusal_says_why(text: str, reason: str) -> None:
    found = parse_cpu(written(text))
    assert isinstance(found, InvalidQuantity)
    assert reason in found.reason


@pytest.mark.parametrize("text", ["~", "null", "Null", "NULL", ""])
def test_null_means_not_set(text: str) -> None:
    assert parse_cpu(Scalar(text, True, 1, 1)) == NullQuantity()
    assert isinstance(parse_cpu(Scalar(text, False, 1, 1)), InvalidQuantity)


@given(st.text(), st.booleans())
def test_any_text_has_an_answer(text: str, plain: bool) -> None:  # noqa: FBT001
    found = parse_cpu(Scalar(text, plain, 1, 1))
    assert isinstance(found, CpuQuantity | NullQuantity | InvalidQuantity)


@given(st.integers(0, 10**7))
def test_millicores_survive_being_written(millicores: int) -> None:
    for text in (f"{millicores}m", f"{millicores / 1000!r}"):
        found = parse_cpu(Scalar(text, True, 1, 1))
        assert isinstance(found, CpuQuantity)
        assert found.millicores == millicores
