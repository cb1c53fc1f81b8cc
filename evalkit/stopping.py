"""Stop and go: the first signal to stop lets the work in hand be finished and kept, the second one stops at once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAME_S = 0.5
"""Signals that follow each other faster are one: a terminal, a launcher and a scheduler may each send theirs."""


class Stop:
    """Whether someone has asked to stop."""

    def __init__(self) -> None:
        self._asked_at: float | None = None

    @property
    def is_asked(self) -> bool:
        """Whether no new work should be begun."""
        return self._asked_at is not None

    def ask(self) -> None:
        """Ask to stop.

        Raises:
            KeyboardInterrupt: It was asked before: stop at once.
        """
        now = time.monotonic()
        if self._asked_at is None:
            self._asked_at = now
        elif now - self._asked_at > _SAME_S:
            raise KeyboardInterrupt


@contextmanager
def stop_on_signals(say: Callable[[str], None]) -> Iterator[Stop]:
    """Turn interrupts, requests to terminate and a terminal that is closed into a `Stop` while the context is open.

    What was started with nohup goes on when its terminal is closed.

    Args:
        say: Told what the first signal leads to.
    """
    stop = Stop()

    def on_signal(number: int, frame: FrameType | None) -> None:
        is_first = not stop.is_asked
        stop.ask()
        if is_first:
            say("finishing what is in hand; once more to stop at once")

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    wanted = [number for number in _SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in wanted}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
