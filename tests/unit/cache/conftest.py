"""Fixtures of the cache's tests: a file, and what was said about it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evalkit.cache.opening import open_database
from evalkit.cache.responses import ResponseCache
from evalkit.cache.rows import Rows
from tests.cached import MODEL


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def open_rows(path: Path, said: list[str]):
    connections = []

    def make() -> Rows:
        connections.append(open_database(path, said.append))
        return Rows(connections[-1])

    yield make
    for connection in connections:
        connection.close()


@pytest.fixture
def open_cache(path: Path, said: list[str]) -> Callable[..., ResponseCache]:
    """A function that opens the cache as a run would, without waiting for writes."""

    def make(limit_bytes: int = 2**40) -> ResponseCache:
        cache = ResponseCache(path, open_database(path, said.append), limit_bytes, said.append)
        cache.answers_of(*MODEL)
        return cache

    return make
