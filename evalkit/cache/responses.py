"""The cache as a run uses it: whatever happens to the file, the run goes on and says in one line what is amiss."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from evalkit.cache.opening import (
    BUSY_S,
    UnusableCacheError,
    is_busy,
    is_damage,
    open_database,
    open_to_read,
    set_aside,
)
from evalkit.cache.place import cache_limit_bytes, cache_path, is_chosen
from evalkit.cache.rows import Rows

FLUSH_S = 0.01
"""Responses that come faster than this are written together."""

_PATIENCE_S = 1.0
"""How long a write waits for another process; what cannot be written waits in memory while the model goes on."""
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_ROWS_BETWEEN_CHECKS = 5000
"""Rows after which the size is looked at, and after which those that were served are marked."""


class ResponseCache:
    """Responses by key, on disk.

    Args:
        path: The file.
        connection: To the file; None where none is to be had, then nothing is found and nothing written.
        limit_bytes: The largest size; the rows that were used longest ago go first.
        notice: Is told in one line what is amiss.
        is_read_only: Whether rows are only looked up.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection | None,
        limit_bytes: int,
        notice: Callable[[str], None],
        *,
        is_read_only: bool = False,
    ) -> None:
        self.path = path
        self._connection, self._limit, self._notice = connection, limit_bytes, notice
        self._is_read_only = is_read_only
        self._rows = Rows(connection) if connection is not None else None
        self._set_patience(_PATIENCE_S)
        self._model = ("", "")
        self._waiting: dict[bytes, str] = {}
        self._used: set[bytes] = set()
        self._written_at = time.monotonic()
        self._pause_s, self._paused_until = 0.0, 0.0
        self._since_check = 0
        self._told: set[str] = set()

    def answers_of(self, digest: str, name: str) -> None:
        """Say whose responses are put from now on."""
        self.flush()
        self._model = (digest, name)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Contents of the keys that are there, each checked against its seal."""
        found = {key: self._waiting[key] for key in keys if key in self._waiting}
        if self._rows is None:
            return found
        try:
            rows = self._rows.find([key for key in keys if key not in found])
        except sqlite3.Error as error:
            self._fail(error, "responses are asked for that it may hold")
            return found
        if rows.broken:
            self._tell(f"{rows.broken} of its responses do not fit their seals; they are asked for again")
        self._used.update(rows.contents)
        if len(self._used) >= _ROWS_BETWEEN_CHECKS:
            self.flush()
        return {**found, **rows.contents}

    def put(self, rows: Iterable[tuple[bytes, str]]) -> None:
        """Keep responses; they are on disk at the latest when `FLUSH_S` have passed and another one comes, or at a flush."""
        if self._rows is None or self._is_read_only:
            return
        self._waiting.update(rows)
        if time.monotonic() - self._written_at >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Write what waits, unless another process has just been found to hold the file for long."""
        if self._rows is None or self._is_read_only or time.monotonic() < self._paused_until:
            return
        if not self._waiting and not self._used:
            return
        try:
            self._rows.write(self._model, self._waiting.items(), self._used)
            self._since_check += len(self._waiting)
            self._waiting, self._used, self._pause_s = {}, set(), 0.0
            if self._since_check >= _ROWS_BETWEEN_CHECKS:
                self._evict()
        except sqlite3.Error as error:
            self._fail(error, "responses from here on may have to be asked for again")
        self._written_at = time.monotonic()

    def close(self) -> None:
        """Write what waits, with patience, and let go of the file."""
        if self._connection is None:
            return
        self._paused_until = 0.0
        self._set_patience(BUSY_S)
        self.flush()
        if self._waiting and self._connection is not None:
            self._tell(f"{len(self._waiting)} responses could not be written")
        elif self._rows is not None and not self._is_read_only and self._connection is not None:
            try:
                self._evict()
            except sqlite3.Error as error:
                self._fail(error, "it may be larger than its limit")
        self._let_go()

    def _evict(self) -> None:
        assert self._rows is not None
        self._since_check = 0
        gone = self._rows.evict(self._limit)
        if gone:
            self._tell(f"larger than its limit of {self._limit} bytes; the responses that were used longest ago go")

    def _fail(self, error: sqlite3.Error, otherwise: str) -> None:
        """Go on after an error: later, with a new file, or without a cache."""
        if is_busy(error):
            # Others are waited for in the background: what is to be written stays in memory.
            self._pause_s = min(max(_FIRST_PAUSE_S, 2 * self._pause_s), _LONGEST_PAUSE_S)
            self._paused_until = time.monotonic() + self._pause_s
            self._tell("locked by another process; trying again from time to time")
            return
        if is_damage(error):
            self._begin_anew()
            return
        self._tell(f"{error}; {otherwise}")
        self._let_go()

    def _begin_anew(self) -> None:
        self._let_go()
        try:
            aside = set_aside(self.path)
            self._connection = open_database(self.path, self._notice)
        except (OSError, UnusableCacheError) as error:
            self._tell(f"damaged, and cannot be begun anew: {error}")
            return
        self._tell(f"damaged; set aside as {aside.name}, and begun anew")
        self._rows = Rows(self._connection)

    def _let_go(self) -> None:
        connection, self._connection, self._rows = self._connection, None, None
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error as error:
                self._tell(str(error))

    def _set_patience(self, seconds: float) -> None:
        if self._connection is not None:
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self._notice(f"cache {self.path}: {line}")


def open_cache(given: str | None, notice: Callable[[str], None]) -> ResponseCache | None:
    """Open the cache that the flag, the environment or the default names.

    A file that the user named and that cannot be used is an error; without the default one a run goes on and says so.

    Args:
        given: What the flag says: a path, ``off``, or None.
        notice: Is told in one line what is amiss.

    Returns:
        The cache; None where there shall be none, or where the default one cannot be used.

    Raises:
        UnusableCacheError: The named file cannot be used.
        InvalidInputError: Path or size mean nothing.
    """
    path = cache_path(given)
    if path is None:
        return None
    limit = cache_limit_bytes()
    try:
        if os.path.isfile(path) and not os.access(path, os.W_OK):
            cache = ResponseCache(path, open_to_read(path), limit, notice, is_read_only=True)
            notice(f"cache {path}: it may not be written; responses are looked up there, and none is added")
            return cache
        return ResponseCache(path, open_database(path, notice), limit, notice)
    except UnusableCacheError as error:
        if is_chosen(given):
            raise
        notice(f"{error}; a run that is stopped will have to begin anew: name a file with --cache")
        return None
