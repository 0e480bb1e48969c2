"""Keys about CPU in compose services that only their spelling keeps from being right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from quota_advisor.documents.compose.keys import LIMIT, LIMITS, RESERVATION, RESERVATIONS, folded
from quota_advisor.documents.compose.values import Bad, Unknown, Value, read_setting
from quota_advisor.documents.yaml.tree import Mapping, Node, as_mapping, pairs, scalar
from quota_advisor.documents.yaml.written import Entry, Path
from quota_advisor.records import NamedTuple

_IN_SERVICE = {folded(key): key for key in ("cpus", "cpu_quota", "cpu_period")}
"""Keys whose values can be judged; "cpu" is not among them: it may as well mean cpu_shares."""

_IN_AMOUNTS = {"cpu": "cpus", "cpus": "cpus"}
_HOLDERS = {tuple(path.split(".")): path for path in (LIMITS, RESERVATIONS)}


class Renaming(NamedTuple):
    """A key and its right name.

    Attributes:
        entry: The key.
        new: Its name.
        why: One line for the user.
    """

    entry: Entry
    new: str
    why: str


def renamings(root: Mapping, path: Path, found: Sequence[Entry]) -> Iterator[Renaming]:
    """Yield what some keys of a mapping can only mean, if compose takes the service with them.

    Args:
        root: A compose document.
        path: Of the mapping.
        found: Keys of it that compose does not know.
    """
    holder = _HOLDERS.get(tuple(map(str, path[2:])))
    if len(path) < len(("services", "a")) or path[0] != "services" or (path[2:] and not holder):
        return
    service = _below(root, ("services", str(path[1])))
    meant = _IN_AMOUNTS if holder else _IN_SERVICE
    if not _is_in_order(service):
        return
    for entry in found:
        new = meant.get(folded(entry.name))
        if new is not None:
            why = f"{entry.name} is no key of compose; as {new} it takes effect"
            yield Renaming(entry, new, why)


def _is_in_order(service: Mapping) -> bool:
    """Whether compose and the engine take a service once every key has its right name."""
    settings = [*_settings(service, _IN_SERVICE)]
    for way, path in _HOLDERS.items():
        amounts = _below(service, way)
        settings += ((f"{path}.{key}", node) for key, node in _settings(amounts, _IN_AMOUNTS))
    if max(Counter(key for key, _ in settings).values(), default=0) > 1:
        return False
    values = {key: _read(key, node) for key, node in settings}
    # Beside cpus, limits of anything else count as a limit of no CPUs, which differs.
    if "cpus" in values and LIMIT not in values and _below(service, LIMITS.split(".")):
        return False
    if any(isinstance(value, Bad | Unknown) for value in values.values()):
        return False
    return _agree({key: v for key, v in values.items() if isinstance(v, Decimal) and v > 0})


def _settings(mapping: Mapping, meant: dict[str, str]) -> Iterator[tuple[str, Node]]:
    return ((meant[plain], n) for key, n in pairs(mapping) if (plain := folded(key)) in meant)


def _below(node: Node, way: Sequence[str]) -> Mapping:
    for step in way:
        node = node.get(step) if type(node) is dict else None
    return as_mapping(node)


def _read(key: str, node: Node) -> Value:
    written = scalar(node)
    return read_setting(key, written) if written is not None else Bad("it is no number")


def _agree(numbers: dict[str, Decimal]) -> bool:
    """Whether no two limits of a service contradict each other."""
    limits = {numbers[key] for key in ("cpus", LIMIT) if key in numbers}
    if limits and ("cpu_quota" in numbers or "cpu_period" in numbers):
        return False
    reserved = numbers.get(RESERVATION)
    return len(limits) <= 1 and (reserved is None or all(reserved <= most for most in limits))
