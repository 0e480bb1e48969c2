"""``dataclass`` and ``NamedTuple``, made in a fraction of the time.

The one of the standard library writes six functions for each class and compiles each of them, half
a millisecond in all; a command that judges one small file makes fifty such classes and calls few of
those functions. Here comparing, hashing and showing work without code of their own, and
``__init__`` is compiled when the first object is made. Fields, ``replace``, ``match`` and pickling
are as in the standard library.

``typing.NamedTuple`` compiles the annotation of each field, to see whether it could be a type.
"""

from __future__ import annotations

import collections
import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["NamedTuple", "dataclass"]

_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass
    from typing import NamedTuple
else:

    def dataclass(
        *,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
        eq: bool = True,
        order: bool = False,
    ) -> Callable[[type], type]:
        """Make a dataclass of a class; the arguments mean what they mean in :mod:`dataclasses`."""

        def make(cls: type) -> type:
            bare = dataclasses.dataclass(
                cls, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
            )
            return _with_methods(bare, frozen=frozen, eq=eq, order=order)

        return make

    class _Named(type):
        """Makes a named tuple of each class derived from :class:`NamedTuple`."""

        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            return _named_tuple(name, namespace)

    class NamedTuple(metaclass=_Named):
        """What :class:`typing.NamedTuple` is."""


def _with_methods(cls: type, *, frozen: bool, eq: bool, order: bool) -> type:
    methods: dict[str, Any] = {"__init__": _first_init(cls, frozen=frozen), "__repr__": _show}
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    if eq:
        methods |= _comparisons(cls, frozen=frozen, order=order)
    for name, method in methods.items():
        # What a class says itself goes before; a hash is what Python takes away with an equality.
        if cls.__dict__.get(name) is None:
            setattr(cls, name, method)
    return cls


_make_tuple: Callable[..., type] = collections.namedtuple  # noqa: PYI024 - names come later


def _named_tuple(name: str, namespace: dict[str, Any]) -> type:
    fields = list(namespace.get("__annotations__", ()))
    defaults = [namespace.pop(field) for field in fields if field in namespace]
    made = _make_tuple(name, fields, defaults=defaults, module=namespace.pop("__module__"))
    for key, value in namespace.items():
        setattr(made, key, value)
    return made


# ---- making one


def _first_init(cls: type, *, frozen: bool) -> Callable[..., None]:
    """Return what makes the first object, and compiles what makes the others."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:  # noqa: N807
        compiled = _compiled_init(cls, frozen=frozen)
        setattr(cls, "__init__", compiled)  # noqa: B010 - to type checkers it is not ours to set
        compiled(self, *args, **kwargs)

    return __init__


def _compiled_init(cls: type, *, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"_absent": object(), "_put": object.__setattr__}
    parameters, steps = ["self"], []
    # Those by position come first, as in the signature that type checkers see.
    for field in sorted(dataclasses.fields(cls), key=lambda field: bool(field.kw_only)):
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
        value = _parameter(field, parameters, known)
        steps.append(
            f"_put(self, {field.name!r}, {value})" if frozen else f"self.{field.name} = {value}"
        )
    if hasattr(cls, "__post_init__"):
        steps.append("self.__post_init__()")
    body = "\n ".join(steps or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {body}", known)  # noqa: S102 - our own text
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(field: dataclasses.Field[Any], parameters: list[str], known: dict[str, Any]) -> str:
    """Add the parameter of a field, and return its value."""
    name, default = field.name, f"default_{field.name}"
    if field.default is not dataclasses.MISSING:
        known[default] = field.default
        parameters.append(f"{name}={default}")
    elif field.default_factory is not dataclasses.MISSING:
        known[default] = field.default_factory
        parameters.append(f"{name}=_absent")
        return f"{default}() if {name} is _absent else {name}"
    else:
        parameters.append(name)
    return name


# ---- the rest


def _comparisons(cls: type, *, frozen: bool, order: bool) -> dict[str, Any]:
    values = _values([field.name for field in dataclasses.fields(cls) if field.compare])

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        if other.__class__ is self.__class__:
            return bool(values(self) == values(other))
        return NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    found: dict[str, Any] = {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}
    if order:
        found |= {
            f"__{name}__": _ordering(f"__{name}__", values) for name in ("lt", "le", "gt", "ge")
        }
    return found


def _values(names: list[str]) -> Callable[[object], Any]:
    """Return what returns the fields of an object as something to compare."""
    return attrgetter(*names) if names else lambda _self: ()


def _ordering(name: str, values: Callable[[object], Any]) -> Callable[[object, object], Any]:
    def compare(self: object, other: object) -> Any:
        if other.__class__ is self.__class__:
            return getattr(values(self), name)(values(other))
        return NotImplemented

    return compare


def _names(self: Any) -> Iterable[str]:
    names: Iterable[str] = self.__dataclass_fields__
    return names


def _show(self: object) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in _names(self))
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: object, name: str, *_value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r} of {type(self).__name__}")


def _state(self: object) -> list[object]:
    return [getattr(self, name) for name in _names(self)]


def _restore(self: object, state: list[object]) -> None:
    for name, value in zip(_names(self), state, strict=True):
        object.__setattr__(self, name, value)
