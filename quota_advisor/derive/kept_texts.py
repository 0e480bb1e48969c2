"""What of variables and commands leaves a machine: numbers of threads, and nobody's secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quota_advisor.derive.thread_counts import COUNT_VARIABLES, JAVA_VARIABLES, thread_counts
from quota_advisor.model.manifest import Scalar

REDACTED = "redacted"

_PROGRAM = re.compile(r"[A-Za-z0-9_./@+-]{1,200}")
_COUNT = re.compile(r"[0-9]{1,6}(?:,[0-9]{1,6})*")
_JAVA_OPTION = re.compile(r"-XX:(?:ActiveProcessorCount=[0-9]{1,6}|[+-]UseContainerSupport)")
_GO_OPTION = re.compile(r"containermaxprocs=[01]")


def kept_variable(name: str, text: str) -> str:
    """Return what of a variable says how many threads there are; empty where nothing does."""
    if name in COUNT_VARIABLES:
        return text.strip() if _COUNT.fullmatch(text.strip()) else ""
    if name in JAVA_VARIABLES or name == "GODEBUG":
        options = _GO_OPTION if name == "GODEBUG" else _JAVA_OPTION
        return " ".join(options.findall(text))
    return ""


def kept_program(words: Sequence[str]) -> str:
    """Return the program of a command, where it is a plain name."""
    return words[0] if words and _PROGRAM.fullmatch(words[0]) else REDACTED


def kept_threads(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield what of a command says how many threads there are, each as the words it takes."""
    command = [Scalar(text=word, plain=False, line=1, column=1) for word in words]
    for count in thread_counts({}, command):
        if count.setting.startswith("nginx "):
            yield (f"worker_processes {count.number};",)
        elif count.setting.startswith("-"):
            yield (f"{count.setting}={count.number}",)
        else:
            yield (count.setting, str(count.number))
