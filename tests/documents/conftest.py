"""The native reader, built from the sources at hand."""

from __future__ import annotations

import shutil
import subprocess
from ctypes import CDLL
from pathlib import Path

import pytest

from quota_advisor.documents import reader
from quota_advisor.documents.yaml.native_tree import READ_ALL, NativeReader, load

SOURCES = Path(__file__).parents[2] / "native" / "manifest"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> CDLL:
    """Build the library for these tests; an installed one may be older."""
    compiler = shutil.which("cc")
    if compiler is None or not SOURCES.is_dir():
        pytest.skip("needs a C compiler and native/manifest")
    library = tmp_path_factory.mktemp("native") / "libquota_manifest.so"
    sources = sorted(str(path) for path in SOURCES.glob("*.c"))
    command = [compiler, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run([*command, *sources, "-o", str(library)], check=True)
    loaded = load(library)
    assert loaded is not None
    return loaded


@pytest.fixture(scope="session")
def native(library: CDLL) -> NativeReader:
    """Return the reader as lint uses it."""
    return NativeReader(library)


@pytest.fixture(scope="session")
def reads_all(library: CDLL) -> NativeReader:
    """Return a reader that passes no document over."""
    return NativeReader(library, READ_ALL)


@pytest.fixture(params=["exact", "native"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test once with the fast reader and once without."""
    native: NativeReader | None = None
    if request.param == "native":
        native = request.getfixturevalue("native")
    monkeypatch.setattr(reader, "native_reader", lambda: native)
    return str(request.param)
