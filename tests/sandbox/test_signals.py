from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from quota_advisor.sandbox.signals import ENDING, shielded


@pytest.fixture(params=["alone", "with a bystander"], autouse=True)
def bystander(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have another thread that any signal of the process may be delivered to, or none."""
    if request.param == "alone":
        assert threading.active_count() == 1, f"left over: {threading.enumerate()}"
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    before = [signal.getsignal(number) for number in ENDING]
    yield
    assert [signal.getsignal(number) for number in ENDING] == before


def send(number: int) -> None:
    """Send a signal to the process, not to a thread, and give any thread the time to take it."""
    os.kill(os.getpid(), number)
    time.sleep(0.02)


def test_a_signal_waits_until_the_shield_is_gone() -> None:
    passed = False
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - where it strikes is the point
        with shielded():
            send(signal.SIGINT)
            passed = True
        pytest.fail("the signal was lost")
    assert passed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_would_end_the_process_waits_too(number: signal.Signals) -> None:
    passed = False
    with pytest.raises(SystemExit) as ended, shielded():  # noqa: PT012
        send(number)
        passed = True
    assert passed
    assert ended.value.code == 128 + number


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


def test_a_second_signal_does_not_cut_the_clean_up_short() -> None:
    cleaned = False
    with pytest.raises(SystemExit) as ended, shielded() as exposed:  # noqa: PT012
        try:
            with exposed():
                send(signal.SIGINT)
                threading.Event().wait(10)
        finally:
            send(signal.SIGTERM)
            cleaned = True
    assert cleaned
    assert isinstance(ended.value.__context__, KeyboardInterrupt)


def test_a_signal_that_comes_while_it_is_let_in_strikes_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), shielded() as exposed, exposed():  # noqa: PT012
        send(signal.SIGINT)
        threading.Event().wait(10)
        pytest.fail("the signal was lost")


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


def test_a_shield_within_a_shield_holds_as_long_as_the_outer_one() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), shielded():  # noqa: PT012
        with shielded() as inner:
            send(signal.SIGINT)
            with inner():
                steps.append("inner")
        steps.append("outer")
    assert steps == ["inner", "outer"]


def test_a_shield_within_what_is_let_in_lets_in_again() -> None:
    with pytest.raises(KeyboardInterrupt), shielded() as outer, outer():  # noqa: PT012, SIM117
        with shielded() as inner:
            send(signal.SIGINT)
            with inner():
                pytest.fail("the signal was lost")


def test_sigterm_ends_what_was_let_in_with_its_number() -> None:
    with pytest.raises(SystemExit) as ended, shielded() as exposed, exposed():  # noqa: PT012
        send(signal.SIGTERM)
        threading.Event().wait(10)
    assert ended.value.code == 128 + signal.SIGTERM


def test_a_program_with_a_handler_of_its_own_keeps_it() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    try:
        with shielded():
            send(signal.SIGTERM)
            assert seen == []
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_ignored_hangup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with shielded() as exposed, exposed():
            send(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_another_thread_a_shield_does_nothing() -> None:
    strikes: list[BaseException] = []

    def use() -> None:
        try:
            with shielded() as exposed, exposed():
                pass
        except BaseException as error:  # noqa: BLE001 - whatever it is
            strikes.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert strikes == []


def test_what_is_started_under_a_shield_can_be_ended() -> None:
    with shielded():
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        child.terminate()
        assert child.wait(10) == -signal.SIGTERM
        child.communicate()
