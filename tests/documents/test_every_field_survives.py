"""What the models hold is read whichever way a file goes.

The readers drop what no table of keys names, and pass over documents without certain words. So a
field of a model may be filled when a document is read in full, and never in practice. Each field
has an example here; each example is read in full and in every way that lint reads files, and what
comes out is compared field by field.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest
import yaml

from quota_advisor import checks
from quota_advisor.checkout.chunks import CHUNK_BYTES, Chunk, chunks, read_chunk
from quota_advisor.checkout.inputs import FileKind, InputFile
from quota_advisor.derive.cases import ComposeCase, PodCase
from quota_advisor.documents import reader
from quota_advisor.documents.compose.keys import LIMIT, READ_KEYS, RESERVATION
from quota_advisor.documents.kubernetes import keys
from quota_advisor.documents.reader import Document, read_manifest, read_part
from quota_advisor.documents.yaml import exact_tree
from quota_advisor.documents.yaml.native_tree import NativeReader
from quota_advisor.documents.yaml.split import Interest, Part, documents, whole
from quota_advisor.model import manifest
from quota_advisor.model.lint import LintContext
from quota_advisor.model.manifest import (
    ComposeService,
    DocumentNote,
    KubeletConfig,
    Place,
    Pod,
    Resources,
    Scalar,
)
from quota_advisor.model.source import Location
from quota_advisor.model.suppression import Suppression
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.engine import CHECKS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES = sorted((HERE / "every_field").glob("*.yaml"))
SHOWN = (HERE / "every_field").relative_to(ROOT)
KUBERNETES = [path for path in EXAMPLES if path.stem not in ("compose", "values")]
READERS = sorted(
    path for path in Path(keys.__file__).parent.glob("*.py") if not path.stem.startswith("kubelet")
)
"""Modules that look into trees from which keys are dropped; a kubelet's settings are all kept."""

TABLES = "OBJECT_KEYS, POD_KEYS, CONTAINER_KEYS, REFERENCE_KEYS, WORKFLOW_KEYS"
KEYS_FILE = Path(keys.__file__).relative_to(ROOT)

BESIDE_OTHERS = {
    "featureGates",
    "kubeReserved",
    "kubeReservedCgroup",
    "reservedSystemCPUs",
    "systemReserved",
    "systemReservedCgroup",
}
"""Settings of a kubelet that hardly say anything where none of ``KUBELET_WORDS`` is beside them."""

Models = list[Document]
Way = Callable[[str, bytes], Iterable[Document]]


# ---- reading


