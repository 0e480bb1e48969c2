"""Runtimes that do not see a CPU quota, told by image, command and environment: hints, no proof."""

from __future__ import annotations

from collections.abc import Sequence

from quota_advisor.derive.kubernetes.qos import MILLI
from quota_advisor.derive.thread_counts import JAVA_VARIABLES, ThreadCount
from quota_advisor.model.manifest import Container, Scalar
from quota_advisor.patterns import pattern
from quota_advisor.records import NamedTuple


class Runtime(NamedTuple):
    """A runtime that does not see the limit.

    Attributes:
        because: What it goes by instead.
        hint: What it was told by.
        remedy: How to tell it the limit.
    """

    name: str
    because: str
    hint: str
    remedy: str


_PYTHON = (
    "Python",
    "os.cpu_count() and the pools sized by it go by the CPUs of the node",
    "size pools by the limit: PYTHON_CPU_COUNT (Python 3.13 and later) or the pool's own setting",
)
_OPENMP = (
    "OpenMP",
    "it starts one thread for each CPU of the node",
    "set OMP_NUM_THREADS (for other libraries OPENBLAS_NUM_THREADS, MKL_NUM_THREADS) to the limit",
)
_NODE = (
    "Node.js",
    "libuv goes by the CPUs of the node while the limit is below one CPU",
    "give it at least 1 CPU, or tell the cluster module and worker pools their size",
)
_GO = (
    "Go before 1.25",
    "GOMAXPROCS is the number of CPUs of the node",
    "set GOMAXPROCS to the limit, or build with Go 1.25 or later",
)
_GO_TOLD = (
    "Go",
    "GODEBUG tells it to go by the CPUs of the node",
    "remove containermaxprocs=0 from GODEBUG, or set GOMAXPROCS to the limit",
)
_JVM_TOLD = (
    "the JVM",
    "-XX:-UseContainerSupport tells it to go by the CPUs of the node",
    "remove -XX:-UseContainerSupport, or set -XX:ActiveProcessorCount to the limit",
)

_FIRST_GO_THAT_SEES = 25
_GO_IMAGE = pattern(r"golang:1\.([0-9]{1,3})(?![0-9])")
_IMAGES = (
    (pattern(r"(^|[-_])(pytorch|torch|openblas|mkl|openmp)([-_]|$)"), _OPENMP),
    (pattern(r"^python[0-9.]*([-_]|$)"), _PYTHON),
    # Not node-exporter, node-problem-detector and others that are about machines.
    (pattern(r"^node(-?[0-9]|-(slim|alpine)|$)|^nodejs([-_0-9]|$)"), _NODE),
)
_ANY_IMAGE = pattern(r"python|node|torch|openblas|mkl|openmp|golang")
"""Most images are none of them, and need no closer look."""

_TOLD = frozenset(("GODEBUG", *JAVA_VARIABLES))
_PROGRAMS = {
    "python": _PYTHON,
    "python3": _PYTHON,
    "celery": _PYTHON,
    "node": _NODE,
    "npm": _NODE,
    "yarn": _NODE,
}


def ignorant_runtime(
    container: Container, millicores: int, counts: Sequence[ThreadCount]
) -> Runtime | None:
    """Return the runtime that does not see the limit, None where nothing hints at one.

    Args:
        container: It runs in this one.
        millicores: The limit.
        counts: Numbers of threads that are written down: with one, it need not see the limit.
    """
    if counts:
        return None
    if not _TOLD.isdisjoint(container.env) and (told := _told_to_ignore(container)):
        return told
    found: _Words | None = None
    hint = ""
    if _ANY_IMAGE.search(container.image):
        found, hint = _by_image(container.image)
    if found is None and container.command:
        found, hint = _by_command(container)
    if found is None or (found is _NODE and millicores >= MILLI):
        return None
    if found is _GO and "GOMAXPROCS" in container.env:
        return None
    name, because, remedy = found
    return Runtime(name, because, hint, remedy)


_Words = tuple[str, str, str]


def _told_to_ignore(container: Container) -> Runtime | None:
    """Return a runtime that a variable tells to go by the node."""
    for name in ("GODEBUG", *JAVA_VARIABLES):
        value = container.env.get(name)
        if not isinstance(value, Scalar):
            continue
        if name == "GODEBUG":
            told = "containermaxprocs=0" in value.text and "GOMAXPROCS" not in container.env
            words = _GO_TOLD
        else:
            told, words = "-XX:-UseContainerSupport" in value.text, _JVM_TOLD
        if told:
            return Runtime(words[0], words[1], f"{name}={value.text}", words[2])
    return None


def _by_image(image: str) -> tuple[_Words | None, str]:
    name = image.partition("@")[0].rpartition("/")[2]
    hint = f"image {name}"
    match = _GO_IMAGE.match(name)
    if match and int(match[1]) < _FIRST_GO_THAT_SEES:
        return _GO, hint
    repository = name.partition(":")[0]
    for known, words in _IMAGES:
        if known.search(repository):
            return words, hint
    return None, ""


def _by_command(container: Container) -> tuple[_Words | None, str]:
    program = container.command[0].text.rpartition("/")[2]
    words = _PROGRAMS.get(program)
    return words, f"command {program}"
