from __future__ import annotations

import os
import signal

import pytest

from quota_advisor.sandbox.signals import ENDING, ended_by_signals, shielded


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def blocked() -> set[int]:
    return {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())}


def test_a_signal_waits_until_the_shield_is_gone() -> None:
    passed = False
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - where it strikes is the point
        with shielded():
            send(signal.SIGINT)
            passed = True
        pytest.fail("the signal was lost")
    assert passed


def test_a_signal_strikes_where_it_is_let_in() -> None:
    cleaned = False
    with pytest.raises(KeyboardInterrupt), shielded() as exposed:  # noqa: PT012
        send(signal.SIGINT)
        try:
            with exposed():
                pytest.fail("the signal was lost")
        finally:
            cleaned = True
    assert cleaned


def test_a_signal_during_the_clean_up_waits_too() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), shielded() as exposed:  # noqa: PT012
        try:
            with exposed():
                steps.append("use")
        finally:
            send(signal.SIGINT)
            steps.append("clean")
    assert steps == ["use", "clean"]


def test_shields_may_be_nested() -> None:
    with shielded() as outer, outer(), shielded() as inner:
        assert set(ENDING) <= blocked()
        with inner():
            assert not set(ENDING) & blocked()
    assert not set(ENDING) & blocked()


def test_sigterm_ends_the_program_with_its_number() -> None:
    with pytest.raises(SystemExit) as ended, ended_by_signals():
        send(signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_ignored_hangup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            send(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
