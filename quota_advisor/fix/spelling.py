"""Whether a name is another one, misspelt so slightly that nothing else can be meant."""

from __future__ import annotations


def is_spelling_of(written: str, name: str) -> bool:
    """Whether two names differ in case, in blanks, or by one slip, or not at all."""
    folded, known = written.lower().replace(" ", ""), name.lower()
    return folded == known or _is_one_slip(folded, known)


def _is_one_slip(left: str, right: str) -> bool:
    """Whether one letter is missing, too many, wrong, or swapped with its neighbour."""
    start = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    if start is None:
        return abs(len(left) - len(right)) == 1
    a, b = left[start:], right[start:]
    swapped = a[1::-1] == b[:2] and a[2:] == b[2:]
    return swapped or a[1:] == b[1:] or a[1:] == b or a == b[1:]
