"""Progress shows only on a terminal, and only for work that takes a while; items always pass through."""

import io
import sys

from evalkit import progress
from evalkit.progress import show_progress


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch) -> Terminal:
    """Put a terminal in the place of stderr; in the test itself, for pytest sets stderr again after the fixtures."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_nothing_is_wrapped_where_stderr_is_no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    items = [1, 2, 3]
    assert show_progress(items, 3, "work") is items


def test_short_work_shows_no_bar(monkeypatch):
    terminal = open_terminal(monkeypatch)
    assert list(show_progress(iter([1, 2, 3]), 3, "work")) == [1, 2, 3]
    assert terminal.getvalue() == ""


def test_long_work_shows_its_title_and_every_item_passes_through_once(monkeypatch):
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY_S", -1.0)
    assert list(show_progress(iter(range(50)), 50, "task model")) == list(range(50))
    assert "task model" in terminal.getvalue()
