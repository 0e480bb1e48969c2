"""Which commands of a unit start a container, behind prefixes, wrappers and shells."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from quota_advisor.documents.systemd.command_lines import command_words
from quota_advisor.records import NamedTuple


class Client(NamedTuple):
    """A command that has a container started.

    Attributes:
        program: Without its directory: ``docker``.
        verb: What it is told to do: ``compose up``.
        arguments: Everything behind the program.
    """

    program: str
    verb: str
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """The command as it is spoken of."""
        return f"{self.program} {self.verb}"


_COMPOSE = ("up", "run", "start")
_ENGINE = (
    *("run", "start", "container run", "container start"),
    *(f"compose {verb}" for verb in _COMPOSE),
)
_VERBS = {
    "docker": _ENGINE,
    "nerdctl": _ENGINE,
    "podman": (*_ENGINE, "pod start", "kube play", "play kube"),
    "ctr": ("run", "task start", "tasks start", "t start"),
    "docker-compose": _COMPOSE,
    "podman-compose": _COMPOSE,
}
"""What starts a container, by program."""

_ANY_CLIENT = re.compile(r"docker|nerdctl|podman|\bctr\b")

_TAKES_VALUE = re.compile(
    r"-[acfnpHl]|--(?:"
    r"host|context|config|log-level|tlscacert|tlscert|tlskey"  # docker
    r"|file|project-name|project-directory|profile|env-file|ansi|progress|parallel"  # compose
    r"|cgroup-manager|conmon|connection|events-backend|hooks-dir|identity|imagestore|module"
    r"|network-cmd-path|network-config-dir|out|root|runroot|runtime|runtime-flag|ssh"
    r"|storage-driver|storage-opt|tmpdir|url|volumepath"  # podman
    r"|address|namespace|snapshotter|cni-path|cni-netconfpath|data-root|hosts-dir|timeout"
    r"|connect-timeout)"  # nerdctl, ctr
)
"""Options before the verb whose value is the next word."""

_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "zsh", "busybox")
_WRAPPERS = (
    *("env", "exec", "sudo", "nice", "ionice", "chrt", "nohup", "setsid", "stdbuf", "timeout"),
    *("time", "systemd-cat", "command"),
    *("if", "then", "else", "elif", "while", "until", "do", "!", "{"),
)
"""Programs and words of a shell that a command may stand behind."""

_NOT_A_COMMAND = re.compile(r"-.*|[A-Za-z_]\w*=.*|[0-9.]+[a-z]?", re.DOTALL)
"""What a wrapper has before the command: options, variables, numbers."""

_SEPARATOR = re.compile(r"[;&|()]+")
_LONGEST = 16_384
"""Longer commands are not looked at: shlex takes a time that grows with a script's square."""

_DEEPEST = 3
"""Shells in shells that are looked into."""


def clients(values: Iterable[str]) -> Iterator[Client]:
    """Yield the container clients among the values of ``ExecStart=``, but for endless ones."""
    for value in values:
        if len(value) <= _LONGEST and _ANY_CLIENT.search(value):
            yield from _in_command(command_words(value), _DEEPEST)


def options(words: Iterable[str], *names: str) -> Iterator[tuple[str, str]]:
    """Yield the options of some names with their values, in the order in which they are read.

    The value may be the next word, and is empty where there is none.
    """
    for word, following in pairwise((*words, "")):
        name, equals, value = word.partition("=")
        if name in names:
            yield name, value if equals else following


def option(arguments: Iterable[str], name: str) -> str:
    """Return the last value of an option, empty where it is not given."""
    return next((value for _, value in reversed([*options(arguments, name)])), "")


def _in_command(words: Sequence[str], depth: int) -> Iterator[Client]:
    program, *arguments = _unwrapped(words) or [""]
    name = posixpath.basename(program)
    if name in _SHELLS and depth:
        for command in _script_commands(arguments):
            yield from _in_command(command, depth - 1)
    elif verb := _verb(name, arguments):
        yield Client(name, verb, tuple(arguments))


def _unwrapped(words: Sequence[str]) -> Sequence[str]:
    """Return the words from the first program on that is no wrapper."""
    wrapped = False
    for index, word in enumerate(words):
        if posixpath.basename(word) in _WRAPPERS:
            wrapped = True
        elif not wrapped or not _NOT_A_COMMAND.fullmatch(word):
            return words[index:]
    return ()


def _verb(program: str, arguments: Sequence[str]) -> str:
    known = _VERBS.get(program, ())
    if not known:
        return ""
    first, second = [*islice(_plain(arguments), 2), "", ""][:2]
    return next((verb for verb in (first, f"{first} {second}") if verb in known), "")


def _plain(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the words that are no options."""
    is_value = False
    for word in arguments:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = _TAKES_VALUE.fullmatch(word) is not None
        else:
            yield word


def _script_commands(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield the commands of the script that a shell is given with ``-c``."""
    for index, word in enumerate(arguments):
        if re.fullmatch(r"-[a-z]*c", word):
            for script in arguments[index + 1 : index + 2]:
                yield from _commands_of(script)
            return


def _commands_of(script: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    command: list[str] = []
    try:
        for word in lexer:
            if _SEPARATOR.fullmatch(word):
                yield command
                command = []
            else:
                command.append(word)
    except ValueError:
        # A quote that is not closed: what stands before it is known.
        pass
    yield command
