"""From a path to a file that can be trusted. What is damaged or something else is set aside, never deleted, and begun anew."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from evalkit.cache.place import is_shared_system
from evalkit.cache.rows import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from evalkit.errors import InvalidInputError

BUSY_S = 10.0
"""How long a lock of another process is waited for before the cache counts as locked."""

CHECKED_WHOLE_BYTES = 64 * 2**20
"""Files up to this size are checked page by page when they are opened; larger ones as they are read."""

_PAUSE_S = 0.02
_MAGIC = b"SQLite format 3\0"
_IGNORE = "# Made by evalkit.\n*\n"
_RESULT_CODE = 0xFF
"""The lower byte of SQLite's extended result codes."""


class UnusableCacheError(InvalidInputError):
    """The cache cannot be used here and now; what is there is left as it is."""


def open_database(path: Path, notice: Callable[[str], None]) -> sqlite3.Connection:
    """Open the file of the cache, make it where there is none, and set aside what is none.

    Args:
        path: The file.
        notice: Is told in one line when a file was set aside.

    Raises:
        UnusableCacheError: The folder or the file cannot be written or is locked, or a newer evalkit wrote it.
    """
    try:
        if path.is_dir():
            raise UnusableCacheError(f"cache {str(path)!r} is a folder; name a file with --cache, or off")
        _make_folder(path.parent)
        with _alone(path):
            problem = find_damage(path)
            if problem is not None:
                notice(f"cache {path} {problem}; set aside as {set_aside(path).name}, and begun anew")
            return _connect(path)
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    except OSError as error:
        raise UnusableCacheError(f"cache {str(path)!r} cannot be used: {error.strerror or error}") from error


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a cache that may not be written.

    Raises:
        UnusableCacheError: It cannot be read, or is damaged or something else.
    """
    try:
        problem = find_damage(path)
        if problem is None and path.is_file():
            return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise UnusableCacheError(f"cache {str(path)!r} cannot be read: {error}") from error
    except OSError as error:
        raise UnusableCacheError(f"cache {str(path)!r} cannot be read: {error.strerror or error}") from error
    raise UnusableCacheError(f"cache {str(path)!r} cannot be read: it {problem or 'is not there'}")


def find_damage(path: Path) -> str | None:
    """Say what is wrong with a file, so that it must not be trusted; None where it is fine or not there.

    Raises:
        UnusableCacheError: A newer evalkit wrote it.
    """
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return None
    if not path.is_file():
        raise UnusableCacheError(f"cache {str(path)!r} is no file; name a file with --cache, or off")
    with path.open("rb") as file:
        head = file.read(100)
    application, version = (int.from_bytes(head[place : place + 4], "big") for place in (68, 60))
    if not head.startswith(_MAGIC) or application != APPLICATION_ID:
        return "is no cache of evalkit"
    if version > SCHEMA_VERSION:
        raise UnusableCacheError(
            f"cache {str(path)!r} was written by a newer evalkit (schema {version}, this one reads {SCHEMA_VERSION});"
            " name another file with --cache"
        )
    return _find_damage_inside(path)


def _find_damage_inside(path: Path) -> str | None:
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
            tables = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
            if sorted(tables) != sorted(SCHEMA):
                return "holds other tables than a cache of evalkit"
            if path.stat().st_size <= CHECKED_WHOLE_BYTES:
                (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if found != "ok":
                    return "is damaged"
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return "is damaged"
        raise
    return None


def set_aside(path: Path) -> Path:
    """Rename a file, and what SQLite keeps beside it, to the first free name; returns the new one.

    Raises:
        OSError: It cannot be renamed.
    """
    number = 1
    while (aside := path.with_name(f"{path.name}.set-aside-{number}")).exists():
        number += 1
    path.rename(aside)
    for ending in ("-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
    return aside


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means that the file is not what it should be."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether an error means that another process holds a lock, so that later may do."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def unusable(path: Path, error: sqlite3.Error) -> UnusableCacheError:
    """The error for a file that SQLite refuses."""
    reason = "locked by another process" if is_busy(error) else str(error)
    return UnusableCacheError(f"cache {str(path)!r} cannot be used: {reason}")


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", None) or 0) & _RESULT_CODE


def _make_folder(folder: Path) -> None:
    """Make the folder; one of our own keeps itself out of version control."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if folder.name == ".evalkit":
        with suppress(OSError):
            (folder / ".gitignore").write_text(_IGNORE, encoding="utf-8")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from opening the file, so that two that find it damaged do not set aside each other's new one."""
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        deadline = time.monotonic() + BUSY_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise UnusableCacheError(
                        f"cache {str(path)!r} cannot be used: locked by another process"
                    ) from error
                time.sleep(_PAUSE_S)
            except OSError:
                break  # A file system without locks; SQLite's own will say so.
        yield
    finally:
        os.close(descriptor)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _create(connection)
        # The log is memory that processes share, which those of several machines cannot.
        mode = "DELETE" if is_shared_system(path.parent) else "WAL"
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")
