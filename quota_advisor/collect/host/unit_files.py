"""Unit files of a host: which files make up a unit, found as systemd finds them.

Source: systemd 257 ``path-lookup.c``, ``unit-file.c``, ``dropin.c`` and ``conf-files.c``.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from quota_advisor.collect.host.root import Entry, HostRoot, describe, why
from quota_advisor.documents.systemd.merge import CPU_KEYS, merge_unit, unit_section
from quota_advisor.documents.systemd.names import (
    SYSTEM_SEARCH_PATH,
    UnitName,
    is_prefix,
    may_alias,
    names_with_drop_ins,
    parse_name,
)
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.errors import CollectError
from quota_advisor.model.limit import Missing
from quota_advisor.model.problem import Problem
from quota_advisor.model.unit import HiddenFile, NeverRead, UnitConfig, UnitFile
from quota_advisor.model.unit_kind import UNIT_SECTIONS
from quota_advisor.records import dataclass

_MAX_ALIAS_STEPS = 8
_NULL = "/dev/null"
_PUT_AWAY = re.compile(
    r"\.(?:bak|backup|disabled|dist|dpkg-\w+|example|md|old|off|orig|rej|rpm\w+|sample|save|sw[op]"
    r"|ucf-\w+)\b|^README",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Directory:
    """One directory of the search path, listed once: each name, and whether it is a link."""

    path: str
    entries: dict[str, bool]
    folders: frozenset[str]


class UnitFileReader:
    """Finds, reads and merges the files of units.

    Directories are listed once, when first needed: make a new reader to see later changes.

    Args:
        root: The host.
        search_path: Directories of unit files, highest priority first.
    """

    def __init__(self, root: HostRoot, search_path: Sequence[str] = SYSTEM_SEARCH_PATH) -> None:
        self._root = root
        self._search_path = search_path
        self._problems: dict[str, Problem] = {}
        self._unknown: set[str] = set()
        self._listed: dict[str, Mapping[str, bool]] = {}
        self._directories = self._list_all()
        self._targets = self._index()
        self._aliases = self._index_aliases()
        self._drop_in_names: dict[str, tuple[str, list[str]]] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far."""
        return tuple(self._problems.values())

    def names(self) -> list[str]:
        """Return the units that have a file or drop-ins and may have a CPU quota, sorted.

        Templates are no units, their instances are known only to a running manager unless a
        file names them; aliases stand under the name of their unit.
        """
        found = {name for name in self._targets if self._is_unit(name)}
        for directory in self._directories:
            units = (name[:-2] for name in directory.entries if name.endswith(".d"))
            found.update(u for u in units if self._is_unit(u) and not is_prefix(u))
        return sorted({self._canonical(name) for name in found})

    def read(self, name: str) -> UnitConfig:
        """Return the merged configuration of one unit, under its own name if given an alias.

        Raises:
            CollectError: This cannot be the name of a unit.
        """
        if parse_name(name) is None:
            raise CollectError(
                f"{name!r} is not the name of a unit",
                hint="give it in full, for example api.service",
            )
        name = self._canonical(name)
        path = self._follow(name)
        fragment = self._read_fragment(path) if path else _no_file(name)
        hidden = list(self._hidden_fragments(path)) if path else []
        folders = list(self._drop_in_directories(name))
        paths = _drop_in_paths(folders, hidden)
        drop_ins = [self._read_file(file) for file in paths]
        present = [file for file in drop_ins if isinstance(file, UnitFile)]
        looked_at = (path, *paths, *(top for top, _ in folders), *self._search_path)
        config = merge_unit(name, fragment, present, hidden)
        passed_over = tuple(self._never_read(name))
        return replace(config, unread=self._unread(looked_at), never_read=passed_over)

    # ---- directories

    def _list_all(self) -> list[_Directory]:
        seen: set[str] = set()
        listed = []
        for path in self._search_path:
            resolved = self._resolve(path)
            # With a merged /usr, /lib is /usr/lib under another name.
            if resolved not in seen:
                seen.add(resolved)
                listed.append(self._list(path))
        return listed

    def _list(self, path: str) -> _Directory:
        """List a directory; what its names are is kept for those that are read later."""
        entries: list[Entry] = []
        try:
            entries = self._root.entries(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._report(path, error)
        links = {entry.name: entry.is_link for entry in entries}
        folders = frozenset(entry.name for entry in entries if entry.is_dir)
        self._listed[path] = links
        return _Directory(path, links, folders)

    def _resolve(self, path: str) -> str:
        try:
            return self._root.resolve(path)
        except OSError:
            return path

    def _report(self, path: str, error: OSError) -> None:
        self._problems.setdefault(path, Problem(subject=path, reason=why(error)))
        # systemd cannot read what is not a regular file either, so nothing is unknown then.
        if error.errno not in (errno.EISDIR, errno.ENOTDIR, errno.EINVAL):
            self._unknown.add(path)

    def _unread(self, paths: Iterable[str]) -> tuple[Missing, ...]:
        failed = (self._problems[path] for path in paths if path in self._unknown)
        return tuple(Missing(reason=f"{problem.subject}: {problem.reason}") for problem in failed)

    # ---- names

    def _index(self) -> dict[str, str]:
        """Map each name to the path of its file, or to the name that it is an alias of."""
        tops = {self._resolve(directory.path) for directory in self._directories}
        targets: dict[str, str] = {}
        for directory in self._directories:
            for name, is_link in directory.entries.items():
                parsed = None if name in directory.folders else parse_name(name)
                if parsed is None or name in targets:
                    continue
                path = posixpath.join(directory.path, name)
                target = self._alias_target(path, parsed, tops) if is_link else path
                if target:
                    targets[name] = target
        return targets

    def _alias_target(self, path: str, name: UnitName, tops: set[str]) -> str:
        """Return what a symbolic link stands for: itself, another unit, or nothing."""
        top = self._resolve(posixpath.dirname(path))
        parent, target = posixpath.split(posixpath.join(top, self._root.link_target(path) or ""))
        if not _is_below(self._resolve(parent), tops):
            # A mask, or a unit file that lives elsewhere and is linked into the search path.
            return path
        other = parse_name(target)
        return target if other and target != name.full and may_alias(name, other) else ""

    def _index_aliases(self) -> dict[str, list[str]]:
        """Map each unit's own name to the aliases that lead to it."""
        aliases: dict[str, list[str]] = {}
        for name in sorted(self._targets):
            path = self._follow(name)
            own, parsed = posixpath.basename(path), parse_name(name)
            template = parse_name(own)
            if template and template.is_template and parsed and parsed.instance:
                own = template.instantiate(parsed.instance)
            if path and own != name:
                aliases.setdefault(own, []).append(name)
        return aliases

    def _follow(self, name: str) -> str:
        """Return the path of the file that a name leads to over its aliases; empty if none."""
        for _ in range(_MAX_ALIAS_STEPS):
            target = self._targets.get(name, "")
            if not target and (parsed := parse_name(name)) and parsed.instance:
                target = self._targets.get(parsed.template, "")
            if not target or target.startswith("/"):
                return target
            name = target
        return ""

    def _canonical(self, name: str) -> str:
        """Return the name under which systemd knows a unit."""
        parsed = parse_name(name)
        own = parse_name(posixpath.basename(self._follow(name)))
        if own is None or parsed is None:
            return name
        if own.is_template and parsed.instance:
            return own.instantiate(parsed.instance)
        return own.full

    def _all_names(self, name: str) -> list[str]:
        """Return a unit's own name, then its aliases."""
        names = [name, *self._aliases.get(name, ())]
        parsed = parse_name(name)
        if parsed and parsed.instance:
            for alias in self._aliases.get(parsed.template, ()):
                template = parse_name(alias)
                if template and template.is_template:
                    names.append(template.instantiate(parsed.instance))
        return list(dict.fromkeys(n for n in names if self._canonical(n) == name))

    def _is_unit(self, name: str) -> bool:
        parsed = parse_name(name)
        return parsed is not None and not parsed.is_template and bool(unit_section(name))

    # ---- files

    def _read_fragment(self, path: str) -> UnitFile | Missing:
        if self._is_null(path):
            return Missing(reason=f"masked by {path}")
        data = self._read_bytes(path)
        if data == b"":
            return Missing(reason=f"masked by {path}, which is empty")
        return parse_unit_file(path, data) if isinstance(data, bytes) else data

    def _read_file(self, path: str) -> UnitFile | Missing:
        data = b"" if self._is_null(path) else self._read_bytes(path)
        return parse_unit_file(path, data) if isinstance(data, bytes) else data

    def _is_null(self, path: str) -> bool:
        # Not read: an image below --root has no such device.
        return self._is_link(path) and self._resolve(path) == _NULL

    def _is_link(self, path: str) -> bool:
        """Whether a file is a link, as the listing of its directory said."""
        top, name = posixpath.split(path)
        listed = self._listed.get(top)
        return self._root.link_target(path) is not None if listed is None else listed[name]

    def _read_bytes(self, path: str) -> bytes | Missing:
        try:
            return self._root.read_bytes(path)
        except OSError as error:
            self._report(path, error)
            return Missing(reason=describe(error, path))

    def _hidden_fragments(self, path: str) -> Iterator[HiddenFile]:
        top, name = posixpath.split(path)
        after = False
        for directory in self._directories:
            if after and name in directory.entries:
                yield HiddenFile(path=posixpath.join(directory.path, name), hidden_by=path)
            after = after or directory.path == top

    def _drop_in_directories(self, name: str) -> Iterator[tuple[str, list[str]]]:
        """Yield each existing directory of drop-ins with its files, highest priority first."""
        seen: set[str] = set()
        type_level = name.rpartition(".")[2]
        for group in (*map(names_with_drop_ins, self._all_names(name)), [type_level]):
            for directory in self._directories:
                for stem in group:
                    if f"{stem}.d" not in directory.entries:
                        continue
                    top, files = self._drop_ins(posixpath.join(directory.path, f"{stem}.d"))
                    if top not in seen:
                        seen.add(top)
                        yield top, files

    def _never_read(self, name: str) -> Iterator[NeverRead]:
        """Yield CPU settings meant as drop-ins of a unit that systemd does not find."""
        stem = name.rpartition(".")[0]
        for directory in self._directories:
            own, short = f"{name}.d", f"{stem}.d"
            if own in directory.entries:
                reason = "the name of a drop-in ends in .conf"
                yield from self._settings(posixpath.join(directory.path, own), reason, unread=True)
            if short in directory.folders and stem not in UNIT_SECTIONS:
                reason = f"the directory for drop-ins of {name} is {own}"
                yield from self._settings(posixpath.join(directory.path, short), reason)

    def _settings(self, path: str, reason: str, *, unread: bool = False) -> Iterator[NeverRead]:
        """Yield the CPU settings in the files of a directory, or in those that are no drop-ins."""
        listed = self._list(path)
        for file in sorted(set(listed.entries) - listed.folders):
            is_drop_in = file.endswith(".conf")
            if _is_put_away(file) or (unread and is_drop_in):
                continue
            parsed = self._read_aside(posixpath.join(path, file))
            for assignment in parsed.assignments if parsed else ():
                if assignment.key in CPU_KEYS:
                    yield NeverRead(assignment=assignment, reason=reason)

    def _read_aside(self, path: str) -> UnitFile | None:
        """Return a file that is no part of the unit: what cannot be read is no problem."""
        try:
            return parse_unit_file(path, self._root.read_bytes(path))
        except OSError:
            return None

    def _drop_ins(self, path: str) -> tuple[str, list[str]]:
        """Return where a directory of drop-ins really is, and the drop-ins in it."""
        if path not in self._drop_in_names:
            top = self._resolve(path)
            entries = self._list(top).entries
            names = (n for n in entries if n.endswith(".conf") and not n.startswith("."))
            self._drop_in_names[path] = top, sorted(names, key=os.fsencode)
        return self._drop_in_names[path]


def _drop_in_paths(folders: Iterable[tuple[str, list[str]]], hidden: list[HiddenFile]) -> list[str]:
    """Return drop-ins in the order in which they apply; note those that have no effect."""
    chosen: dict[str, str] = {}
    for top, files in folders:
        for file in files:
            path = posixpath.join(top, file)
            if file in chosen:
                hidden.append(HiddenFile(path=path, hidden_by=chosen[file]))
            else:
                chosen[file] = path
    return [chosen[file] for file in sorted(chosen, key=os.fsencode)]


def _is_put_away(file: str) -> bool:
    """Whether the name says that somebody keeps the file and does not mean it to be read."""
    return file.startswith(".") or file.endswith("~") or _PUT_AWAY.search(file) is not None


def _is_below(path: str, tops: set[str]) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in tops)


def _no_file(name: str) -> Missing:
    return Missing(reason=f"no directory of the search path has a file for {name}")
