"""Files of results: they appear whole or not at all, so that a full disk costs no older result."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from evalkit.errors import InvalidInputError


def write_result(path: Path | str, content: str | bytes) -> None:
    """Write a file of results, with the folders above it.

    Args:
        path: The file; devices and pipes are written to as they are.
        content: What stands in it; a character that UTF-8 cannot hold becomes an escape.

    Raises:
        InvalidInputError: It cannot be written; what stood there before still does.
    """
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    try:
        # Behind a link stands the file that is meant.
        target = Path(path).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not _is_replaceable(target):
            target.write_bytes(data)
        else:
            replace_whole(target, data)
    except (OSError, ValueError, RuntimeError) as error:  # of names with a zero byte, and of links in a circle
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"cannot write {str(path)!r}: {reason}; choose another file") from error


def _is_replaceable(target: Path) -> bool:
    """Whether another file may take its place: it is no device, not mounted by itself, and it and its folder may be written."""
    return (
        target.is_file()
        and not os.path.ismount(target)
        and os.access(target, os.W_OK)
        and os.access(target.parent, os.W_OK)
    )


def replace_whole(target: Path, content: bytes) -> None:
    """Write a file aside, onto the disk, and rename it; one that was there leaves it its permissions.

    Args:
        target: The file; its folder is there.
        content: What stands in it.

    Raises:
        OSError: It could not be written; what stood there before still does.
    """
    aside = target.with_name(f".{target.name[:50]}-{secrets.token_hex(4)}")
    try:
        with aside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            aside.chmod(target.stat().st_mode & 0o777)
        aside.replace(target)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
