"""Files of an input by what they are named for, with the drop-ins that apply to it.

systemd and quadlet find drop-ins alike; where they look, and what they call things, differs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from quota_advisor.model.limit import Missing
from quota_advisor.model.unit import HiddenFile, UnitFile
from quota_advisor.records import NamedTuple, dataclass

_NOT_HERE = Missing(reason="its unit file is not in the input")


class Naming(NamedTuple):
    """What systemd and quadlet have each of its own.

    Attributes:
        tree: Returns the root of the tree that a directory belongs to, and its priority there.
        name: Returns the name of a file that is no drop-in.
        stems: Returns the names whose drop-ins apply to a name: most specific first, then what
            stands for its whole type.
    """

    tree: Callable[[str], tuple[str, int]]
    name: Callable[[UnitFile], str]
    stems: Callable[[str], list[str]]


class Merged(NamedTuple):
    """A name with its files.

    Attributes:
        name: Of the unit or quadlet; of a directory of drop-ins without one, before its ``.d``.
        fragment: Its own file, or why there is none.
        drop_ins: In the order in which they apply.
        hidden: Files of the same names that come later in the order of directories.
    """

    name: str
    fragment: UnitFile | Missing
    drop_ins: tuple[UnitFile, ...]
    hidden: tuple[HiddenFile, ...]


def merged_trees(files: Iterable[UnitFile], naming: Naming) -> Iterator[tuple[Merged, ...]]:
    """Yield what the files of each tree make up."""
    trees: dict[str, dict[str, _Directory]] = {}
    for file in files:
        top, stem, drop_in = split_drop_in(file.path)
        tree, rank = naming.tree(top)
        directory = trees.setdefault(tree, {}).setdefault(top, _Directory(top, rank))
        directory.add(file, stem or naming.name(file), drop_in)
    for tree in sorted(trees):
        ordered = sorted(trees[tree].values(), key=lambda d: (d.rank, d.top))
        yield tuple(_merged(ordered, naming))


def split_drop_in(path: str) -> tuple[str, str, str]:
    """Return where a file counts, what it is a drop-in of, and its own name as one.

    The latter two are empty for a file that is no drop-in.
    """
    directory, _, name = path.rpartition("/")
    if name.endswith(".conf") and directory.endswith(".d"):
        top, _, stem = directory.rpartition("/")
        return top, stem.removesuffix(".d"), name
    return directory, "", ""


def root_of(top: str, search_path: Sequence[str]) -> tuple[str, int]:
    """Return the tree of a directory that ends in one of a search path, else one of its own."""
    absolute = "/" + top.strip("/")
    for rank, known in enumerate(search_path):
        if absolute.endswith(known):
            return absolute.removesuffix(known), rank
    return f"={top}", 0


@dataclass(slots=True)
class _Directory:
    """One directory with unit files and with directories of drop-ins.

    Attributes:
        top: Its path.
        rank: Its priority in its tree; the lowest comes first.
        units: Unit files by name.
        drop_ins: By name of the unit, or of what stands before ``.d``, then by file name.
    """

    top: str
    rank: int
    units: dict[str, UnitFile] = field(default_factory=dict)
    drop_ins: dict[str, dict[str, UnitFile]] = field(default_factory=dict)

    def add(self, file: UnitFile, name: str, drop_in: str) -> None:
        if drop_in:
            self.drop_ins.setdefault(name, {})[drop_in] = file
        else:
            self.units[name] = file


def _merged(directories: Sequence[_Directory], naming: Naming) -> Iterator[Merged]:
    used: set[str] = set()
    names = {name for d in directories for name in d.units}
    stems = {stem for d in directories for stem in d.drop_ins}
    own = {stem for stem in stems if "." in stem and not stem.rpartition(".")[0].endswith("-")}
    for name in sorted(names | own):
        found = _with_drop_ins(name, directories, naming)
        used.update(file.path for file in found.drop_ins)
        yield found
    # Drop-ins for a type or a prefix, where the input holds nothing that they apply to.
    for stem in sorted(stems - names - own):
        group = _drop_ins([stem], directories)
        if any(file.path not in used for file in group.files):
            yield Merged(stem, _NOT_HERE, tuple(group.files), tuple(group.hidden))


def _with_drop_ins(name: str, directories: Sequence[_Directory], naming: Naming) -> Merged:
    named = ([d.units[n] for d in directories if n in d.units] for n in _fragment_names(name))
    # An instance's own file wins over that of its template, but does not hide it.
    fragments = next((files for files in named if files), [])
    group = _drop_ins(naming.stems(name), directories)
    hidden = [HiddenFile(path=f.path, hidden_by=fragments[0].path) for f in fragments[1:]]
    fragment = fragments[0] if fragments else _NOT_HERE
    return Merged(name, fragment, tuple(group.files), (*hidden, *group.hidden))


def _fragment_names(name: str) -> tuple[str, ...]:
    """Return a unit's own name and, for an instance, its template's."""
    prefix, at, rest = name.partition("@")
    instance, _, kind = rest.rpartition(".")
    return (name, f"{prefix}@.{kind}") if at and instance else (name,)


@dataclass(slots=True)
class _Group:
    files: list[UnitFile] = field(default_factory=list)
    hidden: list[HiddenFile] = field(default_factory=list)


def _drop_ins(stems: Sequence[str], directories: Sequence[_Directory]) -> _Group:
    """Return the drop-ins of some names in the order in which they apply."""
    group = _Group()
    chosen: dict[str, UnitFile] = {}
    for file_name, file in _by_priority(stems, directories):
        if file_name in chosen:
            winner = chosen[file_name].path
            group.hidden.append(HiddenFile(path=file.path, hidden_by=winner))
        else:
            chosen[file_name] = file
    group.files = [chosen[name] for name in sorted(chosen, key=os.fsencode)]
    return group


def _by_priority(
    stems: Sequence[str], directories: Sequence[_Directory]
) -> Iterator[tuple[str, UnitFile]]:
    # Drop-ins for the name come before those for the type; within each, the directory decides.
    levels: Sequence[Sequence[str]] = [stems[:-1], stems[-1:]] if len(stems) > 1 else [stems]
    for level in levels:
        for directory in directories:
            for stem in level:
                found: Mapping[str, UnitFile] = directory.drop_ins.get(stem, {})
                yield from found.items()
