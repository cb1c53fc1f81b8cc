"""Where the cache lies, how large it may become, and whether processes of several machines may meet there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from evalkit.errors import InvalidInputError

OFF = "off"
"""What is written instead of a path to have no cache."""

DEFAULT_PATH = ".evalkit/cache.sqlite"
"""Below the working folder, as `runs` is."""

PATH_VARIABLE = "EVALKIT_CACHE"
"""Environment variable that names the file, or ``off``, where no flag does."""

LIMIT_VARIABLE = "EVALKIT_CACHE_LIMIT"
"""Environment variable that names the largest size."""

DEFAULT_LIMIT_BYTES = 10 * 2**30

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SHARED_SYSTEMS = (
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p", "glusterfs", "panfs", "pvfs2",
    "ocfs2", "gfs2", "virtiofs",
)  # fmt: skip
"""File systems that several machines may write to at once."""


def cache_path(given: str | None) -> Path | None:
    """The file of the cache; None where there shall be none.

    Args:
        given: What the flag says; None leaves it to the environment, and then to the default.

    Raises:
        InvalidInputError: It names nothing.
    """
    named = given if given is not None else os.environ.get(PATH_VARIABLE, DEFAULT_PATH)
    if not named.strip() or "\0" in named:
        raise InvalidInputError(f"--cache {named!r} names no file; expected a path such as {DEFAULT_PATH}, or {OFF}")
    return None if named == OFF else Path(named).expanduser()


def is_chosen(given: str | None) -> bool:
    """Whether the user named the file, so that one that cannot be used is an error."""
    return given is not None or PATH_VARIABLE in os.environ


def cache_limit_bytes() -> int:
    """The largest size of the cache.

    Raises:
        InvalidInputError: The environment's size is none.
    """
    text = os.environ.get(LIMIT_VARIABLE)
    if text is None:
        return DEFAULT_LIMIT_BYTES
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"{LIMIT_VARIABLE} is {text!r}; expected a size such as 500MB or 20GB")
    return int(float(match[1]) * 1024 ** _UNITS[match[2].lower()])


def is_shared_system(folder: Path, mounts: str = "/proc/self/mountinfo") -> bool:
    """Whether a folder is on a file system of several machines, where SQLite's write-ahead log must not be used.

    Args:
        folder: The folder.
        mounts: The system's table of mounts; where there is none, the answer is no.
    """
    try:
        table = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape")
        wanted = str(folder.resolve())
    except OSError:
        return False
    best, found = -1, ""
    for line in table.splitlines():
        fields = line.split(" ")
        if "-" not in fields[6:] or len(fields) < 10:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
        is_above = wanted == point or wanted.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= best:
            best, found = len(point), fields[fields.index("-", 6) + 1]
    return found in _SHARED_SYSTEMS or found.startswith("fuse.")
