"""Progress bars on stderr: only on a terminal, only for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

DELAY_S = 1.0
"""Work that is done sooner shows no bar."""


def show_progress(items: Iterable[Any], total: int, title: str) -> Iterable[Any]:
    """Pass items through; show a bar once they take longer than a second and stderr is a terminal."""
    return _shown(items, total, title) if is_terminal() else items


def is_terminal() -> bool:
    """Whether stderr is open and a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def show_waiting(title: str) -> Iterator[None]:
    """Say what is going on while work of unknown length takes longer than a second and stderr is a terminal."""
    if not is_terminal():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(title)
    timer = threading.Timer(max(DELAY_S, 0.0), status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _shown(items: Iterable[Any], total: int, title: str) -> Iterator[Any]:
    started, done, iterator = time.monotonic(), 0, iter(items)
    for item in iterator:
        yield item
        done += 1
        if time.monotonic() - started > DELAY_S:
            break
    else:
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, completed=done)
        for item in iterator:
            yield item
            bar.advance(task)
