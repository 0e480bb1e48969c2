"""A YAML file as documents, and which of them can hold anything of interest.

``---`` at the start of a line, followed by white space or nothing, ends a document wherever it
stands: YAML allows it neither in a quoted scalar nor in a flow collection, and a block scalar is
indented by at least one blank. So documents can be told apart without being parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from quota_advisor.documents.kubernetes.keys import (
    ABOUT_NAMESPACES,
    CONFIG_MAP,
    KUBELET_CONFIGURATION,
    POD_PATHS,
    WITHOUT_PODS,
)
from quota_advisor.patterns import pattern
from quota_advisor.records import NamedTuple

_MARK = b"\n---"
_AFTER_MARK = (b" ", b"\t", b"\n", b"\r", b"")
_BLANK_REST = pattern(rb"---(?:[ \t]+(?:#[^\n]*)?)?(?:\r?\n|\Z)")


class Part(NamedTuple):
    """A run of whole documents, or one document.

    Attributes:
        start: Offset of its first byte.
        end: Offset after its last one.
        line: Number of the line on which it starts.
    """

    start: int
    end: int
    line: int


class Interest(Enum):
    """What a document can hold, judged by a few words in it."""

    NOTHING = "nothing"
    PODS = "pods"
    ANYTHING = "anything"


def whole(data: bytes) -> Part:
    """Return a file as one part."""
    return Part(0, len(data), 1)


def documents(data: bytes, part: Part) -> Iterator[Part]:
    """Yield the documents of a part of a file; blank ones are among them."""
    start, line = part.start, part.line
    if data.startswith(b"---", start, part.end) and _is_mark(data, start, part.end):
        start, line = _behind_mark(data, start, part.end, line)
    while start < part.end:
        end = _next_mark(data, start, part.end)
        yield Part(start, end, line)
        if end >= part.end:
            return
        line += data.count(b"\n", start, end)
        start, line = _behind_mark(data, end, part.end, line)


def _next_mark(data: bytes, start: int, end: int) -> int:
    """Return where the next ``---`` line begins, or the end."""
    at = start
    while (found := data.find(_MARK, at, end)) >= 0:
        if _is_mark(data, found + 1, end):
            # Content may begin on the line of the mark: the mark is then part of the document.
            return found + 1
        at = found + 1
    return end


def _is_mark(data: bytes, at: int, end: int) -> bool:
    return data[at + 3 : min(at + 4, end)] in _AFTER_MARK


def _behind_mark(data: bytes, at: int, end: int, line: int) -> tuple[int, int]:
    """Step over ``---`` lines, unless a document begins on one."""
    while match := _BLANK_REST.match(data, at, end):
        at, line = match.end(), line + 1
    return at, line


# ---- interest

WITH_TEXTS = CONFIG_MAP.encode()
"""A known kind whose texts can be a kubelet's configuration."""

KNOWN_KINDS = {
    # These hold no pod template, even if a text in them looks like one.
    WITH_TEXTS: Interest.NOTHING,
    **dict.fromkeys((kind.encode() for kind in WITHOUT_PODS), Interest.NOTHING),
    # These are judged even without containers: that those are missing is a finding.
    **dict.fromkeys((kind.encode() for kind in POD_PATHS), Interest.PODS),
}
"""What documents of a kind can hold, whatever words are in them."""

KUBELET_KIND = KUBELET_CONFIGURATION.encode()

KUBELET_WORDS = (KUBELET_KIND, b"ManagerPolicy", b"cpuCFSQuota")
"""A document without any of these says next to nothing about a kubelet that a rule judges.

Most documents are searched for each word, so each has a price: reserved CPUs alone, without a
policy, are not worth one.
"""

NAMESPACE_WORDS = tuple(kind.encode() for kind in ABOUT_NAMESPACES)
"""A document without any of these says nothing about the pods of its namespace."""

EXACT_WORDS = (*NAMESPACE_WORDS, *KUBELET_WORDS)
"""A document with one of these is read in full."""

_KIND = pattern(rb"""["']?([A-Za-z]+)["']?[ \t\r]*(?:#|\n|\Z)""")
_TEMPLATE_LINE = pattern(
    rb"^\{[{%]|^[ ]*(?:- +)*(?:\{[{%]|[\w./\"'$-]+:[ ]+\{[{%])",
    re.MULTILINE,
)
JSON_SERVICES = b'"services"'
_SERVICES = (b"services:", JSON_SERVICES)
"""How a compose document names its services."""

POD_WORDS = (b"ontainers",)
"""A document with one of these can hold a pod."""

AMOUNT_KEYS = (b"cpu", b"CPU")
"""How keys begin that can hold an amount of CPU in an object without a pod."""

_AMOUNT_KEY = pattern(rb"(?:%s)[A-Za-z \t\r\"']{0,8}:" % b"|".join(AMOUNT_KEYS))

OTHER_WORDS = (*EXACT_WORDS, *_SERVICES)
"""A document without any of these can hold nothing else that is judged."""

TEMPLATE_WORDS = (b"{{", b"{%")
"""A document without any of these is no template."""


def interest(data: bytes, part: Part) -> Interest:
    """Return what a document can hold.

    A broken document that can hold nothing of interest stays unnoticed: this is no YAML linter.
    """
    start, end = part.start, part.end
    kind = _kind(data, start, end)
    if kind in KNOWN_KINDS:
        has_text = kind == WITH_TEXTS and data.find(KUBELET_KIND, start, end) >= 0
        return Interest.ANYTHING if has_text else KNOWN_KINDS[kind]
    if any(data.find(word, start, end) >= 0 for word in EXACT_WORDS):
        return Interest.ANYTHING
    if not kind and _has_services(data, start, end):
        return Interest.ANYTHING
    if any(data.find(word, start, end) >= 0 for word in POD_WORDS):
        return Interest.PODS
    if may_hold_amounts(data, start, end):
        return Interest.PODS
    return Interest.ANYTHING if _is_template(data, start, end) else Interest.NOTHING


def may_hold_amounts(data: bytes, start: int, end: int) -> bool:
    """Whether there can be an object with amounts of CPU that holds no pod."""
    return data.find(b"apiVersion", start, end) >= 0 and has_amount_key(data, start, end)


def has_amount_key(data: bytes, start: int, end: int) -> bool:
    """Whether a key says that an amount of CPU follows."""
    return _AMOUNT_KEY.search(data, start, end) is not None


def _is_template(data: bytes, start: int, end: int) -> bool:
    """Whether there are braces of a template outside of texts; dashboards have some inside."""
    if all(data.find(word, start, end) < 0 for word in TEMPLATE_WORDS):
        return False
    return _TEMPLATE_LINE.search(data, start, end) is not None


def _has_services(data: bytes, start: int, end: int) -> bool:
    if data.startswith(b"services:", start, end):
        return True
    return any(data.find(word, start, end) >= 0 for word in (b"\nservices:", JSON_SERVICES))


def _kind(data: bytes, start: int, end: int) -> bytes:
    """Return the kind of a document in block style, if there is exactly one at its margin."""
    at = start if data.startswith(b"kind:", start, end) else data.find(b"\nkind:", start, end) + 1
    if at <= start and not data.startswith(b"kind:", start, end):
        return b""
    value = at + len(b"kind:")
    while data[value : value + 1] == b" ":
        value += 1
    match = _KIND.match(data, value, end)
    if match is None or data.find(b"\nkind:", value, end) >= 0:
        return b""
    return match[1]
