"""Unit files of an input, grouped and merged as systemd would merge them on a host.

Where the input holds a tree with systemd's directories (an image, a package, a role of a
configuration tool) they have systemd's order; any other directory with units stands for itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from quota_advisor.checkout.unit_trees import Naming, merged_trees, root_of
from quota_advisor.documents.systemd.merge import merge_unit, unit_section
from quota_advisor.documents.systemd.names import SYSTEM_SEARCH_PATH, names_with_drop_ins
from quota_advisor.model.limit import Missing
from quota_advisor.model.unit import UnitConfig, UnitFile
from quota_advisor.model.unit_kind import UNIT_SECTIONS


def merge_units(
    files: Iterable[UnitFile], empty: Collection[str] = ()
) -> Iterator[tuple[UnitConfig, ...]]:
    """Yield the units of each tree, merged.

    Drop-ins whose unit is not in the input are merged among themselves: they are judged, and
    what only the whole unit could tell stays open. A unit whose own file is empty is masked.

    Args:
        files: All files.
        empty: Paths of those that hold nothing, or are links to nowhere.
    """
    for tree in merged_trees(files, Naming(_tree, _name, _stems)):
        yield tuple(merge_unit(*found) for found in tree if _path(found.fragment) not in empty)


def _path(fragment: UnitFile | Missing) -> str | None:
    return fragment.path if isinstance(fragment, UnitFile) else None


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


def _tree(top: str) -> tuple[str, int]:
    return root_of(top, SYSTEM_SEARCH_PATH)


def _name(file: UnitFile) -> str:
    """Return a file's name; where it does not tell the type (standard input), sections do."""
    name = file.path.rpartition("/")[2]
    if unit_section(name):
        return name
    sections = {assignment.section for assignment in file.assignments}
    types = (kind for kind, section in UNIT_SECTIONS.items() if section in sections)
    return f"{name}.{next(types, 'service')}"


def _stems(name: str) -> list[str]:
    kind = name.rpartition(".")[2]
    return [*names_with_drop_ins(name), kind] if unit_section(name) else [name]
