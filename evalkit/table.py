"""Plain tables for a terminal, aligned also where Chinese takes two columns a character."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Lay out rows under a header.

    Args:
        header: Column titles.
        rows: Cells as text, one sequence a row.
        right: Columns that are aligned to the right, such as numbers.
    """
    table = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(width(row[column]) for row in table) for column in range(len(header))]
    lines = [
        "  ".join(_pad(cell, size, i in right) for i, (cell, size) in enumerate(zip(row, widths, strict=True)))
        for row in table
    ]
    lines.insert(1, "  ".join("-" * size for size in widths))
    return "\n".join(line.rstrip() for line in lines)


def width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def printable(text: str) -> str:
    """A text without control characters, so that data cannot steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c in "\n\t\r" else f"\\x{ord(c):02x}" for c in text)


def _pad(text: str, size: int, is_right: bool) -> str:
    space = " " * (size - width(text))
    return space + text if is_right else text + space
