"""Load profiles, ``probes/*.yaml`` and the user's own: what the load looks like, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
import yaml

from quota_advisor.errors import UsageError, did_you_mean
from quota_advisor.shipped import data_directory

MAX_PROFILE_BYTES = 1 << 20
MAX_THREADS = 1024
"""As many as the burner takes."""

SUFFIXES = (".yaml", ".yml")

Kebab = Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Prose = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)]
Cores = Annotated[float, pydantic.Field(gt=0, le=8192, allow_inf_nan=False)]
Milliseconds = Annotated[float, pydantic.Field(ge=0, le=60_000, allow_inf_nan=False)]


class _Profile(pydantic.BaseModel):
    """What every profile has.

    Attributes:
        name: Name of the profile, and of its file.
        title: One line.
        description: What the load is, and which field report it comes from.
        threads: Threads that make load. They need as many CPUs to show what the profile is about.
        tiers: Quotas to measure, in cores, where nobody asks for others.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    name: Kebab
    title: Prose
    description: Prose
    threads: Annotated[int, pydantic.Field(ge=1, le=MAX_THREADS)]
    tiers: Annotated[tuple[Cores, ...], pydantic.Field(min_length=1, max_length=32)]

    @property
    def max_drain_sec(self) -> float:
        """How long a run may take beyond its measured time, to finish what was due in it."""
        return 0.0


class Saturate(_Profile):
    """A closed loop: every thread does one request after another.

    Attributes:
        iterations: Work of one request, in xorshift steps.
    """

    mode: Literal["saturate"]
    iterations: Annotated[int, pydantic.Field(ge=1, le=10**12)] = 200_000

    def arguments(self) -> Iterator[str]:
        """Yield the burner's mode and the options that belong to it."""
        yield from ("saturate", "--iterations", str(self.iterations))


class Burst(_Profile):
    """An open loop: in every interval each thread does a piece of work.

    Latency counts from when a piece was due, so waiting for the former one is part of it.

    Attributes:
        interval_ms: Time from one burst to the next.
        work_ms: CPU work of each thread in a burst.
        jitter_ms: Each start moves by up to this, either way.
        jitter_per_thread: Each thread moves on its own; else all start together.
        drain_ms: Time to finish what was due when the measured time is over.
    """

    mode: Literal["burst"]
    interval_ms: Annotated[Milliseconds, pydantic.Field(ge=0.1)]
    work_ms: Annotated[Milliseconds, pydantic.Field(ge=0.001)]
    jitter_ms: Milliseconds = 0.0
    jitter_per_thread: bool = False
    drain_ms: Milliseconds = 1000.0

    @pydantic.model_validator(mode="after")
    def _starts_keep_their_order(self) -> Self:
        if self.jitter_ms > self.interval_ms / 2:
            raise ValueError("jitter_ms is more than half of interval_ms")
        return self

    @property
    def mean_cores(self) -> float:
        """CPUs that the load uses on average, where nothing holds it back."""
        return self.threads * self.work_ms / self.interval_ms

    @property
    def max_drain_sec(self) -> float:
        """How long a run may take beyond its measured time, to finish what was due in it."""
        return self.drain_ms / 1000

    def arguments(self) -> Iterator[str]:
        """Yield the burner's mode and the options that belong to it."""
        yield from ("burst", "--interval", f"{self.interval_ms:g}", "--work", f"{self.work_ms:g}")
        yield from ("--jitter", f"{self.jitter_ms:g}", "--drain", f"{self.drain_ms:g}")
        if self.jitter_per_thread:
            yield "--jitter-per-thread"


class Trace(_Profile):
    """An open loop whose demand was recorded.

    Attributes:
        trace: The recorded demand; relative to the profile's own directory.
        drain_ms: Time to finish what was due when the measured time is over.
    """

    mode: Literal["trace"]
    trace: Path
    drain_ms: Milliseconds = 1000.0

    @property
    def max_drain_sec(self) -> float:
        """How long a run may take beyond its measured time, to finish what was due in it."""
        return self.drain_ms / 1000

    def arguments(self) -> Iterator[str]:
        """Yield the burner's mode and the options that belong to it."""
        yield from ("trace", "--trace", str(self.trace), "--drain", f"{self.drain_ms:g}")


Profile = Saturate | Burst | Trace


class ProfileFile(pydantic.RootModel[Annotated[Profile, pydantic.Field(discriminator="mode")]]):
    """Load profile of quota-advisor probe."""


_KINDS: dict[str, type[Saturate | Burst | Trace]] = {
    "saturate": Saturate,
    "burst": Burst,
    "trace": Trace,
}


def profile_names() -> list[str]:
    """Return the names of the profiles that come with the program.

    Raises:
        CatalogError: They are missing.
    """
    return sorted(path.stem for path in data_directory("probes").glob("*.yaml"))


def find_profile(name_or_file: str) -> Profile:
    """Return a shipped profile by its name, or one from a file.

    Args:
        name_or_file: A file where it has a slash or the suffix of one.

    Raises:
        UsageError: There is no such profile, or it is malformed.
    """
    if "/" in name_or_file or name_or_file.endswith(SUFFIXES):
        return load_profile(Path(name_or_file))
    names = profile_names()
    if name_or_file not in names:
        hint = (
            did_you_mean(name_or_file, names) or f"choose from {', '.join(names)}, or give a file"
        )
        raise UsageError(f"no profile {name_or_file!r}", hint=hint)
    return load_profile(data_directory("probes") / f"{name_or_file}.yaml")


def load_profile(path: Path) -> Profile:
    """Return the profile in a file.

    Raises:
        UsageError: It cannot be read, has unknown or missing keys, or a value out of range.
    """
    data = _read(path)
    mode = data.get("mode")
    if not isinstance(mode, str) or mode not in _KINDS:
        # Only words are shown: what a few aliases stand for may be endless.
        word = mode if isinstance(mode, str) else ""
        hint = did_you_mean(word, _KINDS) or f"choose from {', '.join(_KINDS)}"
        raise UsageError(f"{path}: mode: there is no mode {word!r}", hint=hint)
    kind = _KINDS[mode]
    try:
        profile = kind.model_validate(data)
    except pydantic.ValidationError as error:
        raise _complaint(path, error, kind) from error
    if profile.name != path.stem:
        raise UsageError(f"{path}: name {profile.name!r} must equal the file name")
    if isinstance(profile, Trace):
        trace = path.parent / profile.trace
        if not trace.is_file():
            raise UsageError(f"{path}: trace: {trace} is no file")
        return profile.model_copy(update={"trace": trace})
    return profile


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_PROFILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    if len(text) > MAX_PROFILE_BYTES:
        raise UsageError(f"{path}: larger than 1 MiB, so no load profile")
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"{path}: no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path}: a profile is a mapping of keys to values")
    return data


def _complaint(path: Path, error: pydantic.ValidationError, kind: type[_Profile]) -> UsageError:
    errors = error.errors(include_url=False)
    # A key with a typo is both unknown and missing; only the first says what to do.
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        known = list(kind.model_fields)
        hint = did_you_mean(str(first["loc"][-1]), known) or f"it has {', '.join(known)}"
        return UsageError(f"{path}: unknown key {place!r}", hint=hint)
    if first["type"] == "missing":
        return UsageError(f"{path}: the key {place!r} is missing")
    complaint = first["msg"].removeprefix("Value error, ")
    return UsageError(f"{path}: {place}: {complaint.lower()}" if place else f"{path}: {complaint}")
