"""Rows as JSON objects: one a line (``jsonl``), or an array of them (``json``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.data.located import Located
from evalkit.data.text import find_file, open_text, read_text
from evalkit.errors import DataError

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def read_jsonl(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read one object a line; blank lines are skipped.

    Raises:
        DataError: A line is not a JSON object, repeats a key, or holds half a character.
    """
    for path in paths:
        file = find_file(path)
        for number, line in open_text(file):
            if line and not line.isspace():
                yield Located(_object(parse_json(line, file, number), file, number), file, number)


def read_json(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read an array of objects.

    Raises:
        DataError: The file holds something else.
    """
    for path in paths:
        file = find_file(path)
        value = load_json(file)
        if isinstance(value, dict):
            kind = "SQuAD JSON is format 'squad_json'" if "data" in value else "one object a line is format 'jsonl'"
            raise DataError(file, f"found one object; expected an array of objects; {kind}")
        if not isinstance(value, list):
            raise DataError(file, f"found {_json_name(value)}; expected an array of objects")
        for number, item in enumerate(value, start=1):
            if not isinstance(item, dict):
                raise DataError(file, f"item {number} is {_json_name(item)}; expected an object")
            yield Located(item, file, None)


def load_json(file: Path) -> Any:  # noqa: ANN401
    """Load a whole JSON file.

    Raises:
        DataError: It is not JSON, repeats a key in one object, or holds half a character.
    """
    return parse_json(read_text(file), file, None)


def parse_json(text: str, file: Path, line: int | None, expected: str = "") -> Any:  # noqa: ANN401
    """Parse JSON that lies in a file.

    Args:
        text: The JSON.
        file: The file, for messages.
        line: Number of the line that the text is; None where the text is the whole file.
        expected: What should stand there; ends the messages.

    Raises:
        DataError: As for `load_json`.
    """
    ending = f"; {expected}" if expected else ""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = error.lineno if line is None else line
        hint = "; one object a line is format 'jsonl'" if line is None and error.msg == "Extra data" else ""
        raise DataError(file, f"broken JSON at column {error.colno}: {error.msg}{hint}{ending}", place) from error
    except (ValueError, RecursionError) as error:
        raise DataError(file, f"JSON that cannot be read: {error}{ending}", line) from error
    check_characters(text, value, file, line)
    return value


def check_characters(text: str, value: object, file: Path, line: int | None) -> None:
    """Refuse texts with half a character, which JSON can escape but no file of UTF-8 can hold.

    Raises:
        DataError: There is one in `value`, which was parsed from `text`.
    """
    if _SURROGATE_ESCAPE.search(text) and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise DataError(file, "half a character (a lone \\ud800 to \\udfff); expected whole characters", line)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} stands twice in one object; expected each key once")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
"""Made once: `json.loads` makes one a call."""


def _object(value: Any, file: Path, number: int) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(value, dict):
        return value
    hint = "; an array of objects is format 'json'" if isinstance(value, list) else ""
    raise DataError(file, f"found {_json_name(value)}; expected one object a line{hint}", number)


def _json_name(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names: dict[type, str] = {list: "an array", dict: "an object", str: "a text"}
    return names.get(type(value), "a number")
