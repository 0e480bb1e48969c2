"""Our ``dataclass`` and ``NamedTuple`` make what those of the standard library make."""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quota_advisor import records

PACKAGE = Path(__file__).parent.parent / "quota_advisor"

Make = Callable[..., Callable[[type], type]]
THEIRS: Make = dataclasses.dataclass
OURS: Make = records.dataclass


def _made(make: Make, **options: bool) -> Any:
    class Place:
        """A class with every sort of field."""

        file: str
        line: int = 1
        marks: list[int] = dataclasses.field(default_factory=list)

        @property
        def text(self) -> str:
            return f"{self.file}:{self.line}"

    return make(**options)(Place)


OPTIONS: list[dict[str, bool]] = [
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "kw_only": True, "order": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "kw_only": True},
    {"slots": True},
    {"slots": True, "kw_only": True},
    {"eq": False},
]


@pytest.fixture(params=OPTIONS, ids="-".join)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """Return the same class made by both."""
    return _made(OURS, **request.param), _made(THEIRS, **request.param)


def test_objects_show_and_compare_as_they_do_elsewhere(pair: tuple[Any, Any]) -> None:
    said = []
    for made in pair:
        one, same, other = made(file="a"), made(file="a", line=1, marks=[]), made(file="a", line=2)
        said.append((repr(one), one == same, one == other, one != same, one == "a", one.text))
        with pytest.raises(TypeError):
            made()
        with pytest.raises(TypeError):
            made(file="a", column=1)
    assert said[0] == said[1]


def test_defaults_are_made_anew(pair: tuple[Any, Any]) -> None:
    for made in pair:
        assert made(file="a").marks is not made(file="a").marks
        assert made(file="a", marks=[1]).marks == [1]


def test_fields_and_signatures_are_the_same(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    assert [f.name for f in dataclasses.fields(ours)] == [
        f.name for f in dataclasses.fields(theirs)
    ]
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours(file="a"), "__dict__") == hasattr(theirs(file="a"), "__dict__")
    assert dataclasses.asdict(ours(file="a")) == dataclasses.asdict(theirs(file="a"))


def test_frozen_objects_stay_as_they_are(pair: tuple[Any, Any]) -> None:
    results = []
    for made in pair:
        place = made(file="a")
        try:
            place.file = "b"
        except dataclasses.FrozenInstanceError:
            results.append("frozen")
        else:
            results.append(place.file)
    assert results[0] == results[1]


def test_objects_hash_where_they_do_elsewhere(pair: tuple[Any, Any]) -> None:
    results: list[object] = []
    for made in pair:
        try:
            # As many as there are, unless equal ones are taken for one.
            results.append(len({made(file="a", marks=()), made(file="a", marks=())}))
        except TypeError as error:
            results.append(str(error))
    assert results[0] == results[1]


def test_replace_and_copy(pair: tuple[Any, Any]) -> None:
    place = pair[0](file="a", line=3)
    changed = dataclasses.replace(place, file="b")
    assert (changed.file, changed.line) == ("b", 3)
    assert (copy.copy(place).text, copy.deepcopy(place).text) == ("a:3", "a:3")


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    line: int


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Region(Start):
    end_line: int

    def __post_init__(self) -> None:
        if self.end_line < self.line:
            raise ValueError("the end lies before the start")


@records.dataclass(frozen=True, slots=True)
class Nothing:
    pass


@records.dataclass(frozen=True, slots=True, order=True)
class Version:
    major: int
    minor: int


def test_a_derived_class_has_the_fields_of_both() -> None:
    region = Region(line=1, end_line=2)
    assert repr(region) == "Region(line=1, end_line=2)"
    assert region == Region(line=1, end_line=2)
    assert Start(line=1) != region
    with pytest.raises(ValueError, match="before the start"):
        Region(line=2, end_line=1)


def test_objects_survive_being_pickled() -> None:
    things = [Region(line=1, end_line=2), Nothing(), Version(1, 2)]
    assert pickle.loads(pickle.dumps(things)) == things  # noqa: S301 - our own


def test_a_class_without_fields() -> None:
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1


def test_order() -> None:
    assert sorted([Version(1, 10), Version(1, 9), Version(0, 11)]) == [
        Version(0, 11),
        Version(1, 9),
        Version(1, 10),
    ]
    assert Version(1, 2) <= Version(1, 2)
    with pytest.raises(TypeError):
        _ = Version(1, 2) < "1.2"  # type: ignore[operator]


class Ours(records.NamedTuple):
    """A tuple with everything that one can have."""

    file: str
    line: int = 1
    column: int | None = None

    @property
    def text(self) -> str:
        return f"{self.file}:{self.line}"

    @classmethod
    def first(cls, file: str) -> Ours:
        return cls(file)


class Theirs(typing.NamedTuple):
    """A tuple with everything that one can have."""

    file: str
    line: int = 1
    column: int | None = None

    @property
    def text(self) -> str:
        return f"{self.file}:{self.line}"

    @classmethod
    def first(cls, file: str) -> Theirs:
        return cls(file)


def test_a_named_tuple_is_what_it_is_elsewhere() -> None:
    for name in ("_fields", "_field_defaults", "__doc__", "__match_args__"):
        assert getattr(Ours, name) == getattr(Theirs, name), name
    assert (Ours.__module__, Ours.__qualname__) == (__name__, "Ours")
    assert repr(Ours("a", 2)).removeprefix("Ours") == repr(Theirs("a", 2)).removeprefix("Theirs")
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    ours = Ours.first("a")
    assert (ours.text, ours) == ("a:1", ("a", 1, None))
    assert ours._replace(line=2) == Ours("a", line=2)
    assert pickle.loads(pickle.dumps(ours)) == ours  # noqa: S301 - our own
    assert type(ours) is Ours
    with pytest.raises(AttributeError):
        ours.line = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        Ours()  # type: ignore[call-arg]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_every_dataclass_and_named_tuple_of_the_package_is_one_of_ours(path: Path) -> None:
    if path.stem == "records":
        return
    slow = {("dataclasses", "dataclass"), ("typing", "NamedTuple")}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found = {(node.module, alias.name) for alias in node.names}
            assert not found & slow, "import it from quota_advisor.records"