@cache
def in_full(name: str, data: bytes) -> Models:
    """Read a file without dropping or passing over anything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "native_reader", lambda: None)
        patch.setattr(reader, "interest", lambda *_: Interest.ANYTHING)
        return list(read_manifest(name, data))


def as_json(data: bytes) -> bytes:
    return "\n".join(json.dumps(d, indent=1) for d in yaml.safe_load_all(data)).encode()


def as_list(data: bytes) -> bytes:
    items = list(yaml.safe_load_all(data))
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def read_between_others(name: str, data: bytes) -> Iterator[Document]:
    other = b"apiVersion: v1\nkind: Service\nmetadata: {name: other}\n"
    yield from read_manifest(name, b"---\n".join((other, data, other, b"# nothing\n")))


def read_one_by_one(name: str, data: bytes) -> Iterator[Document]:
    for part in documents(data, whole(data)):
        yield from read_part(name, data, part)


def read_in_chunks(name: str, data: bytes) -> Iterator[Document]:
    other = b"---\nkind: ConfigMap\ndata:\n  x: |\n" + b"    x\n" * (CHUNK_BYTES // 6)
    large = b"---\n".join((data.partition(b"---\n")[0], other, data.partition(b"---\n")[2], other))
    found = list(chunks([InputFile(name, FileKind.MANIFEST, len(large), data=large)]))
    assert len(found) > 1
    for chunk in found:
        assert isinstance(chunk, Chunk)
        text = read_chunk(chunk)
        yield from read_part(name, text, Part(0, len(text), chunk.first_line))


WAYS: dict[str, Way] = {
    "YAML": read_manifest,
    "JSON": lambda name, data: read_manifest(name, as_json(data)),
    "a List": lambda name, data: read_manifest(name, as_list(data)),
    "a List in JSON": lambda name, data: read_manifest(name, as_json(as_list(data))),
    "YAML between other documents": read_between_others,
    "YAML, one document after the other": read_one_by_one,
    "parts of a large file": read_in_chunks,
}


def applies(way: str, path: Path) -> bool:
    if path.stem == "values":
        return "JSON" not in way and "List" not in way
    return path in KUBERNETES or "List" not in way


# ---- models without what depends on the notation


def plain(value: Any) -> Any:
    """Return a model as dictionaries and lists, without places and quotes."""
    if isinstance(value, Scalar):
        return value.text
    if isinstance(value, Place | Location):
        return None
    if isinstance(value, Mapping):
        return {key: plain(held) for key, held in value.items()}
    if fields := fields_of(type(value)):
        return {"": type(value).__name__} | {f: plain(getattr(value, f)) for f in fields}
    return [plain(held) for held in value] if isinstance(value, tuple | list) else value


def fields_of(model: type) -> tuple[str, ...]:
    """Return the fields of a model that do not depend on the notation."""
    if model.__module__ not in (manifest.__name__, Suppression.__module__):
        return ()
    names: Iterable[str] = getattr(model, "_fields", getattr(model, "__dataclass_fields__", ()))
    return tuple(name for name in names if name not in ("line", "column"))


def without_notes(found: Iterable[Document]) -> Models:
    return [document for document in found if not isinstance(document, DocumentNote)]


def without_comments(found: Models) -> Models:
    """Leave out what only YAML can hold: suppressions in comments."""
    commented = Pod | ComposeService | KubeletConfig
    return [d._replace(suppressions=()) if isinstance(d, commented) else d for d in found]


class Difference(NamedTuple):
    """Where two readings first differ, with what is there in full and what otherwise."""

    where: str
    full: object
    other: object


def difference(where: str, full: Any, other: Any) -> Difference | None:
    if isinstance(full, dict) and isinstance(other, dict):
        where = full.get("", where)
        for key in sorted(full.keys() | other.keys()):
            if found := difference(f"{where}.{key}", full.get(key), other.get(key)):
                return found
        return None
    if isinstance(full, list) and isinstance(other, list):
        for a, b in zip(full, other, strict=False):
            if found := difference(where, a, b):
                return found
    return None if full == other else Difference(where, full, other)


def compared(full: Models, other: Models) -> Difference | None:
    return difference("", plain(full), plain(other))


def lost_key(path: Path, full: Models, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the key that has to be kept; empty if there is no such."""
    data = path.read_bytes()
    before = compared(full, without_notes(read_manifest(path.name, data)))
    for key in sorted(set(keys_in(list(yaml.safe_load_all(data)))) - keys.STRONG_KEYS):
        with monkeypatch.context() as patch:
            patch.setattr(reader, "native_reader", lambda: None)
            patch.setattr(exact_tree, "WEAK_KEYS", keys.WEAK_KEYS | {key})
            if compared(full, without_notes(read_manifest(path.name, data))) != before:
                return key
    return ""


def keys_in(node: Any) -> Iterator[str]:
    for key, value in node.items() if isinstance(node, dict) else ():
        yield str(key)
        yield from keys_in(value)
    for item in node if isinstance(node, list) else ():
        yield from keys_in(item)


# ---- every field


def models_of(hint: Any) -> Iterator[type]:
    """Yield the models that a type is made of."""
    if get_origin(hint) is not None or isinstance(hint, type(Union[int, str])):  # noqa: UP007
        for argument in get_args(hint):
            yield from models_of(argument)
    elif isinstance(hint, type) and fields_of(hint) and hint is not Place:
        yield hint


def all_models() -> list[type]:
    found = [model for model in models_of(Document) if model is not DocumentNote]
    for model in found:
        hints = get_type_hints(model)
        inner = [m for name in fields_of(model) for m in models_of(hints[name])]
        found.extend(m for m in dict.fromkeys(inner) if m not in found)
    return found


FIELDS = [(model, name) for model in all_models() for name in fields_of(model)]


def instances(value: object) -> Iterator[object]:
    """Yield a value and everything in it."""
    yield value
    held: Iterable[object] = ()
    if isinstance(value, Mapping):
        held = value.values()
    elif fields := fields_of(type(value)):
        held = [getattr(value, name) for name in fields]
    elif isinstance(value, tuple | list):
        held = value
    for inner in held:
        yield from instances(inner)


