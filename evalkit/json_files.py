"""JSON files that others wrote: checked for size, depth and form before anything is taken from them."""

import json
import stat
from pathlib import Path
from typing import Any, NoReturn

from evalkit.errors import DataError

CONFIG_BYTES = 64 * 1024 * 1024
"""Largest file of settings or names that is read."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse_object(text: str, path: Path | str) -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        text: The JSON.
        path: Where it comes from, for messages.

    Raises:
        DataError: It is no JSON, is nested too deeply, or is not an object.
    """
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise DataError(path, "JSON is nested too deeply; expected a file that a program wrote") from error
    except ValueError as error:
        raise DataError(path, f"not JSON: {error}") from error
    if not isinstance(content, dict):
        raise DataError(path, f"expected a JSON object, found {type(content).__name__}")
    return content


def read_object(path: Path, limit_bytes: int = CONFIG_BYTES) -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Args:
        path: The file.
        limit_bytes: Largest size that is read.

    Raises:
        DataError: The file cannot be read, is larger than the limit, or holds no JSON object.
    """
    return parse_object(read_text(path, limit_bytes), path)


def read_text(path: Path, limit_bytes: int = CONFIG_BYTES) -> str:
    """Read a UTF-8 file.

    Args:
        path: The file.
        limit_bytes: Largest size that is read.

    Raises:
        DataError: The file is none or cannot be read, is larger than the limit, or is not UTF-8.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            # A pipe would be waited for without end.
            raise DataError(path, "this is a folder, a pipe or a device; expected a file")
        if found.st_size > limit_bytes:
            raise DataError(path, f"found {found.st_size} bytes, expected at most {limit_bytes}; name another file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(path, f"not UTF-8: {error}") from error
