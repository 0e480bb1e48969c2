from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from quota_advisor.errors import UsageError
from quota_advisor.probe.profile import (
    Burst,
    Saturate,
    Trace,
    find_profile,
    load_profile,
    profile_names,
)
from quota_advisor.shipped import data_directory

GOOD = """\
name: mine
title: Mine
description: As my service does.
mode: burst
threads: 4
interval_ms: 100
work_ms: 20
tiers: [1, 2]
"""


def write(directory: Path, text: str, name: str = "mine.yaml") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_the_profiles_of_the_field_reports_are_there() -> None:
    assert profile_names() == ["batch", "microburst", "queue", "saturate", "steady"]


@pytest.mark.parametrize("name", ["batch", "microburst", "queue", "saturate", "steady"])
def test_a_shipped_profile_is_sound(name: str) -> None:
    profile = find_profile(name)

    assert profile.name == name
    assert list(profile.tiers) == sorted(profile.tiers)
    if isinstance(profile, Burst):
        assert profile.mean_cores < min(profile.tiers), "an open loop would fall behind for ever"


SCHEMA = Path(__file__).parents[2] / "docs/schema/probe-profile.json"


@pytest.mark.parametrize("name", profile_names())
def test_a_shipped_profile_matches_the_published_schema(name: str) -> None:
    text = (data_directory("probes") / f"{name}.yaml").read_text(encoding="utf-8")

    jsonschema.validate(yaml.safe_load(text), json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.mark.parametrize(("old", "new"), [("work_ms", "work_msec"), ("burst", "bursts")])
def test_the_published_schema_knows_typos(old: str, new: str) -> None:
    data = yaml.safe_load(GOOD.replace(old, new))

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_the_figures_of_the_field_reports_are_in_them() -> None:
    microburst, batch, queue = map(find_profile, ("microburst", "batch", "queue"))
    assert isinstance(microburst, Burst)
    assert isinstance(batch, Burst)
    assert isinstance(queue, Burst)
    assert (microburst.threads, microburst.work_ms) == (16, 25)
    assert 4 in microburst.tiers
    assert (batch.threads, batch.work_ms, batch.tiers[:2]) == (6, 200, (1, 3.3))
    assert (queue.threads, queue.tiers[:2]) == (6, (2, 4))
    saturate = find_profile("saturate")
    assert isinstance(saturate, Saturate)
    assert (saturate.threads, saturate.iterations, saturate.tiers) == (2, 200_000, (0.5, 1, 2))


def test_a_file_is_a_profile_too(tmp_path: Path) -> None:
    profile = find_profile(str(write(tmp_path, GOOD)))

    assert list(profile.arguments()) == [
        *("burst", "--interval", "100", "--work", "20", "--jitter", "0", "--drain", "1000")
    ]


def test_a_trace_lies_beside_its_profile(tmp_path: Path) -> None:
    text = GOOD.replace("burst", "trace").replace("interval_ms: 100\nwork_ms: 20", "trace: my.txt")
    with pytest.raises(UsageError, match=r"mine.yaml: trace: .*my.txt is no file"):
        load_profile(write(tmp_path, text))
    (tmp_path / "my.txt").touch()

    profile = load_profile(write(tmp_path, text))

    assert isinstance(profile, Trace)
    assert profile.trace == tmp_path / "my.txt"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("work_ms", "work_msec"), "unknown key 'work_msec': did you mean 'work_ms'?"),
        (("title: Mine\n", ""), "the key 'title' is missing"),
        (("mode: burst", "mode: bursts"), "no mode 'bursts': did you mean 'burst'?"),
        (("mode: burst\n", ""), "no mode '': choose from saturate, burst, trace"),
        (("threads: 4", "threads: 0"), "threads: input should be greater than or equal to 1"),
        (("threads: 4", "threads: 2000"), "threads: input should be less than or equal to 1024"),
        (("[1, 2]", "[1, 0]"), "tiers.1: input should be greater than 0"),
        (("[1, 2]", "[]"), "tiers: tuple should have at least 1 item"),
        (("[1, 2]", "[.nan]"), "tiers.0: input should be a finite number"),
        (("interval_ms: 100", "interval_ms: 100\njitter_ms: 51"), "more than half of interval_ms"),
        (("mode: burst", "mode: [burst]"), "no mode ''"),
        (("name: mine", "name: yours"), "name 'yours' must equal the file name"),
        ((GOOD, "- a list"), "a profile is a mapping"),
        ((GOOD, "{"), "no YAML"),
    ],
)
def test_a_malformed_profile_is_refused_with_its_place(
    tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    path = write(tmp_path, GOOD.replace(*change))

    with pytest.raises(UsageError) as raised:
        load_profile(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert complaint in str(raised.value)
    assert raised.value.exit_code == 2


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean 'microburst'"):
        find_profile("microbursts")


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        find_profile(str(tmp_path / "none.yaml"))


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        load_profile(write(tmp_path, "#" * 2_000_000))
