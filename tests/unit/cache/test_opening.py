"""Opening the cache: a file that cannot be trusted is set aside with a message; one that cannot be used is left alone."""

import fcntl
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from evalkit.cache import opening
from evalkit.cache.opening import UnusableCacheError, find_damage, open_database
from evalkit.cache.rows import APPLICATION_ID, SCHEMA_VERSION, Rows
from tests.cached import MODEL, key


def made(path: Path, rows: int = 300) -> bytes:
    """A sound cache with some pages."""
    with closing(open_database(path, lambda line: None)) as connection:
        Rows(connection).write(MODEL, [(key(number), "x" * 500) for number in range(rows)])
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def foreign(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.execute("INSERT INTO mine VALUES (1)")
    return path.read_bytes()


def renamed_table(path: Path) -> bytes:
    made(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP INDEX responses_used")
        connection.execute("CREATE VIEW responses_used AS SELECT 1")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def cut(path: Path) -> bytes:
    content = made(path)
    path.write_bytes(content[: len(content) // 2])
    return path.read_bytes()


def overwritten(path: Path) -> bytes:
    content = made(path)
    path.write_bytes(content[:8192] + bytes(len(content) - 12288) + content[-4096:])
    return path.read_bytes()


def text(path: Path) -> bytes:
    path.write_text("id,value\n1,2\n")
    return path.read_bytes()


def one_byte(path: Path) -> bytes:
    path.write_bytes(b"S")
    return b"S"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (text, "is no cache of evalkit"),
        (one_byte, "is no cache of evalkit"),
        (foreign, "is no cache of evalkit"),
        (renamed_table, "holds other tables than a cache of evalkit"),
        (cut, "is damaged"),
        (overwritten, "is damaged"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_set_aside_unchanged_and_begun_anew(path, said, make, problem):
    content = make(path)
    with closing(open_database(path, said.append)) as connection:
        rows = Rows(connection)
        assert rows.count() == 0
        rows.write(MODEL, [(key(1), "answer")])
    assert said == [f"cache {path} {problem}; set aside as cache.sqlite.set-aside-1, and begun anew"]
    assert path.with_name("cache.sqlite.set-aside-1").read_bytes() == content
    with closing(open_database(path, said.append)) as connection:
        assert Rows(connection).find([key(1)]).contents == {key(1): "answer"}
    assert len(said) == 1


def test_what_is_set_aside_replaces_nothing(path, said):
    for _ in range(3):
        text(path)
        open_database(path, said.append).close()
    assert sorted(p.name for p in path.parent.glob("*aside*")) == [f"cache.sqlite.set-aside-{n}" for n in (1, 2, 3)]


def test_an_empty_file_is_a_cache_that_nobody_has_begun(path, said):
    path.touch()
    open_database(path, said.append).close()
    assert find_damage(path) is None
    assert said == []


def test_the_cache_of_a_newer_evalkit_is_left_alone(path, said):
    made(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with pytest.raises(UnusableCacheError, match=r"was written by a newer evalkit \(schema 2, this one reads 1\)"):
        open_database(path, said.append)
    assert [p.name for p in path.parent.iterdir() if "aside" in p.name] == []


@pytest.mark.parametrize("place", ["/proc/cache.sqlite", "/dev/null/cache.sqlite", "."])
def test_a_place_that_cannot_be_written_is_an_error_in_one_line(place, said):
    with pytest.raises(UnusableCacheError, match=r"^cache '[^\n]*' (cannot be used: |is a folder)[^\n]*$"):
        open_database(Path(place), said.append)


def test_the_folder_of_the_default_cache_keeps_itself_out_of_version_control(tmp_path, said):
    open_database(tmp_path / ".evalkit" / "cache.sqlite", said.append).close()
    assert (tmp_path / ".evalkit" / ".gitignore").read_text().splitlines()[-1] == "*"


def test_a_lock_that_another_process_keeps_makes_the_cache_unusable_for_now(path, said, monkeypatch):
    monkeypatch.setattr(opening, "BUSY_S", 0.05)
    made(path)
    descriptor = os.open(path.with_name("cache.sqlite.lock"), os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(UnusableCacheError, match="locked by another process"):
            open_database(path, said.append)
    finally:
        os.close(descriptor)
    open_database(path, said.append).close()


def test_an_exclusive_transaction_of_another_process_is_told_as_a_lock(path, said, monkeypatch):
    monkeypatch.setattr(opening, "BUSY_S", 0.05)
    made(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnusableCacheError, match="locked by another process"):
            open_database(path, said.append)
    assert not list(path.parent.glob("*aside*"))


def test_what_a_killed_process_had_written_is_there_for_the_next(path):
    program = f"""
import os, signal
from pathlib import Path
from evalkit.cache.opening import open_database
from evalkit.cache.rows import Rows
rows = Rows(open_database(Path({str(path)!r}), print))
for number in range(50):
    rows.write(("d", "m"), [(number.to_bytes(16, "big"), "answer")])
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -9
    assert path.with_name("cache.sqlite-wal").stat().st_size > 0
    with closing(open_database(path, lambda line: pytest.fail(line))) as connection:
        assert Rows(connection).count() == 50


def test_processes_that_open_a_damaged_file_at_once_set_it_aside_once(path):
    text(path)
    program = f"""
from pathlib import Path
from evalkit.cache.opening import open_database
from evalkit.cache.rows import Rows
import sys
rows = Rows(open_database(Path({str(path)!r}), lambda line: None))
rows.write(("d", "m"), [(int(sys.argv[1]).to_bytes(16, "big"), "answer")])
"""
    started = [subprocess.Popen([sys.executable, "-c", program, str(number)]) for number in range(4)]
    assert [process.wait(30) for process in started] == [0] * 4
    assert len(list(path.parent.glob("*aside-*"))) == 1
    with closing(open_database(path, lambda line: pytest.fail(line))) as connection:
        assert Rows(connection).count() == 4


def test_the_file_is_marked_as_ours(path):
    content = made(path)
    assert int.from_bytes(content[68:72], "big") == APPLICATION_ID
