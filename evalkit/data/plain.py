"""Running text for language models, cut into units that joined give the text of the file, character for character."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from evalkit.data.located import Located
from evalkit.data.options import choice, option
from evalkit.data.text import find_file, open_text
from evalkit.errors import DataError, InvalidInputError

PLAIN_TEXT_OPTIONS: Mapping[str, str] = {
    "unit": "what one text is: document (the file), line, paragraph, wikitext (an article) or block (of lines)",
    "lines": "number of lines of a block; 100 unless said otherwise",
}

_WIKITEXT_HEADING = re.compile(r" ?= (?!= )\S.* = ?\s*")

Begins: TypeAlias = Callable[[int, str, str, str], bool]
"""Whether a unit begins at a line, by the number of lines in the unit so far, the line before, the line and the line after."""


def read_plain_text(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read units of text with all their line ends; no unit is blank.

    Blank lines belong to the unit before them, those at the beginning of a file to the first unit. Where there are several
    files, each is a cluster.

    Raises:
        UnknownNameError: The unit is not known.
        InvalidInputError: An option has a wrong value.
    """
    unit = choice(options, "unit", "document", ("document", "line", "paragraph", "wikitext", "block"))
    lines = option(options, "lines", 100)
    if "lines" in options and unit != "block":
        raise InvalidInputError(f"option 'lines' goes with unit 'block'; found unit {unit!r}")
    if lines < 1:
        raise InvalidInputError(f"option 'lines' is {lines}; expected at least 1")
    return _units(paths, _BEGINS.get(unit) or _block(lines))


def _units(paths: Sequence[Path], begins: Begins) -> Iterator[Located]:
    for path in paths:
        file = find_file(path)
        cluster = {"cluster": path.name.removesuffix(".gz")} if len(paths) > 1 else {}
        for number, text in _cut(file, begins):
            yield Located({"text": text, **cluster}, file, number)


def _cut(file: Path, begins: Begins) -> Iterator[tuple[int, str]]:
    """Units with the line where each begins."""
    start, unit, has_text, before = 1, list[str](), False, ""
    for number, line, after in _with_next(file):
        is_blank = line.isspace()
        if has_text and not is_blank and begins(len(unit), before, line, after):
            yield start, "".join(unit)
            start, unit = number, []
        unit.append(line)
        has_text = has_text or not is_blank
        before = line
    if not has_text:
        raise DataError(file, "all lines are blank; expected text")
    yield start, "".join(unit)


def _with_next(file: Path) -> Iterator[tuple[int, str, str]]:
    lines = open_text(file, keep_ends=True)
    number, line = next(lines)
    for next_number, after in lines:
        yield number, line, after
        number, line = next_number, after
    yield number, line, ""


def _is_blank(line: str) -> bool:
    return not line or line.isspace()


def _document(length: int, before: str, line: str, after: str) -> bool:
    return False


def _line(length: int, before: str, line: str, after: str) -> bool:
    return True


def _paragraph(length: int, before: str, line: str, after: str) -> bool:
    return _is_blank(before)


def _article(length: int, before: str, line: str, after: str) -> bool:
    """WikiText sets headings between blank lines; formulas may look like one, but stand in running text."""
    return _is_blank(before) and _is_blank(after) and _WIKITEXT_HEADING.fullmatch(line) is not None


def _block(lines: int) -> Begins:
    return lambda length, before, line, after: length >= lines


_BEGINS: Mapping[str, Begins] = {"document": _document, "line": _line, "paragraph": _paragraph, "wikitext": _article}
