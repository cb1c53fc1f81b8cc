"""Rows together with the place where they were found, so that every problem can be shown where it is."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalkit.spec import Row


class Located(NamedTuple):
    """A row and its place."""

    row: Row
    """The row, under the names of the file or, after mapping, of the task kind."""
    path: Path | str
    """File, or name of the data set, that holds it."""
    line: int | None
    """Line, from 1, where the row begins; None where the format has no lines."""
