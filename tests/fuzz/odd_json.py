"""JSON that is not what was expected: documents of which some values are others, or gone.

Bytes that are cut or doubled are mostly no JSON any more, and never reach what reads the values.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from typing import Any

NUMBERS = [0, -1, 1.5, 2**63, -(2**70), 1e308, float("nan"), float("inf")]
TEXTS = ["", "x", "\ud800", "\u2028", "a" * 300, "../x", "\x1b[31m", "\0"]
LISTS = [[], [[]], [None], [1, 1, 1], [1e308, 1e308, 1], [8, 0]]
VALUES = [None, True, *NUMBERS, *TEXTS, *LISTS, {}, {"a": 1}]
_HEADER_SIZE = 8


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All containers of a document, each with one of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def altered(content: bytes, seed: int) -> bytes:
    """Give one value of a JSON file, of a line of JSON lines, or of a safetensors header another value, or take it out.

    Args:
        content: The file.
        seed: Which value, and what becomes of it.

    Raises:
        ValueError: There is no JSON in the file.
    """
    dice = random.Random(seed)
    if content[:1] not in b"[{" and len(content) > _HEADER_SIZE:
        size = struct.unpack("<Q", content[:_HEADER_SIZE])[0]
        header = _altered(content[_HEADER_SIZE : _HEADER_SIZE + size], dice)
        return struct.pack("<Q", len(header)) + header + content[_HEADER_SIZE + size :]
    try:
        # A last line without an end counts as cut, and is not looked at.
        return _altered(content, dice) + b"\n"
    except ValueError:
        lines = content.splitlines(keepends=True)
        place = dice.randrange(len(lines)) if lines else 0
        return b"".join(
            [*lines[:place], _altered(b"".join(lines[place : place + 1]), dice), b"\n", *lines[place + 1 :]]
        )


def _altered(text: bytes, dice: random.Random) -> bytes:
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("too deep") from error
    holder, key = dice.choice(list(places(document)) or [([None], 0)])
    if dice.random() < 0.75:
        holder[key] = dice.choice(VALUES)
    else:
        del holder[key]
    return json.dumps(document, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
