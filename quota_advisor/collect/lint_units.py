"""Unit files of an input, grouped and merged as systemd would merge them on a host.

Where the input holds a tree with systemd's directories (an image, a package, a role of a
configuration tool) they have systemd's order; any other directory with units stands for itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quota_advisor.collect.unit_files import SYSTEM_SEARCH_PATH, names_with_drop_ins
from quota_advisor.documents.unit_merge import merge_unit, unit_section
from quota_advisor.model.limit import Missing
from quota_advisor.model.unit import HiddenFile, UnitConfig, UnitFile
from quota_advisor.model.unit_kind import UNIT_SECTIONS

_NOT_HERE = Missing(reason="its unit file is not in the input")


def merge_units(files: Iterable[UnitFile]) -> Iterator[tuple[UnitConfig, ...]]:
    """Yield the units of each tree, merged.

    Drop-ins whose unit is not in the input are merged among themselves: they are judged, and
    what only the whole unit could tell stays open.
    """
    trees: dict[str, dict[str, _Directory]] = {}
    for file in files:
        top, name, drop_in = _split(file)
        tree, rank = _tree(top)
        directory = trees.setdefault(tree, {}).setdefault(top, _Directory(top, rank))
        directory.add(file, name, drop_in)
    for tree in sorted(trees):
        ordered = sorted(trees[tree].values(), key=lambda d: (d.rank, d.top))
        yield tuple(_units(ordered))


def quadlet_service(file: UnitFile) -> UnitConfig:
    """Return the service that a quadlet becomes, as far as the file itself settles it.

    What stands in quadlet's own sections is turned into something else, or refused, by quadlet.
    """
    stem, _, kind = _owner(file.path).rpartition(".")
    name = stem if kind in ("container", "kube") else f"{stem}-{kind}"
    kept = tuple(a for a in file.assignments if a.section not in _QUADLET_SECTIONS)
    return merge_unit(f"{name}.service", replace(file, assignments=kept))


def slices_above(unit: UnitConfig, known: Mapping[str, UnitConfig]) -> tuple[UnitConfig, ...]:
    """Return the slices above a unit that are in the input, nearest first.

    Args:
        unit: The unit; where its own file is not in the input, only a slice's name tells.
        known: All units of its tree by name.
    """
    stem, _, kind = unit.name.rpartition(".")
    path = stem.rpartition("-")[0] if kind == "slice" else _slice_of(unit).removesuffix(".slice")
    found: list[UnitConfig] = []
    while path:
        if above := known.get(f"{path}.slice"):
            found.append(above)
        path = path.rpartition("-")[0]
    return tuple(found)


def _slice_of(unit: UnitConfig) -> str:
    """Return the slice that a unit is put into, empty where that is not known."""
    section = UNIT_SECTIONS.get(unit.name.rpartition(".")[2], "")
    wanted = "" if isinstance(unit.fragment, Missing) or "@" in unit.name else "system.slice"
    for file in unit.files:
        for written in file.assignments:
            if (written.section, written.key) == (section, "Slice") and written.value:
                wanted = written.value
    return "" if "%" in wanted else wanted


_QUADLET_SECTIONS = frozenset(
    {"Container", "Pod", "Kube", "Volume", "Network", "Build", "Image", "Quadlet"}
)


def _owner(path: str) -> str:
    """Return the name of a file, or of the one that it is a drop-in of."""
    directory, _, name = path.rpartition("/")
    if name.endswith(".conf") and directory.endswith(".d"):
        return directory.rpartition("/")[2].removesuffix(".d")
    return name


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


def _split(file: UnitFile) -> tuple[str, str, str]:
    """Return directory, unit name, and the drop-in's name where the file is one.

    A file whose name does not tell (standard input) is a unit of the type its sections are for.
    """
    directory, _, name = file.path.rpartition("/")
    if name.endswith(".conf") and directory.endswith(".d"):
        top, _, stem = directory.rpartition("/")
        return top, stem.removesuffix(".d"), name
    if not unit_section(name):
        sections = {assignment.section for assignment in file.assignments}
        types = (kind for kind, section in UNIT_SECTIONS.items() if section in sections)
        name = f"{name}.{next(types, 'service')}"
    return directory, name, ""


def _tree(top: str) -> tuple[str, int]:
    """Return the root of the tree that a directory belongs to, and its priority there."""
    absolute = "/" + top.strip("/")
    for rank, known in enumerate(SYSTEM_SEARCH_PATH):
        if absolute.endswith(known):
            return absolute.removesuffix(known), rank
    return f"={top}", 0


def _units(directories: Sequence[_Directory]) -> Iterator[UnitConfig]:
    used: set[str] = set()
    names = {name for d in directories for name in d.units}
    stems = {stem for d in directories for stem in d.drop_ins}
    own = {stem for stem in stems if "." in stem and not stem.rpartition(".")[0].endswith("-")}
    for name in sorted(names | own):
        yield _unit(name, directories, used)
    # Drop-ins for a type or a prefix, where the input holds no unit that they apply to.
    for stem in sorted(stems - names - own):
        group = _drop_ins([stem], directories)
        if any(file.path not in used for file in group.files):
            yield merge_unit(stem, _NOT_HERE, group.files, group.hidden)


def _unit(name: str, directories: Sequence[_Directory], used: set[str]) -> UnitConfig:
    named = ([d.units[n] for d in directories if n in d.units] for n in _fragment_names(name))
    # An instance's own file is taken before its template's, which it does not hide.
    fragments = next((files for files in named if files), [])
    stems = [*names_with_drop_ins(name), name.rpartition(".")[2]]
    group = _drop_ins(stems if unit_section(name) else [name], directories)
    used.update(file.path for file in group.files)
    hidden = [HiddenFile(path=f.path, hidden_by=fragments[0].path) for f in fragments[1:]]
    fragment = fragments[0] if fragments else _NOT_HERE
    return merge_unit(name, fragment, group.files, [*hidden, *group.hidden])


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
    # What is specific comes before what is general, and only then do directories count.
    levels: Sequence[Sequence[str]] = [stems[:-1], stems[-1:]] if len(stems) > 1 else [stems]
    for level in levels:
        for directory in directories:
            for stem in level:
                found: Mapping[str, UnitFile] = directory.drop_ins.get(stem, {})
                yield from found.items()
