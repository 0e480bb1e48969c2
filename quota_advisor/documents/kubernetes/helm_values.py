"""Values of a Helm chart: they hold resources of containers as custom resources do.

They are known by their file's name, because nothing in them says what they are.
"""

from __future__ import annotations

import re
from typing import cast

from quota_advisor.documents.yaml.tree import PLACES, Mapping, Node, is_object
from quota_advisor.patterns import pattern

KIND = "HelmValues"
"""What such a file is called where an object has its kind."""

_NAME = pattern(r"(?:.*[-_.])?values(?:[-_.].*)?\.ya?ml", re.DOTALL)


def is_values(file: str) -> bool:
    """Whether a file's name is one that values of charts have."""
    return _NAME.fullmatch(file.rpartition("/")[2]) is not None


def as_object(root: Node) -> Mapping | None:
    """Return values as an object that can be searched; None for what is one, or no mapping."""
    if type(root) is not dict or is_object(root):
        return None
    places = root[PLACES]
    line, column = places[:2]
    texts = {"apiVersion": "helm.sh/values", "kind": KIND}
    told = {key: [text, True, line, column] for key, text in texts.items()}
    added = len(told.keys() - root)
    return cast("Mapping", {**root, PLACES: [*places, *places[:2] * added], **told})
