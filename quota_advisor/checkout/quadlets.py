"""Podman quadlets of an input, merged with their drop-ins as quadlet merges them.

Source: podman-systemd.unit(5), podman ``cmd/quadlet/main.go`` (``loadUnitDropins``),
``pkg/systemd/parser/unitfile.go`` (``GetUnitDropinPaths``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from quota_advisor.checkout.unit_trees import Merged, Naming, merged_trees, root_of
from quota_advisor.documents.systemd.merge import merge_unit
from quota_advisor.documents.systemd.names import names_with_drop_ins
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import QUADLET_SECTIONS, Quadlet
from quota_advisor.model.unit import UnitConfig, UnitFile

SEARCH_PATH = (
    "/run/containers/systemd",
    "/etc/containers/systemd",
    "/usr/share/containers/systemd",
)
"""Where quadlet looks for those of the system, highest priority first."""


def merge_quadlets(files: Iterable[UnitFile]) -> Iterator[Quadlet]:
    """Yield quadlets with their drop-ins; drop-ins without their quadlet make one themselves."""
    for tree in merged_trees(files, Naming(_tree, _name, _stems)):
        for found in tree:
            fragment = () if isinstance(found.fragment, Missing) else (found.fragment,)
            yield Quadlet(found.name, (*fragment, *found.drop_ins), _service(found))


def _service(found: Merged) -> UnitConfig:
    """Return the service that a quadlet becomes, as far as the files themselves settle it.

    What stands in quadlet's own sections is turned into something else, or refused, by quadlet.
    """
    stem, _, kind = found.name.rpartition(".")
    name = stem if kind in ("container", "kube") else f"{stem}-{kind}"
    fragment = found.fragment
    kept = fragment if isinstance(fragment, Missing) else _for_systemd(fragment)
    drop_ins = tuple(map(_for_systemd, found.drop_ins))
    return merge_unit(f"{name}.service", kept, drop_ins, found.hidden)


def _for_systemd(file: UnitFile) -> UnitFile:
    kept = tuple(a for a in file.assignments if a.section not in (*QUADLET_SECTIONS, "Quadlet"))
    return replace(file, assignments=kept)


def _tree(top: str) -> tuple[str, int]:
    return root_of(top, SEARCH_PATH)


def _name(file: UnitFile) -> str:
    """Return a file's name; where it does not tell the kind (standard input), sections do."""
    name = file.path.rpartition("/")[2]
    kinds = [section.lower() for section in QUADLET_SECTIONS]
    if name.rpartition(".")[2] in kinds:
        return name
    sections = {assignment.section for assignment in file.assignments}
    found = (section.lower() for section in QUADLET_SECTIONS if section in sections)
    return f"{name}.{next(found, 'container')}"


def _stems(name: str) -> list[str]:
    stem, _, kind = name.rpartition(".")
    # The rules for names are those of systemd, which does not know the kinds.
    services = names_with_drop_ins(f"{stem}.service") or [f"{stem}.service"]
    return [*(f"{s.removesuffix('service')}{kind}" for s in services), kind]
