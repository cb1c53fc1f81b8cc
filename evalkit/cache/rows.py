"""The rows of the cache's file: one a response, each with a seal over key and content, so that nothing edited or torn is served.

How old a row is, is counted in writes, not in time: a clock that is set back changes nothing.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

APPLICATION_ID = 0x45564B43
"""Marks the file as a cache of evalkit: EVKC."""

SCHEMA_VERSION = 1
"""Rises when a table changes."""

SCHEMA = (
    "CREATE TABLE models (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT NOT NULL)",
    "CREATE TABLE responses (key BLOB PRIMARY KEY, model INTEGER NOT NULL, used INTEGER NOT NULL, content TEXT NOT NULL,"
    " seal BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX responses_used ON responses (used)",
)

_KEYS_AT_ONCE = 500
_KEPT_SHARE = 0.9
"""How full the cache is after the oldest rows have gone."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the cache has for some keys."""

    contents: Mapping[bytes, str]
    """Content by key."""
    broken: int
    """Rows that did not fit their seal; they are treated as not there."""


@dataclass(frozen=True, slots=True)
class ModelRows:
    """How much the cache holds of one model."""

    name: str
    digest: str
    responses: int
    size_bytes: int
    """Of the contents."""


class Rows:
    """Reads and writes rows over an open connection, which raises `sqlite3.Error` where it cannot.

    Args:
        connection: To a file with our tables; commits are explicit.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._models: dict[str, int] = {}
        self._turn: int | None = None

    def find(self, keys: Sequence[bytes]) -> Found:
        """Look up keys, and check each row against its seal."""
        contents: dict[bytes, str] = {}
        broken = 0
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            marks = ",".join("?" * len(some))
            for key, content, mark in self._connection.execute(
                f"SELECT key, content, seal FROM responses WHERE key IN ({marks})", some
            ):
                if isinstance(content, str) and mark == seal(key, content):
                    contents[key] = content
                else:
                    broken += 1
        return Found(contents, broken)

    def write(self, model: tuple[str, str], rows: Iterable[tuple[bytes, str]], used: Iterable[bytes] = ()) -> None:
        """Write rows and mark others as used, all or nothing.

        Args:
            model: Digest and name of the model that answered.
            rows: Keys and contents.
            used: Keys of rows that were served.
        """
        with self._transaction():
            number = self._model(*model)
            turn = self._next_turn()
            self._connection.executemany(
                "INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?)",
                ((key, number, turn, content, seal(key, content)) for key, content in rows),
            )
            self._connection.executemany("UPDATE responses SET used = ? WHERE key = ?", ((turn, key) for key in used))
        self._turn = turn

    def size_bytes(self) -> int:
        """Bytes in use, whatever the file's own size."""
        pages, free, size = (self._number(f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size

    def evict(self, limit_bytes: int) -> int:
        """Delete the rows that were used longest ago if there are too many; returns how many went."""
        gone = 0
        if self.size_bytes() <= limit_bytes:
            return gone
        while left := self.count():
            share = 1 - _KEPT_SHARE * limit_bytes / self.size_bytes()
            if share <= 0:
                break
            with self._transaction():
                gone += self._connection.execute(
                    "DELETE FROM responses WHERE key IN (SELECT key FROM responses ORDER BY used LIMIT ?)",
                    (math.ceil(share * left),),
                ).rowcount
        self._give_back()
        return gone

    def clear(self) -> int:
        """Delete all rows; returns how many there were."""
        with self._transaction():
            count = self._connection.execute("DELETE FROM responses").rowcount
            self._connection.execute("DELETE FROM models")
        self._models = {}
        self._give_back()
        return count

    def count(self) -> int:
        """Number of rows."""
        return self._number("SELECT count(*) FROM responses")

    def by_model(self) -> list[ModelRows]:
        """How much there is of each model, most first."""
        rows = self._connection.execute(
            "SELECT name, digest, count(key), coalesce(sum(length(content)), 0) FROM models"
            " JOIN responses ON responses.model = models.id GROUP BY models.id ORDER BY 3 DESC, 1, 2"
        )
        return [ModelRows(*row) for row in rows]

    def broken(self) -> Iterator[bytes]:
        """Keys of the rows that do not fit their seals; reads everything."""
        for key, content, mark in self._connection.execute("SELECT key, content, seal FROM responses"):
            if not isinstance(content, str) or mark != seal(key, content):
                yield key

    def drop(self, keys: Sequence[bytes]) -> None:
        """Delete some rows."""
        with self._transaction():
            self._connection.executemany("DELETE FROM responses WHERE key = ?", ((key,) for key in keys))

    def _model(self, digest: str, name: str) -> int:
        if digest not in self._models:
            self._connection.execute("INSERT OR IGNORE INTO models (digest, name) VALUES (?, ?)", (digest, name))
            self._models[digest] = self._number("SELECT id FROM models WHERE digest = ?", digest)
        return self._models[digest]

    def _next_turn(self) -> int:
        if self._turn is None:
            self._turn = self._number("SELECT coalesce(max(used), 0) FROM responses")
        return self._turn + 1

    def _give_back(self) -> None:
        """Let the file shrink."""
        # A plain `execute` would take one step, and each step gives back one page.
        self._connection.executescript("PRAGMA incremental_vacuum")

    def _number(self, query: str, *values: object) -> int:
        return int(self._connection.execute(query, values).fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._models = {}
            raise


def seal(key: bytes, content: str) -> bytes:
    """Digest that binds a content to its key."""
    return hashlib.blake2b(key + content.encode("utf-8", "surrogatepass"), digest_size=8).digest()
