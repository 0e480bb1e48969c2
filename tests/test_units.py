from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor import units


@pytest.mark.parametrize(
    ("text", "usec"),
    [
        ("50%", 500_000),
        ("+50%", 500_000),
        ("150%", 1_500_000),
        ("12.5%", 125_000),
        ("12.55%", 125_500),
        ("0.01%", 100),
        ("125‰", 125_000),
        ("12.5‰", 12_500),
        ("5‱", 500),
        ("050%", 400_000),
        ("0x50%", 800_000),
        ("0b101%", 50_000),
        ("0o17%", 150_000),
        ("-0.5%", 5_000),
        ("\v50%", 500_000),
        ("21474836%", 214_748_360_000),
        ("21474836.47%", 214_748_364_700),
    ],
)
def test_quota_is_read_as_systemd_reads_it(text: str, usec: int) -> None:
    assert units.parse_quota(text) == usec


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not end in %"),
        ("50", "does not end in %"),
        ("infinity", "does not end in %"),
        ("%", "there is no number"),
        (".5%", "there is no number"),
        ("5.%", "not a number"),
        ("200.000%", "3 decimals where 2 are allowed"),
        ("12.55‰", "2 decimals where 1 are allowed"),
        ("5.1‱", "1 decimals where 0 are allowed"),
        ("50,5%", "comma"),
        ("08%", "octal"),
        ("1e2%", "not a number"),
        ("50 %", "not a number"),
        ("50%%", "not a number"),
        ('"60%"', "does not end in %"),
        ("60% # half", "does not end in %"),
        ("-5%", "negative"),
        ("0%", "zero"),
        ("0.00%", "zero"),
        ("21474836.48%", "more than systemd can hold"),
        ("9" * 10_000 + "%", "64 bits"),
    ],
)
def test_refused_quota_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        units.parse_quota(text)


@pytest.mark.parametrize(
    ("text", "looks_like", "read_as", "because"),
    [
        ("050%", "50%", "40%", "octal"),
        ("0100%", "100%", "64%", "octal"),
        ("010.5%", "10.5%", "8.5%", "octal"),
        ("0x50%", "0x50%", "80%", "hexadecimal"),
        ("0b11%", "0b11%", "3%", "binary"),
        ("0o17%", "0o17%", "15%", "octal"),
        ("-0.5%", "-0.5%", "0.5%", "sign"),
    ],
)
def test_misreading_is_told(text: str, looks_like: str, read_as: str, because: str) -> None:
    found = units.misreading(text)
    assert found is not None
    assert (found.looks_like, found.read_as) == (looks_like, read_as)
    assert because in found.because


@pytest.mark.parametrize(
    "text", ["50%", "+50%", "07%", "0.5%", "00.5%", "12.50%", "125‰", "50", "08%"]
)
def test_no_misreading_where_both_read_the_same_or_nothing(text: str) -> None:
    assert units.misreading(text) is None


@given(st.integers(1, 2**31 - 1))
def test_quota_value_is_read_back_exactly(permyriad: int) -> None:
    usec = permyriad * units.USEC_PER_PERMYRIAD
    assert units.parse_quota(units.quota_value(usec)) == usec


@pytest.mark.parametrize(
    ("usec", "text"), [(662_500, "66.25%"), (1_500_000, "150%"), (5_000, "0.5%")]
)
def test_quota_value_is_short(usec: int, text: str) -> None:
    assert units.quota_value(usec) == text


@pytest.mark.parametrize("usec", [0, -100, 150])
def test_quota_value_refuses_what_systemd_cannot_hold(usec: int) -> None:
    with pytest.raises(ValueError, match=r"0\.01%"):
        units.quota_value(usec)