@pytest.mark.parametrize(
    ("model", "name"), FIELDS, ids=[f"{model.__name__}.{name}" for model, name in FIELDS]
)
def test_every_field_has_an_example(model: type, name: str) -> None:
    examples = [path.name for path in EXAMPLES]
    for path in EXAMPLES:
        every = instances(in_full(path.name, path.read_bytes()))
        found = [getattr(value, name) for value in every if isinstance(value, model)]
        if any(value not in (None, "", (), {}, False) for value in found):
            return
        if not found:
            examples.remove(path.name)
    pytest.fail(
        f"no example gives {model.__name__}.{name} a value: write what fills it into one of"
        f" {', '.join(examples)} in {SHOWN}/",
        pytrace=False,
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("which", WAYS)
def test_every_field_survives_every_way_of_reading(
    way: str, which: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not applies(which, path):
        return
    data = path.read_bytes()
    full = without_notes(in_full(path.name, data))
    other = without_notes(WAYS[which](path.name, data))
    if "JSON" in which or "List" in which:
        full, other = map(without_comments, (full, other))
    lost = compared(full, other)
    if lost is None:
        return
    key = lost_key(path, full, monkeypatch)
    advice = (
        f"the readers drop the key {key!r}. Add it to the table of {KEYS_FILE} for where it stands:"
        f" {TABLES}"
        if key
        else "a document is passed over, or read another way: see the words in"
        " quota_advisor/documents/yaml/split.py and what is done with them in reader.py beside it"
    )
    pytest.fail(
        f"{lost.where} of {path.name} is {lost.full!r} when read in full, and {lost.other!r} as"
        f" {which} by the {way} reader: {advice}",
        pytrace=False,
    )


@pytest.mark.parametrize("stem", ["pods", "custom"])
def test_the_native_reader_takes_the_examples(native: NativeReader, stem: str) -> None:
    data = (HERE / "every_field" / f"{stem}.yaml").read_bytes()
    found = native.read(data, whole(data))
    assert found is not None
    assert all(root is not None for *_, root in found)
    assert len(found) == len(list(documents(data, whole(data))))
    text = as_json(data)
    assert native.read_json(text, whole(text)) is not None


# ---- every key


def asked_keys(path: Path) -> Iterator[str]:
    """Yield the keys that a module looks up under a name that is written in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        asked: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            asked = node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked = node.args[0] if node.func.attr == "get" and node.args else None
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            # In a text, what a call makes of a key, it looks for a part of a name.
            asked = None if isinstance(node.comparators[0], ast.Call) else node.left
        name = asked.value if isinstance(asked, ast.Constant) else None
        if isinstance(name, str) and re.fullmatch(r"[A-Za-z][\w./-]*", name):
            yield name


@pytest.mark.parametrize("path", READERS, ids=lambda path: path.stem)
def test_every_key_that_is_looked_up_is_in_an_example(path: Path) -> None:
    texts = [example.read_bytes() for example in EXAMPLES]
    known = {key for text in texts for key in keys_in(list(yaml.safe_load_all(text)))}
    missing = sorted(set(asked_keys(path)) - known)
    assert not missing, (
        f"{path.name} asks for {', '.join(missing)}, and no example has that: write one into a file"
        f" of {SHOWN}/, which tells whether the readers keep it"
    )


@pytest.mark.parametrize("key", sorted(keys.STRONG_KEYS | keys.WEAK_KEYS | keys.OPEN_KEYS))
def test_every_key_in_the_tables_is_needed(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "native_reader", lambda: None)
    texts = [path.read_bytes() for path in EXAMPLES]
    variants = [v for text in texts for v in (text, as_list(text))]
    before = [without_notes(read_manifest("values.yaml", text)) for text in variants]
    for table in ("STRONG_KEYS", "WEAK_KEYS", "OPEN_KEYS"):
        monkeypatch.setattr(exact_tree, table, getattr(keys, table) - {key})
    after = [without_notes(read_manifest("values.yaml", text)) for text in variants]
    assert before != after, (
        f"no example in {SHOWN}/ needs {key!r}: write one that does, or take it out of {KEYS_FILE}"
    )


@pytest.mark.parametrize("key", keys.CONTAINER_LISTS)
def test_each_list_of_containers_makes_a_document_worth_reading(way: str, key: str) -> None:
    listed = f"spec:\n  podSpec:\n    {key}:\n    - name: a\n      image: b\n"
    found = list(read_manifest("x.yaml", f"apiVersion: a.b/v1\nkind: C\n{listed}".encode()))
    assert [type(document) for document in found] == [Pod], (
        f"the {way} reader passes over an object with {key} alone: add a word that is in it to"
        " POD_WORDS in quota_advisor/documents/yaml/split.py"
    )


def test_no_table_repeats_a_key_of_another() -> None:
    tables = [
        keys.OBJECT_KEYS, keys.POD_KEYS, keys.CONTAINER_KEYS, keys.REFERENCE_KEYS,
        keys.WORKFLOW_KEYS, keys.SIDES, keys.AMOUNTS, tuple(keys.SPEC_LISTS),
        tuple(keys.MISSPELT_CPU), tuple({k for path in keys.POD_PATHS.values() for k in path}),
    ]  # fmt: skip
    every = [key for table in tables for key in table]
    assert len(every) == len(set(every)), sorted(k for k in set(every) if every.count(k) > 1)


# ---- every name that a rule asks for


class Watched(dict[str, Any]):
    """A mapping that takes note of the keys that it is asked for."""

    def __init__(self, held: Mapping[str, Any], asked: set[str]) -> None:
        super().__init__(held)
        self.asked = asked

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)


class Asked(NamedTuple):
    """Names that rules ask for.

    Attributes:
        settings: Of a kubelet.
        services: Of a compose service: its settings.
        amounts: Of requests and limits.
    """

    settings: set[str]
    services: set[str]
    amounts: set[str]


def watched_pod(pod: Pod, asked: set[str]) -> Pod:
    def watch(resources: Resources) -> Resources:
        return resources._replace(
            requests=Watched(resources.requests, asked), limits=Watched(resources.limits, asked)
        )

    containers = tuple(c._replace(resources=watch(c.resources)) for c in pod.containers)
    return pod._replace(containers=containers, resources=watch(pod.resources))


@pytest.fixture
def asked() -> Asked:
    """Run every rule over the examples and take note of what it asks for by name."""
    checks.load_all()
    names = Asked(set(), set(), set())
    context = LintContext(node_millicores=4000)
    for path in EXAMPLES:
        for document in in_full(path.name, path.read_bytes()):
            case: object = None
            if isinstance(document, KubeletConfig):
                case = document._replace(settings=Watched(document.settings, names.settings))
            elif isinstance(document, ComposeService):
                service = document._replace(settings=Watched(document.settings, names.services))
                case = ComposeCase(service, context)
            elif isinstance(document, Pod):
                case = PodCase(watched_pod(document, names.amounts), context)
            for rule, (judged, check) in CHECKS.items():
                if isinstance(case, judged):
                    list(check(case, load_catalog()[rule]))
    return names


def test_every_resource_that_a_rule_asks_for_is_read(asked: Asked) -> None:
    assert "cpu" in asked.amounts
    missing = asked.amounts - {*keys.AMOUNTS}
    assert not missing, f"a rule asks for {missing}: add it to AMOUNTS in {KEYS_FILE}"


def test_every_setting_that_a_rule_asks_for_is_in_an_example(asked: Asked) -> None:
    for stem, wanted in (("kubelet", asked.settings), ("compose", asked.services)):
        path = HERE / "every_field" / f"{stem}.yaml"
        models = in_full(path.name, path.read_bytes())
        held = {
            key
            for model in models
            if isinstance(model, KubeletConfig | ComposeService)
            for key in model.settings
        }
        assert wanted, stem
        missing = sorted(wanted - held)
        assert not missing, f"a rule asks for {missing}: write it into {SHOWN}/{path.name}"


def test_every_setting_of_a_kubelet_is_found_by_its_words(asked: Asked, way: str) -> None:
    names = {name.partition(".")[0] for name in asked.settings}
    assert names > BESIDE_OTHERS
    for name in sorted(names - BESIDE_OTHERS):
        text = f"apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec:\n kubelet:\n  {name}: x\n"
        found = list(read_manifest("x.yaml", text.encode()))
        assert [list(d.settings) for d in found if isinstance(d, KubeletConfig)] == [[name]], (
            f"an object that says nothing of a kubelet but {name} is passed over by the {way}"
            " reader: add a word to KUBELET_WORDS in quota_advisor/documents/yaml/split.py, or the"
            " name to BESIDE_OTHERS here if it matters beside others only"
        )


def test_every_key_of_a_compose_service_about_cpu_is_a_setting() -> None:
    data = (HERE / "every_field" / "compose.yaml").read_bytes()
    web = next(s for s in in_full("compose.yaml", data) if isinstance(s, ComposeService))
    written = [key for key in keys_in(yaml.safe_load(data)["services"]["web"]) if "cpu" in key]
    assert sorted(setting.rpartition(".")[2] for setting in web.settings) == sorted(
        [*written, "replicas"]
    )
    assert {*READ_KEYS, LIMIT, RESERVATION} < web.settings.keys()
