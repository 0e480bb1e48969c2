"""What is certain about the findings of one YAML document.

In the API's own kinds: the name of CPU, of limits, requests or resources that only its spelling
keeps from being right; limits and requests that stand in a container instead of in its resources;
an amount that reads as another number than it looks, rewritten as the number that is in force. In
a kubelet's configuration: the name of an option. In compose files: keys about CPU. No number is
made up, and no amount is put where the API or compose would refuse it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from quota_advisor.documents.compose.recognise import is_compose
from quota_advisor.documents.kubernetes.cpu_manager import KNOWN_OPTIONS
from quota_advisor.documents.kubernetes.keys import MISSPELT_CPU, POD_PATHS
from quota_advisor.documents.kubernetes.quantity import NANO, CpuQuantity, parse_cpu
from quota_advisor.documents.yaml.tree import (
    Mapping,
    Node,
    as_mapping,
    is_list,
    is_null,
    pairs,
    scalar,
    text,
)
from quota_advisor.documents.yaml.written import Entry, Path, Span, Written
from quota_advisor.fix.compose_plan import renamings
from quota_advisor.fix.spelling import is_spelling_of
from quota_advisor.fix.yaml_changes import Change, Nest, Rename, Rewrite
from quota_advisor.records import NamedTuple

MISPLACED = "resources-misplaced"
MISREAD = "misread-cpu-amount"
OPTION = "cpu-manager-config"
COMPOSE_KEY = "compose-unknown-cpu-key"
RULES = (MISPLACED, MISREAD, OPTION, COMPOSE_KEY)

_ABOUT_KEYS = (MISPLACED, COMPOSE_KEY)
"""Rules that point at a key; the others point at its value."""

Asked = Collection[tuple[str, int, int]]
"""Findings to settle, each as rule, line and column."""

_SIDES = ("limits", "requests")
_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
"""Resources of which any amount is fine; others have rules of their own."""

_WITH_RESOURCES = ("containers", "initContainers")
"""Ephemeral containers may have none."""

_OPTIONS = ("cpuManagerPolicyOptions",)


class Aim(NamedTuple):
    """A finding that a change is for.

    Attributes:
        rule: Its rule.
        at: What it points at.
        why: What the change does about it, in one line.
    """

    rule: str
    at: Span
    why: str


class Proposal(NamedTuple):
    """A change, and the findings that it is for."""

    change: Change
    aims: tuple[Aim, ...]


def plan(root: Node, mappings: Iterable[Written], asked: Asked) -> Iterator[Proposal]:
    """Yield the certain changes for some findings of a document.

    Args:
        root: Its tree.
        mappings: The same as it is written.
        asked: The findings.
    """
    for mapping in mappings:
        entries = [e for e in mapping.entries if _is_asked(e, asked)]
        if entries and is_compose(root, known=True):
            yield from _compose_keys(as_mapping(root), mapping, asked)
            continue
        spot = _spot(root, mapping.path) if entries else None
        if spot is not None:
            yield from _fixes(_Case(spot, mapping, asked))


def _is_asked(entry: Entry, asked: Asked) -> bool:
    return any(_asks(rule, entry, asked) for rule in RULES)


def _asks(rule: str, entry: Entry, asked: Asked) -> bool:
    at = entry.key if rule in _ABOUT_KEYS else entry.value
    return (rule, at.line, at.column) in asked


def _compose_keys(root: Mapping, mapping: Written, asked: Asked) -> Iterator[Proposal]:
    """Yield misspelt keys of compose services."""
    found = [entry for entry in mapping.entries if _asks(COMPOSE_KEY, entry, asked)]
    for entry, new, why in renamings(root, mapping.path, found):
        change = Rename(mapping.path, entry, new)
        yield Proposal(change, (Aim(COMPOSE_KEY, entry.key, why),))


# ---- where


class _Spot(NamedTuple):
    """Where a mapping is in its object.

    Attributes:
        kind: Of the object.
        owner: The container, pod or other object that it belongs to.
        is_container: The owner is a container that may have resources.
        inside: The way from the owner to the mapping.
        node: The mapping.
    """

    kind: str
    owner: Mapping
    is_container: bool
    inside: Path
    node: Mapping


def _spot(root: Node, path: Path) -> _Spot | None:
    """Return where a mapping is in the innermost object around it; None outside of pods."""
    nodes = [root]
    for step in path:
        nodes.append(_child(nodes[-1], step))
    start = next((i for i in reversed(range(len(nodes))) if _is_object(nodes[i])), None)
    node = nodes[-1]
    if start is None or type(node) is not dict:
        return None
    kind, inside = text(as_mapping(nodes[start])["kind"]), path[start:]
    way = POD_PATHS.get(kind, ())
    if inside[: len(way)] != way:
        return None
    inside = inside[len(way) :]
    is_container = bool(way) and len(inside) > 1 and inside[0] in _WITH_RESOURCES
    inside = inside[2:] if is_container else inside
    owner = as_mapping(nodes[len(path) - len(inside)])
    return _Spot(kind, owner, is_container, inside, node)


def _child(node: Node, step: str | int) -> Node:
    if isinstance(step, str):
        return node.get(step) if type(node) is dict else None
    return node[2 + step] if is_list(node) else None


def _is_object(node: Node) -> bool:
    return type(node) is dict and "kind" in node and "apiVersion" in node


# ---- what


class _Case(NamedTuple):
    """A mapping that findings are in."""

    spot: _Spot
    written: Written
    asked: Asked

    def found(self, rule: str) -> Iterator[Entry]:
        """Yield the keys that a rule has something to say about."""
        node = self.spot.node
        return (e for e in self.written.entries if _asks(rule, e, self.asked) and e.name in node)


def _fixes(case: _Case) -> Iterator[Proposal]:
    kind, _, is_container, inside, _ = case.spot
    if kind == "KubeletConfiguration" and inside == _OPTIONS:
        yield from _options(case)
    elif kind in POD_PATHS and inside in (("resources", "limits"), ("resources", "requests")):
        yield from _names(case)
        yield from _numbers(case)
    elif kind in POD_PATHS and inside == ("resources",):
        yield from _sides(case)
    elif kind in POD_PATHS and is_container:
        yield from _moves(case) if not inside else _holders(case)


def _names(case: _Case) -> Iterator[Proposal]:
    """Yield names of CPU that the API does not know."""
    node, owner = case.spot.node, case.spot.owner
    if not _is_in_order(owner, owner["resources"]):
        return
    for entry in case.found(MISPLACED):
        is_alone = "cpu" not in node and MISSPELT_CPU.intersection(node) == {entry.name}
        if is_alone and is_spelling_of(entry.name, "cpu") and _is_amount(node[entry.name]):
            value = text(node[entry.name])
            why = f"{entry.name} is no resource of the API; as cpu: {value} it takes effect"
            yield _rename(case, entry, "cpu", MISPLACED, entry.key, why)


def _sides(case: _Case) -> Iterator[Proposal]:
    """Yield misspelt names of limits and requests."""
    _, owner, _, _, node = case.spot
    meant = _only_meanings(_SIDES, {*node, *owner})
    for entry in case.found(MISPLACED):
        right = meant.get(entry.name)
        if right and _are_amounts(node[entry.name]) and _is_in_order(owner, node):
            why = f"{entry.name} was ignored; as {right} it takes effect"
            yield _rename(case, entry, right, MISPLACED, entry.key, why)


def _holders(case: _Case) -> Iterator[Proposal]:
    """Yield misspelt names of resources."""
    _, owner, _, inside, node = case.spot
    meant = _only_meanings(("resources",), owner)
    under = case.written.under
    if under is None or inside != (under.name,) or under.name not in meant:
        return
    amounts = dict(pairs(node))
    is_all = amounts.keys() <= set(_SIDES) and all(map(_are_amounts, amounts.values()))
    found = next(case.found(MISPLACED), None)
    if found is not None and is_all and _is_in_order(owner, node):
        why = f"{under.name} was ignored; as resources it takes effect"
        change = Rename(case.written.path[:-1], under, "resources")
        yield Proposal(change, (Aim(MISPLACED, found.key, why),))


def _options(case: _Case) -> Iterator[Proposal]:
    """Yield misspelt options of the CPU manager."""
    node = case.spot.node
    meant = _only_meanings(KNOWN_OPTIONS, node)
    for entry in case.found(OPTION):
        right, value = meant.get(entry.name), text(node[entry.name])
        if right not in (None, entry.name) and value in ("true", "false"):
            why = f"{entry.name} is no option of the kubelet; as {right}: {value} it takes effect"
            yield _rename(case, entry, right, OPTION, entry.value, why)


def _rename(case: _Case, entry: Entry, new: str, rule: str, at: Span, why: str) -> Proposal:
    change = Rename(case.written.path, entry, new)
    return Proposal(change, (Aim(rule, at, why),))


def _numbers(case: _Case) -> Iterator[Proposal]:
    """Yield amounts of CPU that are whole numbers and are not written as such."""
    for entry in case.found(MISREAD):
        written = scalar(case.spot.node[entry.name])
        amount = parse_cpu(written) if written else None
        if written is None or not isinstance(amount, CpuQuantity) or amount.nanocores % NANO:
            continue
        number = str(amount.nanocores // NANO)
        if entry.name == "cpu" and number != written.text:
            why = f"{written.text} is read as {number}: written so, what is in force stays"
            change = Rewrite(case.written.path, entry, written.text, number)
            yield Proposal(change, (Aim(MISREAD, entry.value, why),))


def _moves(case: _Case) -> Iterator[Proposal]:
    """Yield limits and requests of a container that stand beside its resources."""
    node, entries = case.spot.node, case.written.entries
    stray = [entry for entry in case.found(MISPLACED) if entry.name in _SIDES]
    if not stray or not _are_neighbours(stray, entries):
        return
    if not all(not entry.shared and _are_amounts(node[entry.name]) for entry in stray):
        return
    resources = node.get("resources")
    before = None if resources is None else _before(entries, stray[0])
    if resources is not None and not _takes(resources, before, stray):
        return
    if _is_in_order(node, resources):
        change = Nest(case.written.path, case.written.flow, tuple(stray), "resources", before)
        why = "was ignored in the container; in its resources it takes effect"
        aims = [Aim(MISPLACED, entry.key, f"{entry.name} {why}") for entry in stray]
        yield Proposal(change, tuple(aims))


def _are_neighbours(some: Sequence[Entry], entries: Sequence[Entry]) -> bool:
    """Whether no other key stands between some keys, and none of the same sort elsewhere."""
    first = entries.index(some[0])
    return list(entries[first : first + len(some)]) == list(some)


def _before(entries: Sequence[Entry], entry: Entry) -> Entry | None:
    """Return the resources that stand right before a key."""
    index = entries.index(entry)
    before = entries[index - 1] if index else None
    return before if before is not None and before.name == "resources" else None


def _takes(resources: Node, before: Entry | None, stray: Iterable[Entry]) -> bool:
    """Whether what is indented behind the resources becomes part of them."""
    if before is None or before.shared:
        return False
    if is_null(resources):
        return before.value.start == before.value.end
    if type(resources) is not dict or not before.inside:
        return False
    return not any(is_spelling_of(key, entry.name) for key in resources for entry in stray)


# ---- whether


def _only_meanings(known: Iterable[str], keys: Iterable[str]) -> dict[str, str]:
    """Return the keys that can only be a spelling of one name, with that name.

    Args:
        known: The names that there are.
        keys: All keys that are written; where two mean the same, it is open which one counts.
    """
    meant: dict[str, list[str]] = {}
    for name in known:
        for key in keys:
            if is_spelling_of(key, name):
                meant.setdefault(name, []).append(key)
    alone = [(spelled[0], name) for name, spelled in meant.items() if len(spelled) == 1]
    several = Counter(key for key, _ in alone)
    return {key: name for key, name in alone if several[key] == 1}


def _is_amount(node: Node) -> bool:
    """Whether the API takes a scalar for an amount."""
    value = scalar(node)
    quantity = parse_cpu(value) if value else None
    return isinstance(quantity, CpuQuantity) and quantity.nanocores >= 0


def _are_amounts(node: Node) -> bool:
    """Whether the API takes a mapping for limits or requests."""
    if type(node) is not dict or len(node) == 1:
        return False
    return all(name in _RESOURCES and _is_amount(value) for name, value in pairs(node))


def _is_in_order(owner: Mapping, resources: Node) -> bool:
    """Whether no request is above its limit once everything has its right name and place."""
    meant: dict[str, dict[str, Node]] = {side: {} for side in _SIDES}
    for holder in (owner, resources):
        for key, node in pairs(holder) if type(holder) is dict else ():
            for side in _SIDES:
                if type(node) is dict and is_spelling_of(key, side):
                    meant[side].update((_meant(name), value) for name, value in pairs(node))
    limits, requests = meant["limits"], meant["requests"]
    return not any(_exceeds(requests[name], limits[name]) for name in requests.keys() & limits)


def _meant(name: str) -> str:
    return "cpu" if name in MISSPELT_CPU else name


def _exceeds(request: Node, limit: Node) -> bool:
    amounts = [parse_cpu(value) for node in (request, limit) if (value := scalar(node))]
    numbers = [a.nanocores for a in amounts if isinstance(a, CpuQuantity)]
    return len(numbers) == len(("request", "limit")) and numbers[0] > numbers[1]
