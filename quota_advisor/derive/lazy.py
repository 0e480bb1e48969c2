"""Properties that are worked out when somebody first asks, and then kept with their object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class derived(Generic[T]):  # noqa: N801 - used like property
    """A property worked out once for each object.

    ``functools.cached_property`` takes a lock each time before Python 3.12, which costs more
    than what most of these work out.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> derived[T]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: object | None, kind: type) -> derived[T] | T:
        """Work it out, and leave the result where the next look finds it first."""
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._work_out(owner)
        return value
