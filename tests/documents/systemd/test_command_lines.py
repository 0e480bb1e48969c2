"""Words of command lines, as systemd takes them apart."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.documents.systemd.command_lines import command_words, split_words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", []),
        (" \t ", []),
        ("a  b\tc", ["a", "b", "c"]),
        ('"a b" c', ["a b", "c"]),
        ("'a b' c", ["a b", "c"]),
        ("--name='a b'c", ["--name=a bc"]),
        ('a "" b', ["a", "", "b"]),
        ('"it\'s" \'say "so"\'', ["it's", 'say "so"']),
        (r"a\sb", ["a b"]),
        (r"'a\x20b'", ["a b"]),
        (r"\101\u00e9\U0001F600", ["Aé😀"]),
        (r'"a\"b"', ['a"b']),
        (r"a\\b", [r"a\b"]),
        (r"a\t", ["a\t"]),
        # No escapes: systemd warns and keeps them as they are.
        (r"a\q \x0", [r"a\q", r"\x0"]),
        (r"\x00", [r"\x00"]),
        (r"\UFFFFFFFF", [r"\UFFFFFFFF"]),
        ("a\\", ["a\\"]),
        # No comment: systemd knows none within a value.
        ("a # b", ["a", "#", "b"]),
        # Refused as a whole; the words show what was meant.
        ("a 'b c", ["a", "'b", "c"]),
    ],
)
def test_words(value: str, words: list[str]) -> None:
    assert split_words(value) == words


@given(st.lists(st.text(alphabet="ab '\"=-#$%é", max_size=6), max_size=5))
def test_what_a_shell_quotes_without_escapes_is_read_back(words: list[str]) -> None:
    # Adjacent quotes of both kinds are how a shell writes a quote within quotes.
    assert split_words(shlex.join(words)) == words


@given(st.text(alphabet="ab \t'\"\\x0s", max_size=40))
def test_any_text_has_words(value: str) -> None:
    assert all(isinstance(word, str) for word in split_words(value))


@pytest.mark.parametrize("text", ["'", '"', "a'b'", "\\", "\\x", "' ", 'a"'])
def test_long_values_take_no_longer_than_they_are(text: str) -> None:
    words = split_words(text * (1_000_000 // len(text)))
    assert words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("/bin/a -x", ["/bin/a", "-x"]),
        ("-/bin/a -x", ["/bin/a", "-x"]),
        ("-+ /bin/a -x", ["/bin/a", "-x"]),
        ("@/bin/sh gunicorn -w 9", ["/bin/sh", "-w", "9"]),
        ("|!!/bin/a", ["/bin/a"]),
    ],
)
def test_what_stands_before_the_program_is_no_word(value: str, words: list[str]) -> None:
    assert command_words(value) == words
