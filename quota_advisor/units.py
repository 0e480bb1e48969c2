"""Text to numbers and back: the only place where units are converted.

The readers take what systemd and the kernel take and nothing else; each raises
:class:`ValueError` with a reason that can be shown to whoever wrote the value. The writers are
for people, except :func:`quota_value` and :func:`format_cpu_list`, which are read back exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from quota_advisor.patterns import pattern
from quota_advisor.records import NamedTuple

if TYPE_CHECKING:
    from decimal import Decimal

USEC_PER_SEC = 1_000_000
USEC_PER_PERMYRIAD = USEC_PER_SEC // 10_000
"""One ten-thousandth of a CPU, the finest quota that systemd can express."""

MAX_CPUS = 8192
"""Most CPUs that any kernel is built for; systemd refuses higher numbers too."""

SPACE = " \t\n\r"
"""What systemd strips and splits at."""

TimeSpan = int | Literal["infinity"]
"""Microseconds, or no end."""

_INT_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1
_UINT64_MAX = 2**64 - 1

_C_SPACE = r"[ \t\n\v\f\r]*"
"""What strtol() skips before a number."""


# ---- integers

_INTEGER = pattern(
    _C_SPACE + r"([+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|(?P<octal>0[0-7]*)|(?P<decimal>[1-9][0-9]*))"
)
_BASES = {"hex": 16, "octal": 8, "decimal": 10, "binary": 2}
_PREFIXED = {
    "0b": pattern(rf"..{_C_SPACE}([+-]?)(?P<binary>[01]+)"),
    "0o": pattern(rf"..{_C_SPACE}([+-]?)(?P<octal>[0-7]+)"),
}


def parse_c_integer(text: str) -> int:
    """Return an integer as C and systemd read it: ``0x`` is hexadecimal, a bare ``0`` octal.

    Raises:
        ValueError: No such integer, or one beyond 64 bits.

    Source: systemd ``parse-util.c`` (``safe_atoi``: ``strtol`` with base 0, and ``0b``, ``0o``).
    """
    stripped = text.lstrip(SPACE)
    match = _PREFIXED.get(stripped[:2].lower(), _INTEGER).fullmatch(stripped)
    if match is None:
        raise ValueError(_why_no_integer(stripped))
    notation = str(match.lastgroup)
    digits = match[notation].lstrip("0") or "0"
    # Longest first: Python is slow with, and then refuses, very long decimals.
    value = int(match[1] + digits, _BASES[notation]) if len(digits) <= 64 else _UINT64_MAX + 1  # noqa: PLR2004
    if not -_INT64_MAX <= value <= _UINT64_MAX:
        raise ValueError(f"{stripped[:20]!r}… does not fit in 64 bits")
    return value


def _why_no_integer(text: str) -> str:
    if not text.strip():
        return "there is no number"
    if re.fullmatch(r"[+-]?0[0-9]+", text):
        return f"the leading zero of {text!r} makes it octal, and octal has no digits 8 and 9"
    if "," in text:
        return f"{text!r} has a comma; decimals follow a point"
    return f"{text!r} is not a number"


# ---- quotas

_DECIMALS = {"%": 2, "‰": 1, "‱": 0}
"""Suffix of a quota, and how many decimals bring it to ten-thousandths."""


def parse_quota(text: str) -> int:
    """Return a ``CPUQuota=`` value as CPU time per second of wall time, in microseconds.

    Args:
        text: The value without white space around it. The empty value, a reset, is not one.

    Raises:
        ValueError: systemd would ignore this value; the text says why.

    Source: systemd ``percent-util.c``, version 252 and later.
    """
    places = _DECIMALS.get(text[-1:])
    if places is None:
        raise ValueError(f"{text!r} does not end in %")
    whole, fraction = _split_decimals(text[:-1], places)
    number = parse_c_integer(whole)
    permyriad = number * (1, 10, 100)[places] + fraction
    if number < 0:
        raise ValueError(f"{text!r} is negative")
    if permyriad > _INT_MAX:
        raise ValueError(f"{text!r} is more than systemd can hold, which is {_INT_MAX // 100}%")
    if permyriad == 0:
        raise ValueError(f"{text!r} is zero; an empty value removes the limit")
    return permyriad * USEC_PER_PERMYRIAD


def _split_decimals(number: str, places: int) -> tuple[str, int]:
    """Split at the first point; the decimals come back as an integer of ``places`` digits."""
    whole, point, decimals = number.partition(".")
    if not point:
        return whole, 0
    if not re.fullmatch("[0-9]+", decimals):
        raise ValueError(f"{number!r} is not a number")
    if len(decimals) > places:
        raise ValueError(f"{number!r} has {len(decimals)} decimals where {places} are allowed")
    return whole, int(decimals.ljust(places, "0"))


class Misreading(NamedTuple):
    """A quota that systemd takes for another number than a person does.

    Attributes:
        looks_like: What the text says to a person.
        read_as: What systemd makes of it.
        because: Why the two differ.
    """

    looks_like: str
    read_as: str
    because: str


_PREFIX_MEANING = {
    "0x": "the prefix 0x makes the number hexadecimal",
    "0b": "the prefix 0b makes the number binary",
    "0o": "the prefix 0o makes the number octal",
}


def misreading(text: str) -> Misreading | None:
    """Tell where systemd reads a valid ``CPUQuota=`` value otherwise than a person would.

    Returns:
        None when both read the same number, or when systemd refuses the value.
    """
    try:
        usec = parse_quota(text)
    except ValueError:
        return None
    number = text.strip().lstrip("+")
    plain = re.fullmatch(r"0*([0-9]+(?:\.[0-9]+)?.)", number)
    if plain and parse_quota(plain[1]) == usec:
        return None
    because = _PREFIX_MEANING.get(number.lstrip("-")[:2].lower(), "a leading zero makes it octal")
    if number.startswith("-"):
        because = "the sign of a negative fraction of a percent is lost"
    looks_like = plain[1] if plain else number
    return Misreading(looks_like=looks_like, read_as=quota_value(usec), because=because)


def quota_value(usec_per_sec: int) -> str:
    """Return a quota as the shortest ``CPUQuota=`` value that systemd reads back exactly.

    Args:
        usec_per_sec: CPU time per second of wall time.

    Raises:
        ValueError: Not positive, or finer than 0.01 %.
    """
    permyriad, rest = divmod(usec_per_sec, USEC_PER_PERMYRIAD)
    if rest or permyriad <= 0:
        raise ValueError(f"{usec_per_sec} us per second is no multiple of 0.01%")
    whole, fraction = divmod(permyriad, 100)
    return f"{whole}.{fraction:02}".rstrip("0").rstrip(".") + "%"


# ---- time spans

_TIME_UNITS = {
    "usec us μs µs": 1,
    "msec ms": 1_000,
    "seconds second sec s": USEC_PER_SEC,
    "minutes minute min m": 60 * USEC_PER_SEC,
    "hours hour hr h": 3_600 * USEC_PER_SEC,
    "days day d": 86_400 * USEC_PER_SEC,
    "weeks week w": 604_800 * USEC_PER_SEC,
    "months month M": 2_629_800 * USEC_PER_SEC,
    "years year y": 31_557_600 * USEC_PER_SEC,
}
_TIME_UNIT_USEC = {name: usec for names, usec in _TIME_UNITS.items() for name in names.split()}
_TIME_PART = pattern(
    # Only where strtol() skips what systemd does not does a minus get through, and then only -0.
    rf"(?:{_C_SPACE}\+?([0-9]+)|[\v\f]{_C_SPACE}-0+(?![0-9])|(?=\.))(?:\.([0-9]+))?(?!\.)"
    rf"([{SPACE}]*)({'|'.join(sorted(_TIME_UNIT_USEC, key=len, reverse=True))})?"
)


def parse_time_span(text: str) -> TimeSpan:
    """Return a systemd time span in microseconds; a bare number counts seconds.

    Takes what unit files hold (``10ms``, ``0.05``, ``1min 4s``) and what ``systemctl show``
    prints (``1.500000s``, ``infinity``).

    Raises:
        ValueError: systemd would ignore this value; the text says why.

    Source: systemd ``time-util.c`` (``parse_sec``).
    """
    rest = text.strip(SPACE)
    if rest == "infinity":
        return "infinity"
    if not rest:
        raise ValueError("there is no time span")
    total = 0
    while rest:
        usec, rest = _time_part(rest)
        total += usec
        if total >= _UINT64_MAX:
            raise ValueError(f"{text[:40]!r} is longer than systemd can hold")
    return total


def _time_part(text: str) -> tuple[int, str]:
    """Return the first number with its unit, and the text behind it."""
    match = _TIME_PART.match(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is {'negative' if text[0] == '-' else 'no time span'}")
    whole, decimals, gap, unit = match.groups(default="")
    rest = text[match.end() :].lstrip(SPACE)
    if rest and not gap and not unit:
        raise ValueError(f"{rest[:40]!r} is no unit of time")
    digits = whole.lstrip("0")
    unit_usec = _TIME_UNIT_USEC[unit] if unit else USEC_PER_SEC
    if len(digits) > len(str(_INT64_MAX)) or int(digits or "0") > _INT64_MAX:
        raise ValueError(f"{text[:40]!r} is longer than systemd can hold")
    return int(digits or "0") * unit_usec + _decimals_usec(decimals, unit_usec), rest


def _decimals_usec(decimals: str, unit_usec: int) -> int:
    """Return the worth of decimals digit by digit, each rounded down, as systemd adds them."""
    total = 0
    for digit in decimals:
        unit_usec //= 10
        if not unit_usec:
            break
        total += int(digit) * unit_usec
    return total


# ---- CPU lists

_CPU_RANGE = pattern(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9})/([0-9]{1,9}))?)?")
_WORD = pattern(r"""(?:"[^"]*"|'[^']*'|[^ \t\n\r,"'\\])+""")


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Return the CPUs of a kernel list such as ``0-3,5`` or ``0-15:2/4``, ascending.

    Args:
        text: As in ``cpuset.cpus`` or ``/sys/devices/system/cpu/online``; may be empty.

    Raises:
        ValueError: Malformed, or a number beyond :data:`MAX_CPUS`.

    Source: kernel ``lib/bitmap-str.c``.
    """
    cpus: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _CPU_RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part[:40]!r} is no CPU and no range of CPUs")
        first, last = int(match[1]), int(match[2] or match[1])
        used, group = int(match[3] or 1), int(match[4] or 1)
        if not 0 < used <= group:
            raise ValueError(f"{part!r} takes {used} of every {group} CPUs")
        if first > last:
            raise ValueError(f"{part!r} runs backwards")
        cpus.update(cpu for cpu in _cpu_range(first, last) if (cpu - first) % group < used)
    return tuple(sorted(cpus))


def parse_cpu_set(text: str) -> tuple[int, ...]:
    """Return the CPUs of an ``AllowedCPUs=`` value, ascending: ``0-3,5``, or with spaces.

    Args:
        text: The value. The empty value, a reset, is not one.

    Raises:
        ValueError: systemd would ignore this value, or it names no CPU at all.

    Source: systemd ``cpu-set-util.c`` (``parse_cpu_set``).
    """
    leftover = _WORD.sub("", text).strip(SPACE + ",")
    if leftover:
        raise ValueError(f"{leftover[:40]!r} opens a quotation that does not end")
    cpus: set[int] = set()
    for word in _WORD.findall(text):
        first, dash, last = word.replace('"', "").replace("'", "").partition("-")
        low = parse_c_integer(first)
        high = parse_c_integer(last) if dash else low
        if low < 0 or high < 0:
            raise ValueError(f"{word!r} is negative")
        # systemd warns of a range that runs backwards, and goes on without it.
        cpus.update(_cpu_range(low, high) if low <= high else ())
    if not cpus:
        raise ValueError(f"{text[:40]!r} names no CPU")
    return tuple(sorted(cpus))


def _cpu_range(first: int, last: int) -> range:
    if last >= MAX_CPUS:
        raise ValueError(f"CPU {last} is beyond the last that exists anywhere, {MAX_CPUS - 1}")
    return range(first, last + 1)


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Return CPUs as the kernel lists them, for example ``0-3,5``."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1][1:] = [cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)


# ---- for people


def format_ratio(ratio: float) -> str:
    """Return a ratio as a percentage with one decimal, for example ``66.2 %``.

    What is neither nothing nor everything is never shown as such.
    """
    if 0 < ratio < 0.0005:  # noqa: PLR2004 - half of the last digit shown
        return "<0.1 %"
    if 0.9995 <= ratio < 1:  # noqa: PLR2004
        return ">99.9 %"
    return f"{format_number(ratio * 100)} %"


def format_percent(percent: float) -> str:
    """Return a percentage, 100 being one CPU, for example ``66.2 %`` or ``150 %``."""
    places = 2 if 0 < percent < 1 else 1
    return f"{format_number(percent, places)} %"


def format_quota(usec_per_sec: int) -> str:
    """Return CPU time per second of wall time as a percentage, for example ``150 %``."""
    return format_percent(usec_per_sec * 100 / USEC_PER_SEC)


def format_cores(cores: float) -> str:
    """Return a number of CPUs, for example ``1.5 cores``; a trace of use is not shown as none."""
    if 0 < cores < 0.005:  # noqa: PLR2004 - half of the last digit shown
        return "<0.01 cores"
    text = format_number(cores, 2)
    return f"{text} core" if text == "1" else f"{text} cores"


_STEPS = (("us", 1), ("ms", 1_000), ("s", USEC_PER_SEC))
_LONG_STEPS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def format_usec(usec: float) -> str:
    """Return a duration with its fitting unit, for example ``98.4 s`` or ``3 min 20 s``."""
    if abs(usec) >= 100 * USEC_PER_SEC:
        return ("-" if usec < 0 else "") + " ".join(_long_parts(round(abs(usec) / USEC_PER_SEC)))
    unit, size = next(
        (step for step in _STEPS if round(abs(usec) / step[1], 1) < 1_000),  # noqa: PLR2004
        _STEPS[-1],
    )
    return f"{format_number(usec / size)} {unit}"


def _long_parts(seconds: int) -> Iterator[str]:
    """Yield the two leading parts of a long duration, days to seconds."""
    first = next(i for i, (_, size) in enumerate(_LONG_STEPS) if seconds >= size)
    for unit, size in _LONG_STEPS[first : first + 2]:
        count, seconds = divmod(seconds, size)
        if count:
            yield f"{count} {unit}"


def format_number(value: float | Decimal, places: int = 1) -> str:
    """Return a number with at most so many decimals, without zeros at the end: ``1.5``, ``2``."""
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
