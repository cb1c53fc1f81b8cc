"""The first signal asks to stop, the second one stops, and those that come together are one."""

import os
import signal
import threading

import pytest

from evalkit import stopping
from evalkit.stopping import Stop, stop_on_signals


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.fixture
def terminal():
    """A terminal that may be closed, also where the tests themselves were started with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_asks_to_stop_and_the_second_one_stops(monkeypatch, number):
    now = [100.0]
    monkeypatch.setattr(stopping.time, "monotonic", lambda: now[0])
    said: list[str] = []
    with stop_on_signals(said.append) as stop:
        assert not stop.is_asked
        send(number)
        assert stop.is_asked
        now[0] += 0.1
        send(signal.SIGTERM)  # A launcher passes on what the terminal sent already.
        now[0] += 1
        with pytest.raises(KeyboardInterrupt):
            send(number)
    assert said == ["finishing what is in hand; once more to stop at once"]


def test_afterwards_signals_mean_what_they_meant_before():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stop_on_signals(lambda line: None):
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_what_nohup_started_outlives_its_terminal():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals(lambda line: None) as stop:
            send(signal.SIGHUP)
            assert not stop.is_asked
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_thread_that_may_not_handle_signals_can_still_be_asked():
    asked = []

    def run() -> None:
        with stop_on_signals(lambda line: None) as stop:
            stop.ask()
            asked.append(stop.is_asked)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert asked == [True]


def test_a_stop_is_not_asked_for_by_itself():
    assert not Stop().is_asked
