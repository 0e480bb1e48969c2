"""Names of files that mean the same on another machine: relative to the top of the repository."""

from __future__ import annotations

import posixpath
import urllib.parse

from quota_advisor.render.view import View


def relative(file: str, view: View) -> str:
    """Return a file's path from the top of the repository; an absolute one if it lies outside."""
    if file.startswith("<"):
        return file
    path = posixpath.normpath(posixpath.join(view.directory, file))
    inside = path.startswith(view.top.rstrip("/") + "/")
    return posixpath.relpath(path, view.top) if inside else path


def uri(file: str, view: View) -> str:
    """Return the same as a URI reference."""
    path = relative(file, view)
    quoted = urllib.parse.quote(path)
    return f"file://{quoted}" if path.startswith("/") else quoted
