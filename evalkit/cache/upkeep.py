"""What a user may ask of the cache's file apart from a run: how much is in it, whether it is sound, and to empty it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from evalkit.cache.opening import find_damage, is_damage, open_database, unusable
from evalkit.cache.rows import ModelRows, Rows
from evalkit.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """What is in a cache."""

    path: str
    responses: int
    size_bytes: int
    """Of the file, and of the log beside it."""
    limit_bytes: int
    """Above it, the responses that were used longest ago go."""
    models: tuple[ModelRows, ...]
    """How much there is of each model, most first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCheck:
    """What a reading of all rows found."""

    path: str
    responses: int
    """Those that fit their seals."""
    broken: int
    """Those that did not; they are deleted."""


def cache_stats(path: Path, limit_bytes: int, notice: Callable[[str], None]) -> CacheStats:
    """Count what is there; a cache that does not exist yet has nothing.

    Raises:
        UnusableCacheError: The file cannot be used.
    """
    if not path.exists():
        return CacheStats(path=str(path), responses=0, size_bytes=0, limit_bytes=limit_bytes, models=())
    with _opened(path, notice) as rows:
        models = tuple(rows.by_model())
        files = (path, path.with_name(f"{path.name}-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        return CacheStats(
            path=str(path), responses=rows.count(), size_bytes=size, limit_bytes=limit_bytes, models=models
        )


def clear_cache(path: Path, notice: Callable[[str], None]) -> int:
    """Delete all responses; returns how many there were.

    Raises:
        UnusableCacheError: The file cannot be used.
    """
    if not path.exists():
        return 0
    with _opened(path, notice) as rows:
        return rows.clear()


def verify_cache(path: Path, notice: Callable[[str], None]) -> CacheCheck:
    """Check the pages of the file and the seal of every response; what does not fit is deleted and will be asked for again.

    Raises:
        UnusableCacheError: The file cannot be used.
        InvalidInputError: The file was damaged as a whole; it was set aside, and an empty one begun.
    """
    if path.exists():
        damage = _damage(path)
        if damage is not None:
            with _opened(path, notice):
                raise InvalidInputError(f"cache {path} {damage}; an empty one is in its place")
        with _opened(path, notice) as rows:
            broken = list(rows.broken())
            rows.drop(broken)
            return CacheCheck(path=str(path), responses=rows.count(), broken=len(broken))
    return CacheCheck(path=str(path), responses=0, broken=0)


def _damage(path: Path) -> str | None:
    try:
        return find_damage(path)
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    except OSError as error:
        raise InvalidInputError(f"cache {str(path)!r} cannot be read: {error.strerror or error}") from error


@contextmanager
def _opened(path: Path, notice: Callable[[str], None]) -> Iterator[Rows]:
    with closing(open_database(path, notice)) as connection:
        try:
            yield Rows(connection)
        except sqlite3.Error as error:
            if is_damage(error):
                raise InvalidInputError(f"cache {path} is damaged; the next run sets it aside") from error
            raise unusable(path, error) from error
