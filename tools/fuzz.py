#!/usr/bin/env python3
"""Feed every reader with made-up files: it answers, or refuses with an error of its own.

    tools/fuzz.py [--inputs N | --seconds S] [--seed N] [TARGET]...

``yaml`` also holds the reader in C and the exact one to the same trees. What ends a reader, or
takes more than a second of CPU time, is written to build/fuzz/findings and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from quota_advisor.audit.judge import judge  # noqa: E402 - found in the checkout
from quota_advisor.audit.snapshot_file import load_snapshot  # noqa: E402
from quota_advisor.documents.compose.merge import ExtendsResolver, no_other_file, services  # noqa: E402
from quota_advisor.documents.reader import read_compose  # noqa: E402
from quota_advisor.documents.systemd.merge import merge_unit  # noqa: E402
from quota_advisor.documents.systemd.unit_file import parse_unit_file  # noqa: E402
from quota_advisor.documents.yaml.native_tree import READ_ALL, NativeReader, _library  # noqa: E402
from quota_advisor.errors import QuotaAdvisorError  # noqa: E402
from quota_advisor.rulebook.catalogue import load_catalog  # noqa: E402
from quota_advisor.rulebook.chosen import Rulebook  # noqa: E402
from quota_advisor.rulebook.settings import Config  # noqa: E402
from quota_advisor.rulebook.settings_file import load_config  # noqa: E402
from tests.documents.yaml.test_native_tree import agree  # noqa: E402

MAX_SEC = 1
FINDINGS = TOP / "build/fuzz/findings"
SCRATCH = TOP / "build/fuzz/input"
CATALOG = load_catalog()
PIECES = (
    *(b"\n", b" ", b"- ", b": ", b"{", b"}", b"[", b"]", b'"', b"'", b"#", b"&a ", b"*a", b"<<: "),
    *(
        b"\\\n",
        b"=",
        b"%",
        b"\0",
        b"\xff",
        b"\xc3\xa9",
        b"\t",
        b"|",
        b">",
        b"!x ",
        b"---\n",
        b",",
        b"?",
    ),
    *(b"100m", b"-1", b"9" * 40, b"1e309", b"null", b"true", b"extends: ", b"cpu: ", b"CPUQuota="),
    *(b"[Service]\n", b"!reset ", b"!override ", b"infinity", b"\xef\xbb\xbf", b"\r\n", b"NaN"),
)


def yaml_trees(data: bytes) -> None:
    """Read a manifest with both readers."""
    library = _library()
    if library is not None:
        agree(NativeReader(library, READ_ALL), data)


def units(data: bytes) -> None:
    """Parse and merge a unit with a drop-in."""
    file = parse_unit_file("a.service", data)
    merge_unit("a.service", file, (parse_unit_file("a.service.d/a.conf", data[::-1]),))


def compose(data: bytes) -> None:
    """Merge the services of a compose file."""
    _, layers = read_compose("compose.yaml", data)
    for _ in services(layers, ExtendsResolver(no_other_file)):
        pass


def snapshot(data: bytes) -> None:
    """Load a snapshot and judge it."""
    SCRATCH.write_bytes(data)
    facts = load_snapshot(SCRATCH)
    results = judge(facts, Rulebook(CATALOG, Config()), "fuzz").results
    if results.errors:
        raise RuntimeError(results.errors[0])


def config(data: bytes) -> None:
    """Load a configuration."""
    SCRATCH.write_bytes(data)
    load_config(SCRATCH, CATALOG)


TARGETS: dict[str, tuple[Callable[[bytes], None], str]] = {
    "yaml": (yaml_trees, "tests/rules/*/*.yaml"),
    "units": (units, "tests/rules/**/*.service"),
    "compose": (compose, "tests/rules/compose-*/*.yaml"),
    "snapshot": (snapshot, "build/fuzz/seeds/*.json"),
    "config": (config, "build/fuzz/seeds/*.yaml"),
}


def mutated(seeds: Sequence[bytes], dice: random.Random) -> bytes:
    """Return a seed with some places changed, cut, doubled or crossed with another."""
    data = bytearray(dice.choice(seeds))
    for _ in range(dice.randint(1, 8)):
        at = dice.randint(0, len(data))
        match dice.randrange(5):
            case 0:
                data[at:at] = dice.choice(PIECES)
            case 1:
                data[at : at + dice.randint(1, 20)] = b""
            case 2:
                data[at:at] = data[at : at + dice.randint(1, 60)]
            case 3:
                other = dice.choice(seeds)
                start = dice.randint(0, len(other))
                data[at:at] = other[start : start + dice.randint(1, 200)]
            case _:
                data[at : at + 1] = bytes([dice.randrange(256)])
    return bytes(data[:8192]) if len(data) > 1 << 16 else bytes(data)


def too_long(_signal: int, _frame: FrameType | None) -> None:
    """End a reader that hangs."""
    raise TimeoutError(f"more than {MAX_SEC} s of CPU time")


def run(name: str, inputs: Iterator[None], seed: int) -> bool:
    """Feed one reader; say how many files it took and return whether it stood."""
    target, pattern = TARGETS[name]
    seeds = [path.read_bytes() for path in sorted(TOP.glob(pattern)) if path.is_file()]
    dice, count, start = random.Random(seed), 0, time.monotonic()  # noqa: S311 - no secrets
    for _ in inputs:
        data = mutated(seeds, dice)
        count += 1
        signal.setitimer(signal.ITIMER_PROF, MAX_SEC)
        try:
            target(data)
        except QuotaAdvisorError:
            pass
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            signal.setitimer(signal.ITIMER_PROF, 0)
            FINDINGS.mkdir(parents=True, exist_ok=True)
            (FINDINGS / f"{name}-{seed}-{count}").write_bytes(data)
            print(f"fuzz: {name}: input {count}: {type(error).__name__}: {error}", file=sys.stderr)
            return False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    print(f"fuzz: {name}: {count} inputs in {time.monotonic() - start:.0f} s, nothing found")
    return True


def write_seeds() -> None:
    """Write what is not in the tree as a file: snapshots and a configuration."""
    from quota_advisor.audit.snapshot_file import dump_snapshot  # noqa: PLC0415
    from tests.rules.cases import FACTS, TREE  # noqa: PLC0415
    from tests.rules.facts import host_facts, read_facts  # noqa: PLC0415

    directory = TOP / "build/fuzz/seeds"
    directory.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(sorted(TREE.glob(f"*/*{FACTS}"))[::20]):
        facts = host_facts(read_facts(path), directory)
        (directory / f"{number}.json").write_text(dump_snapshot(facts, "0"), encoding="utf-8")
    (directory / "config.yaml").write_text(CONFIG, encoding="utf-8")


CONFIG = """\
fail-on: error
rules: {uniform-limit: &a {enabled: false}, throttled-often: {options: {warning_ratio: 0.1}}}
suppress: [{rule: uniform-quota, subject: 'a*', reason: because}]
lint: {limits: required, node-cpus: 8, kubernetes-version: "1.33", exclude: [vendor/]}
overrides: [{paths: [prod/], rules: {uniform-limit: *a}}]
"""


def until(seconds: float) -> Iterator[None]:
    """Yield for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def main() -> int:
    """Feed the readers that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("targets", nargs="*", default=list(TARGETS), metavar="TARGET")
    parser.add_argument("--inputs", type=int, help="files for each reader")
    parser.add_argument("--seconds", type=float, default=60, help="for all readers together")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write_seeds()
    signal.signal(signal.SIGPROF, too_long)
    stood = []
    for name in options.targets:
        share = options.seconds / len(options.targets)
        inputs = until(share) if options.inputs is None else (None for _ in range(options.inputs))
        stood.append(run(name, inputs, options.seed))
    return 0 if all(stood) else 1


if __name__ == "__main__":
    raise SystemExit(main())
