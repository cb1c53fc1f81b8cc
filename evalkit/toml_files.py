"""TOML files that users write: checked for size, depth and form before anything is taken from them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from evalkit.data.text import read_text
from evalkit.errors import DataError
from evalkit.json_files import CONFIG_BYTES


def read_toml(path: Path | str, expected: str) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: The file.
        expected: What it should have been, for messages, e.g. ``a gate policy such as docs/gate.md shows``.

    Raises:
        DataError: The file cannot be read, is too large, is no UTF-8, is no TOML or is nested too deeply.
    """
    return parse_toml(read_text(path, CONFIG_BYTES), path, expected)


def parse_toml(text: str, source: Path | str, expected: str) -> dict[str, Any]:
    """Parse TOML.

    Args:
        text: The TOML.
        source: Where it comes from, for messages.
        expected: What it should have been, for messages.

    Raises:
        DataError: It is no TOML, or is nested too deeply.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        problem = f"not a TOML file that can be read: it is nested too deeply; expected {expected}"
        raise DataError(source, problem) from error
    except ValueError as error:
        raise DataError(source, f"not a TOML file: {error}; expected {expected}") from error
