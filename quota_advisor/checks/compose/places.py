"""Where settings of a compose service stand that a message names beside its own place."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from quota_advisor.model.manifest import ComposeService, Scalar


def elsewhere(service: ComposeService, at: Scalar, keys: Iterable[str]) -> str:
    """Return where settings stand that are not in the file of a value."""
    values = ((key, service.settings.get(key)) for key in keys)
    found = ((key, service.at(value)) for key, value in values if value is not None)
    # Without the directory: a message is the same wherever lint is called.
    places = [
        f"{key}: line {place.line} of {posixpath.basename(place.file)}"
        for key, place in found
        if place.file != service.at(at).file
    ]
    return f" ({', '.join(places)})" if places else ""
