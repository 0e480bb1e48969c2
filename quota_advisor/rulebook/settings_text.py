"""The text of a configuration file as plain data, and on which line each value stands.

Every key counts once, and aliases for as much as they stand for: 13 KB of them could mean more
than fits into memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from quota_advisor.records import dataclass

MAX_VALUES = 20_000
"""In a configuration, aliases counted for what they stand for; the longest have some hundreds."""

MAX_DEPTH = 50
"""Of lists and mappings in each other; a configuration needs six."""

Place = tuple[str | int, ...]
"""Keys and indexes on the way to a value."""

_MERGE = "tag:yaml.org,2002:merge"


class TextError(Exception):
    """A text that is no configuration.

    Attributes:
        what: What is wrong.
        line: Where, from 1; 0 where that is not known.
    """

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


@dataclass(slots=True)
class Settings:
    """The content of a file.

    Attributes:
        data: As YAML understands it.
        lines: Line of each value, of an entry of a mapping that of its key.
    """

    data: Any = None
    lines: dict[Place, int] = field(default_factory=dict)

    def line_of(self, place: Place) -> int:
        """Return the line of a value, or of the nearest one around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def read_settings(text: bytes) -> Settings:
    """Return what a text holds.

    Raises:
        TextError: It is no YAML, a key stands in it twice, or it is larger than it looks.
    """
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            return _Reader(loader).read(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise TextError(f"this is no YAML: {_one_line(error.problem)}", line) from error
    except RecursionError as error:
        raise TextError("lists or mappings in each other are too deep") from error
    # A character that YAML does not have, a date that there is not.
    except (yaml.YAMLError, ValueError) as error:
        raise TextError(f"this is no YAML: {_one_line(str(error))}") from error


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


class _Reader:
    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._found = Settings()
        self._left = MAX_VALUES

    def read(self, node: yaml.Node | None) -> Settings:
        """Return the content of a document, None of an empty one."""
        if node is not None:
            self._found.lines[()] = _line(node)
            self._found.data = self._value(node, ())
        return self._found

    def _value(self, node: yaml.Node, place: Place) -> Any:
        self._left -= 1
        if self._left < 0:
            raise TextError(f"more than {MAX_VALUES} values, aliases counted", _line(node))
        if len(place) > MAX_DEPTH:
            raise TextError(f"more than {MAX_DEPTH} levels of lists and mappings", _line(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*place, at)) for at, item in enumerate(node.value)]
        return self._scalar(node)

    def _item(self, node: yaml.Node, place: Place) -> Any:
        self._found.lines[place] = _line(node)
        return self._value(node, place)

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            return self._loader.construct_object(node)
        except ConstructorError as error:
            raise TextError(f"tag {node.tag} means nothing here", _line(node)) from error
        except ValueError as error:
            raise TextError(f"this is no value: {_one_line(str(error))}", _line(node)) from error

    def _mapping(self, node: yaml.MappingNode, place: Place) -> Mapping[Any, Any]:
        found: dict[Any, Any] = {}
        first: dict[Any, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self._key(key_node)
            if key in first:
                raise TextError(
                    f"{key!r} is there a second time, see line {first[key]}", _line(key_node)
                )
            first[key] = _line(key_node)
            self._found.lines[*place, key] = _line(key_node)
            found[key] = self._value(value_node, (*place, key))
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                self._merge(value_node, found, place)
        return found

    def _key(self, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            raise TextError("a key is a list or a mapping", _line(node))
        return self._scalar(node)

    def _merge(self, node: yaml.Node, found: dict[Any, Any], place: Place) -> None:
        """Add what ``<<`` refers to; what is written here, or came first, counts."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise TextError("<< takes over mappings only", _line(source))
            for key, value in self._value(source, (*place, "<<")).items():
                found.setdefault(key, value)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
