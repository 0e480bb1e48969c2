from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.documents.yaml.written import Written, written_mappings

EVERYWHERE = {(line, column) for line in range(1, 20) for column in range(1, 40)}

TEXT = """\
# größer
items:
- name: 'a'  # one
  "limits":
     cpu: 1  # of four

     # behind
  braces: {cpu: 2}
  empty:
- &b {name: b}
- *b
merged: {<<: {cpu: 3}}
"""


def written(text: str) -> dict[tuple[str | int, ...], Written]:
    return {w.path: w for w in written_mappings(text.encode(), 1, EVERYWHERE)}


def test_keys_and_values_are_where_they_are_written() -> None:
    found = {
        (*mapping.path, entry.name): (
            TEXT[entry.key.start : entry.key.end],
            TEXT[entry.value.start : entry.value.end],
            entry.key[2:],
            entry.inside,
        )
        for mapping in written(TEXT).values()
        for entry in mapping.entries
        if mapping.path
    }
    assert found == {
        ("items", 0, "name"): ("name", "'a'", (3, 3), 0),
        ("items", 0, "limits"): ('"limits"', "cpu: 1", (4, 3), 6),
        ("items", 0, "limits", "cpu"): ("cpu", "1", (5, 6), 0),
        ("items", 0, "braces"): ("braces", "{cpu: 2}", (8, 3), 0),
        ("items", 0, "braces", "cpu"): ("cpu", "2", (8, 12), 0),
        ("items", 0, "empty"): ("empty", "", (9, 3), 0),
        ("merged", "<<"): ("<<", "{cpu: 3}", (12, 10), 0),
    }


def test_what_holds_a_mapping_is_known() -> None:
    mappings = written(TEXT)
    under = {path: mapping.under and mapping.under.name for path, mapping in mappings.items()}
    assert under == {
        (): None,
        ("items", 0): None,
        ("items", 0, "limits"): "limits",
        ("items", 0, "braces"): "braces",
        ("merged",): "merged",
    }
    assert [path for path, mapping in mappings.items() if mapping.flow] == [
        ("merged",),
        ("items", 0, "braces"),
    ]


def test_only_mappings_at_the_places_asked_for_are_found() -> None:
    found = [w.path for w in written_mappings(TEXT.encode(), 1, {(5, 11), (8, 12)})]
    assert sorted(map(str, found)) == [
        "('items', 0, 'braces')",
        "('items', 0, 'limits')",
    ]


def test_values_that_aliases_lead_to_are_marked() -> None:
    text = "a: &x 1\nb: *x\nc: {d: *x}\ne: {f: {g: *x}}\nh: 1\n"
    assert {e.name: e.shared for e in written(text)[()].entries} == {
        "a": True,
        "b": True,
        "c": True,
        "e": False,
        "h": False,
    }


PLAIN = st.text("abé", min_size=1, max_size=3)


@given(
    st.recursive(
        PLAIN, lambda inner: st.dictionaries(PLAIN, inner, min_size=1, max_size=3), max_leaves=8
    ),
    st.integers(0, 3),
)
def test_every_key_reads_as_its_text(value: object, above: int) -> None:
    def block(node: object, indent: int) -> str:
        if not isinstance(node, dict):
            return f" {node}\n"
        entries = (f"{' ' * indent}{key}:{block(inner, indent + 2)}" for key, inner in node.items())
        return "\n" + "".join(entries)

    text = "# é\n" * above + "root:" + block(value, 1)
    lines = text.split("\n")
    for mapping in written(text).values():
        for entry in mapping.entries:
            assert text[entry.key.start : entry.key.end] == entry.name
            assert lines[entry.key.line - 1].startswith(entry.name, entry.key.column - 1)
            last = text[entry.value.start : entry.value.end].rpartition("\n")[2]
            assert last == last.strip() or "\n" in text[entry.value.start : entry.value.end]
