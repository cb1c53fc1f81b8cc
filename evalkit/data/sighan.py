"""Segmented Chinese text as in the SIGHAN bakeoffs: one sentence a line, spaces between words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from evalkit.data.located import Located
from evalkit.data.text import find_file, open_text


def read_sighan(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read the words of each line; any white space separates them, the ideographic space U+3000 included.

    Blank lines are no sentences, as for the bakeoff's scorer, but they count in the ids, which are line numbers, running on
    from file to file.
    """
    running = count(1)
    for path in paths:
        file = find_file(path)
        for (number, line), place in zip(open_text(file), running, strict=False):
            words = line.split()
            if words:
                yield Located({"id": str(place), "words": words}, file, number)
