"""How many threads or workers a container is told to run: by its environment, by its arguments."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from quota_advisor.model.manifest import ResourceRef, Scalar
from quota_advisor.patterns import pattern
from quota_advisor.records import NamedTuple


class Kind(Enum):
    """What the threads do with a CPU.

    Attributes:
        COMPUTE: They run whenever there is work; more of them than CPUs only spend the quota.
        WORKERS: They wait most of the time, so that a few for each CPU are in order.
    """

    COMPUTE = "compute"
    WORKERS = "workers"


USUAL_PER_CORE = {Kind.COMPUTE: 1, Kind.WORKERS: 3}
"""Threads for each CPU that threads-exceed-limit lets pass unless the user says otherwise."""


MIN_ALLOWED_COUNT = 2
"""Two threads are never too many: one that works and one that the runtime needs itself."""


class ThreadCount(NamedTuple):
    """A number of threads that is written down.

    Attributes:
        setting: The variable or the flag.
        number: The number itself.
        at: The value that holds it.
    """

    setting: str
    number: int
    kind: Kind
    at: Scalar


COUNT_VARIABLES = {
    "GOMAXPROCS": Kind.COMPUTE,
    "DOTNET_PROCESSOR_COUNT": Kind.COMPUTE,
    "OMP_NUM_THREADS": Kind.COMPUTE,
    "OPENBLAS_NUM_THREADS": Kind.COMPUTE,
    "MKL_NUM_THREADS": Kind.COMPUTE,
    "NUMEXPR_NUM_THREADS": Kind.COMPUTE,
    "NUMBA_NUM_THREADS": Kind.COMPUTE,
    "PYTHON_CPU_COUNT": Kind.COMPUTE,
    "RAYON_NUM_THREADS": Kind.COMPUTE,
    "TOKIO_WORKER_THREADS": Kind.COMPUTE,
    "UV_THREADPOOL_SIZE": Kind.WORKERS,
    "WEB_CONCURRENCY": Kind.WORKERS,
}
"""Variables that are a number of threads or workers."""

JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS")

_VARIABLES = {*COUNT_VARIABLES, *JAVA_VARIABLES}

_FLAGS = {
    "gunicorn": ("-w", "--workers"),
    "hypercorn": ("-w", "--workers"),
    "uvicorn": ("--workers",),
    "puma": ("-w", "--workers"),
    "celery": ("-c", "--concurrency"),
    "uwsgi": ("-p", "--processes", "--workers"),
}
"""Programs whose flags say how many processes they start."""

_ANY_PROGRAM = pattern(rf"{'|'.join(_FLAGS)}|ActiveProcessorCount|worker_processes")
"""Most commands have none of them, and need no closer look."""

_JAVA_COUNT = pattern(r"-XX:ActiveProcessorCount=([0-9]{1,6})(?![0-9])")
_NGINX_COUNT = pattern(r"\bworker_processes\s+([0-9]{1,6})\s*;")
# OMP_NUM_THREADS may be a list, one number for each level of nesting.
_NUMBER = pattern(r"\s*([0-9]{1,6})\s*(?:,|$)")


def thread_counts(
    env: Mapping[str, Scalar | ResourceRef] | Mapping[str, Scalar], command: Sequence[Scalar]
) -> tuple[ThreadCount, ...]:
    """Return every number of threads in a container's environment and arguments."""
    in_command = command and _ANY_PROGRAM.search(" ".join([word.text for word in command]))
    if not in_command and (not env or _VARIABLES.isdisjoint(env)):
        return ()
    return (*_from_environment(env), *_from_command(command))


def allowed_count(cores: float, per_core: float) -> int:
    """Return the highest number of threads that suits a limit, so many for each CPU."""
    # Below one CPU as well, a pool is sized for one: there is no half worker.
    return max(math.ceil(max(cores, 1) * per_core), MIN_ALLOWED_COUNT)


def _from_environment(
    env: Mapping[str, Scalar | ResourceRef] | Mapping[str, Scalar],
) -> Iterator[ThreadCount]:
    for name, value in env.items():
        if name not in _VARIABLES or not isinstance(value, Scalar):
            continue
        if name in COUNT_VARIABLES:
            yield from _count(name, _NUMBER.match(value.text), COUNT_VARIABLES[name], value)
        else:
            found = _JAVA_COUNT.search(value.text)
            yield from _count(f"{name} ActiveProcessorCount", found, Kind.COMPUTE, value)


def _from_command(command: Sequence[Scalar]) -> Iterator[ThreadCount]:
    """Yield the counts in arguments; a shell script in one argument is looked through as well."""
    flags: tuple[str, ...] = ()
    program = pending = ""
    for argument in command:
        text = argument.text
        if "-XX:Act" in text:
            found = _JAVA_COUNT.search(text)
            yield from _count("-XX:ActiveProcessorCount", found, Kind.COMPUTE, argument)
        if "worker_proc" in text:
            found = _NGINX_COUNT.search(text)
            yield from _count("nginx worker_processes", found, Kind.WORKERS, argument)
        for word in text.split():
            if pending:
                yield from _count(f"{program} {pending}", _digits(word), Kind.WORKERS, argument)
                pending = ""
            elif flags and word[0] == "-":
                flag, digits = _flag(word, flags)
                yield from _count(f"{program} {flag}", _digits(digits), Kind.WORKERS, argument)
                pending = flag if flag and not digits else ""
            else:
                name = posixpath.basename(word)
                if name in _FLAGS:
                    program, flags = name, _FLAGS[name]


def _flag(word: str, flags: tuple[str, ...]) -> tuple[str, str]:
    """Return the flag that a word is, and the number in it: ``--workers=4``, ``-w4``, ``-w``."""
    name, equals, value = word.partition("=")
    if name in flags:
        return name, value if equals else ""
    if word[:2] in flags and word[1] != "-":
        return word[:2], word[2:]
    return "", ""


def _digits(word: str) -> re.Match[str] | None:
    return _WHOLE_NUMBER.fullmatch(word)


_WHOLE_NUMBER = pattern(r"[\"']?([0-9]{1,6})[\"';]?")


def _count(
    setting: str, found: re.Match[str] | None, kind: Kind, at: Scalar
) -> Iterator[ThreadCount]:
    if found is not None and int(found[1]) > 0:
        yield ThreadCount(setting, int(found[1]), kind, at)
