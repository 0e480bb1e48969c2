"""What is written item by item is what Python's own writer makes of the whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from quota_advisor.render.encode import Members, encoded

PLAIN: list[Any] = [
    None,
    True,
    -0.5,
    30000.0,
    "plain",
    'a "quote", a \\ and a\nline end',
    "\x00\x1b\x7f ä € 𝄞 \u2028",
    [],
    {},
    (),
    [1, [2, {"three": [4]}], {}],
    {"a": {"b": [{"c": None}]}},
    "a byte \udcff that is no UTF-8",
    {"name \udc80": ["\udcff\n", 1]},
    2**64,
    {"quota": -(2**70)},
]


def whole(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@pytest.mark.parametrize("value", PLAIN, ids=ascii)
def test_a_value_is_written_as_python_writes_it(value: object) -> None:
    assert "".join(encoded(value)) == whole(value)


@pytest.mark.parametrize("value", PLAIN, ids=ascii)
def test_a_value_inside_is_indented_as_python_indents_it(value: object) -> None:
    lazy = Members(
        first=value,
        items=iter([value, value]),
        inner=iter([Members(items=iter([value]), last=value)]),
        none=iter([]),
    )
    assert "".join(encoded(lazy)) == whole(
        {
            "first": value,
            "items": [value, value],
            "inner": [{"items": [value], "last": value}],
            "none": [],
        }
    )


def test_items_are_made_when_it_is_their_turn() -> None:
    made: list[int] = []

    def items() -> Iterator[dict[str, int]]:
        for number in range(3):
            made.append(number)
            yield {"number": number}

    pieces = encoded(Members(before="x", items=items()))
    assert "before" in next(pieces)
    assert len(made) <= 1
    text = ""
    while '"number": 1' not in text:
        text += next(pieces)
    assert made == [0, 1]


def test_an_empty_object_is_written_as_one() -> None:
    assert "".join(encoded(Members())) == "{}"
