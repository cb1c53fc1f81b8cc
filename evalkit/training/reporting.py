"""What a training says on its way: a line on stderr, and metrics as lines of JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import torch

TERMINAL_EVERY_S = 0.2
FILE_EVERY_S = 15.0
"""Seconds between two lines of progress where stderr is no terminal."""


class MetricsFile:
    """`metrics.jsonl`: one JSON object a line, ``step`` first; lines after the step that a training goes on from are dropped.

    Args:
        path: The file.
        step: The step that the training goes on from.
    """

    def __init__(self, path: Path, step: int) -> None:
        kept = [line for line in _lines(path) if line.get("step", 0) <= step]
        aside = path.with_suffix(".new")
        aside.write_text("".join(_line(entry) for entry in kept), encoding="utf-8")
        os.replace(aside, path)
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def write(self, entry: Mapping[str, Any]) -> None:
        """Add a line."""
        self._file.write(_line(entry))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read all whole lines of a metrics file."""
    return list(_lines(path))


def _lines(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    if not path.is_file():
        return entries
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            break  # A process that was killed leaves half a line; what follows it is as old.
        if isinstance(entry, dict):
            entries.append(entry)
    return entries


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n"


class ProgressLine:
    """One line on stderr: step, loss, tokens a second, time left, memory.

    On a terminal it is written over itself; elsewhere a new one comes every quarter of a minute.

    Args:
        title: What is trained.
        is_shown: Whether to say anything.
    """

    def __init__(self, title: str, *, is_shown: bool) -> None:
        self._title, self._is_shown = title, is_shown
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()
        self._width = 0

    def update(
        self, step: int, steps: int, loss_nats: float, tokens_per_s: float, left_s: float, device: torch.device
    ) -> None:
        """Show how far the training is, if it is time for that."""
        now = time.monotonic()
        if not self._is_shown or now - self._last < (TERMINAL_EVERY_S if self._is_terminal else FILE_EVERY_S):
            return
        self._last = now
        self._show(
            f"{self._title}: step {step}/{steps}  loss {loss_nats:.4f}  {shown_count(tokens_per_s)} tokens/s"
            f"  {shown_time(left_s)} left  {memory_bytes(device) / 1e9:.1f} GB"
        )

    def say(self, text: str) -> None:
        """Write a line that stays."""
        if not self._is_shown or sys.stderr is None:
            return
        self.clear()
        sys.stderr.write(f"{self._title}: {text}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away that is written over itself."""
        if self._width and sys.stderr is not None:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0

    def _show(self, text: str) -> None:
        if sys.stderr is None:
            return
        if self._is_terminal:
            self.clear()
            self._width = len(text)
            sys.stderr.write(text)
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()


def shown_time(seconds: float) -> str:
    """Write a time as people read it.

    >>> shown_time(5.2), shown_time(75), shown_time(7384), shown_time(5e6)
    ('5s', '1m15s', '2h03m', '58 days')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m" if whole < 100 * 3600 else f"{whole // 86400:,} days"


def shown_count(count: float) -> str:
    """Write a number with the letter of its thousands.

    >>> shown_count(950), shown_count(12_345), shown_count(124_439_808)
    ('950', '12.3k', '124.4M')
    """
    for limit, letter in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= limit:
            return f"{count / limit:.1f}{letter}"
    return f"{count:.0f}"


def memory_bytes(device: torch.device) -> int:
    """The most memory that was in use so far, on the device of the model."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