@pytest.mark.parametrize(
    ("text", "usec"),
    [
        ("0", 0),
        ("5", 5_000_000),
        ("0.05", 50_000),
        (".5", 500_000),
        ("10ms", 10_000),
        ("500us", 500),
        ("500 µs", 500),
        ("1min 4s", 64_000_000),
        ("1min4s", 64_000_000),
        ("1.500000s", 1_500_000),
        ("2d 11h 39min 8.360000s", 214_748_360_000),
        ("1M", 2_629_800_000_000),
        ("1m", 60_000_000),
        ("1.9999999ms", 1_999),
        ("12.34s.56", 12_900_000),
        (" infinity ", "infinity"),
    ],
)
def test_time_span_is_read_as_systemd_reads_it(text: str, usec: units.TimeSpan) -> None:
    assert units.parse_time_span(text) == usec


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no time span"),
        ("abc", "no time span"),
        ("5.", "no time span"),
        ("3.+1", "no time span"),
        ("-1", "negative"),
        ("5 foo", "no time span"),
        ("5foo", "no unit of time"),
        ("12.34.56", "no unit of time"),
        ("infinity 1", "no time span"),
        ("9223372036854775808us", "longer than systemd can hold"),
        ("9223372036854775807", "longer than systemd can hold"),
        ("9" * 10_000, "longer than systemd can hold"),
    ],
)
def test_refused_time_span_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        units.parse_time_span(text)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", ()),
        (" \n", ()),
        ("0-3,5\n", (0, 1, 2, 3, 5)),
        ("7,0", (0, 7)),
        ("0-7:2/4", (0, 1, 4, 5)),
        ("8191", (8191,)),
    ],
)
def test_kernel_cpu_list(text: str, cpus: tuple[int, ...]) -> None:
    assert units.parse_cpu_list(text) == cpus


@pytest.mark.parametrize(
    "text", ["a", "1-", "-1", "3-1", "0-8192", "0-999999999", "0-7:0/4", "0-7:5/4", "0 1"]
)
def test_kernel_cpu_list_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"CPU|backwards|every"):
        units.parse_cpu_list(text)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,5", (0, 1, 2, 3, 5)),
        ("0 1  2,,3", (0, 1, 2, 3)),
        ("\"0-1\" '4'", (0, 1, 4)),
        ("0x10 010", (8, 16)),
        ("3-1 7", (7,)),
    ],
)
def test_systemd_cpu_set(text: str, cpus: tuple[int, ...]) -> None:
    assert units.parse_cpu_set(text) == cpus


@pytest.mark.parametrize(
    "text", ["", ",", "3-1", "1-", "0--3", "a", '"0', "0\\1", "8192", "0-4294967295"]
)
def test_systemd_cpu_set_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        units.parse_cpu_set(text)


@given(st.sets(st.integers(0, units.MAX_CPUS - 1), max_size=50))
def test_cpu_list_is_read_back(cpus: set[int]) -> None:
    text = units.format_cpu_list(cpus)
    assert units.parse_cpu_list(text) == tuple(sorted(cpus))
    assert not cpus or units.parse_cpu_set(text) == tuple(sorted(cpus))


def test_cpu_list_is_short() -> None:
    assert units.format_cpu_list((5, 0, 1, 2, 3, 7, 8)) == "0-3,5,7-8"


@pytest.mark.parametrize(
    ("usec", "text"),
    [
        (0, "0 us"),
        (999, "999 us"),
        (1_500, "1.5 ms"),
        (999_999, "1 s"),
        (98_400_000, "98.4 s"),
        (200_000_000, "3 min 20 s"),
        (7_200_000_000, "2 h"),
        (-200_000_000, "-3 min 20 s"),
    ],
)
def test_duration_for_people(usec: int, text: str) -> None:
    assert units.format_usec(usec) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0, "0 %"), (0.0001, "<0.1 %"), (0.662, "66.2 %"), (0.9999, ">99.9 %"), (1, "100 %")],
)
def test_ratio_is_never_rounded_to_nothing_or_everything(ratio: float, text: str) -> None:
    assert units.format_ratio(ratio) == text


def test_other_numbers_for_people() -> None:
    assert units.format_quota(1_500_000) == "150 %"
    assert units.format_percent(0.05) == "0.05 %"
    assert units.format_cores(1) == "1 core"
    assert units.format_cores(1.5) == "1.5 cores"
    assert units.format_cores(0.05) == "0.05 cores"


@given(st.text(max_size=30))
def test_readers_only_ever_raise_value_error(text: str) -> None:
    for read in (
        units.parse_quota,
        units.parse_time_span,
        units.parse_cpu_list,
        units.parse_cpu_set,
    ):
        try:
            read(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017 - the reason is what is tested
    units.misreading(text)
