"""The cache as a run uses it: whatever happens to the file, the run goes on and is told in one line."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from evalkit.cache import responses
from evalkit.cache.opening import UnusableCacheError
from evalkit.cache.responses import open_cache as open_named
from tests.cached import key


def fill(cache, start: int, stop: int) -> None:
    cache.put((key(number), f"answer {number}") for number in range(start, stop))


def stored(open_cache, stop: int) -> set[int]:
    cache = open_cache()
    found = cache.find([key(number) for number in range(stop)])
    cache.close()
    return {int.from_bytes(one, "big") for one in found}


def test_what_was_put_is_found_at_once_and_by_the_next_run(open_cache, said):
    cache = open_cache()
    fill(cache, 0, 10)
    assert cache.find([key(3), key(99)]) == {key(3): "answer 3"}
    cache.close()
    assert stored(open_cache, 20) == set(range(10))
    assert said == []


def test_a_response_is_on_disk_as_soon_as_it_is_put(open_cache, path):
    cache = open_cache()
    time.sleep(responses.FLUSH_S)
    fill(cache, 0, 1)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM responses").fetchone() == (1,)
    cache.close()


def test_responses_that_come_fast_are_written_together_and_all_of_them_at_the_end(open_cache):
    cache = open_cache()
    for number in range(500):
        fill(cache, number, number + 1)
    cache.close()
    assert stored(open_cache, 500) == set(range(500))


def test_a_full_disk_is_told_once_and_what_was_written_before_stays(open_cache, said, path):
    cache = open_cache()
    fill(cache, 0, 5)
    cache.flush()
    pages = cache._connection.execute("PRAGMA page_count").fetchone()[0]
    cache._connection.execute(f"PRAGMA max_page_count = {pages}")
    for start in range(5, 3000, 500):
        fill(cache, start, start + 500)
        cache.flush()
    assert said == [f"cache {path}: database or disk is full; responses from here on may have to be asked for again"]
    assert cache.find([key(1)]) == {}, "the run asks on without a cache"
    cache.close()
    assert set(range(5)) <= stored(open_cache, 5)


def test_a_file_that_becomes_read_only_is_told_once(open_cache, said, path):
    cache = open_cache()
    cache._connection.execute("PRAGMA query_only = ON")
    fill(cache, 0, 5)
    cache.flush()
    cache.close()
    assert len(said) == 1
    assert said[0].startswith(f"cache {path}: attempt to write a readonly database")


def test_another_process_that_locks_the_file_is_waited_for_and_nothing_is_lost(open_cache, said, path, monkeypatch):
    monkeypatch.setattr(responses, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(responses, "_FIRST_PAUSE_S", 0.01)
    cache = open_cache()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(5):
            fill(cache, number, number + 1)
            cache.flush()
            time.sleep(0.02)
        assert cache.find([key(0)]) == {key(0): "answer 0"}, "what could not be written yet is still known"
        other.execute("ROLLBACK")
    time.sleep(0.2)
    fill(cache, 5, 6)
    cache.close()
    assert said == [f"cache {path}: locked by another process; trying again from time to time"]
    assert stored(open_cache, 6) == set(range(6))


def test_a_file_that_is_damaged_while_it_is_read_is_set_aside_and_begun_anew(open_cache, said, path):
    cache = open_cache()
    fill(cache, 0, 3000)
    cache.flush()
    cache._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4096):
            file.seek(4096 * page)
            file.write(b"\xff" * 4096)
    cache._connection.execute("PRAGMA cache_size = 0")
    cache._connection.execute("PRAGMA shrink_memory")
    cache.find([key(number) for number in range(3000)])
    fill(cache, 0, 10)
    cache.close()
    assert said == [f"cache {path}: damaged; set aside as cache.sqlite.set-aside-1, and begun anew"]
    assert stored(open_cache, 3000) == set(range(10))


def test_rows_that_do_not_fit_their_seals_are_asked_for_again_and_replaced(open_cache, said, path):
    cache = open_cache()
    fill(cache, 0, 3)
    cache.close()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE responses SET content = 'edited' WHERE key = ?", (key(1),))
    cache = open_cache()
    assert set(cache.find([key(number) for number in range(3)])) == {key(0), key(2)}
    fill(cache, 1, 2)
    cache.close()
    assert said == [f"cache {path}: 1 of its responses do not fit their seals; they are asked for again"]
    assert stored(open_cache, 3) == {0, 1, 2}


def test_a_clock_that_jumps_back_changes_neither_what_is_kept_nor_what_goes_first(open_cache, monkeypatch):
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    for start in range(0, 4000, 1000):
        cache = open_cache(limit_bytes=400_000)
        cache.put((key(number), "x" * 200) for number in range(start, start + 1000))
        cache.close()
        now[0] -= 1e8
    left = stored(open_cache, 4000)
    assert 3999 in left
    assert 0 not in left


def test_above_its_limit_the_cache_forgets_the_oldest_and_says_so(open_cache, said, path):
    cache = open_cache(limit_bytes=200_000)
    cache.put((key(number), "x" * 200) for number in range(3000))
    cache.close()
    assert said == [f"cache {path}: larger than its limit of 200000 bytes; the responses that were used longest ago go"]
    assert 0 < len(stored(open_cache, 3000)) < 1000


def test_several_processes_write_into_one_cache_at_once(path):
    program = f"""
import sys
from pathlib import Path
from evalkit.cache.opening import open_database
from evalkit.cache.responses import ResponseCache
path, start = Path({str(path)!r}), 1000 * int(sys.argv[1])
cache = ResponseCache(path, open_database(path, print), 2**40, print)
cache.answers_of("d" + sys.argv[1], "m")
for number in range(start, start + 200):
    cache.put([(number.to_bytes(16, "big"), "answer")])
    cache.flush()
cache.close()
"""
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(number)], stdout=subprocess.PIPE) for number in range(3)
    ]
    assert [process.communicate(timeout=60)[0] for process in started] == [b""] * 3
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM responses").fetchone() == (600,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


class TestNaming:
    def test_off_is_no_cache(self, said, monkeypatch):
        assert open_named("off", said.append) is None
        monkeypatch.setenv("EVALKIT_CACHE", "off")
        assert open_named(None, said.append) is None
        assert said == []

    def test_the_default_lies_below_the_working_folder(self, tmp_path, said, monkeypatch):
        monkeypatch.delenv("EVALKIT_CACHE")
        monkeypatch.chdir(tmp_path)
        cache = open_named(None, said.append)
        assert str(cache.path) == ".evalkit/cache.sqlite"
        cache.close()
        assert (tmp_path / ".evalkit" / "cache.sqlite").is_file()

    def test_a_default_that_cannot_be_used_is_done_without(self, tmp_path, said, monkeypatch):
        monkeypatch.delenv("EVALKIT_CACHE")
        monkeypatch.chdir(tmp_path)
        (tmp_path / ".evalkit").write_text("a file where the folder should be")
        assert open_named(None, said.append) is None
        (line,) = said
        assert line.startswith("cache '.evalkit/cache.sqlite' cannot be used: ")
        assert line.endswith("a run that is stopped will have to begin anew: name a file with --cache")

    def test_a_default_below_a_folder_that_may_not_be_entered_is_done_without(self, tmp_path, said, monkeypatch):
        monkeypatch.delenv("EVALKIT_CACHE")
        monkeypatch.chdir(tmp_path)
        real = Path.stat

        def refused(self, **named):
            if self.name == "cache.sqlite":
                raise PermissionError(13, "Permission denied")
            return real(self, **named)

        monkeypatch.setattr(Path, "stat", refused)
        monkeypatch.setattr(os, "access", lambda *_: False)
        assert open_named(None, said.append) is None
        (line,) = said
        assert line.startswith("cache '.evalkit/cache.sqlite' cannot be used: Permission denied; ")

    def test_a_file_that_may_not_even_be_read_costs_one_line(self, path, said, monkeypatch):
        monkeypatch.setenv("EVALKIT_CACHE", str(path))
        path.write_bytes(b"")
        monkeypatch.setattr(os, "access", lambda *_: False)

        def refused(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("evalkit.cache.opening.find_damage", refused)
        with pytest.raises(UnusableCacheError, match=r"cannot be read: Permission denied$"):
            open_named(None, said.append)
        assert said == []

    @pytest.mark.parametrize("by", ["flag", "environment"])
    def test_a_named_file_that_cannot_be_used_is_an_error(self, by, said, monkeypatch):
        monkeypatch.setenv("EVALKIT_CACHE", "/proc/cache.sqlite")
        with pytest.raises(UnusableCacheError, match=r"cache '/proc/cache\.sqlite' cannot be used"):
            open_named("/proc/cache.sqlite" if by == "flag" else None, said.append)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
    def test_a_file_that_may_only_be_read_answers_and_takes_nothing(self, open_cache, path, said):
        self._check_read_only(open_cache, path, said)

    def test_a_file_that_may_only_be_read_answers_and_takes_nothing_also_for_root(
        self, open_cache, path, said, monkeypatch
    ):
        monkeypatch.setattr(os, "access", lambda *_: False)
        self._check_read_only(open_cache, path, said)

    def _check_read_only(self, open_cache, path, said):
        cache = open_cache()
        fill(cache, 0, 3)
        cache.close()
        path.chmod(0o444)
        cache = open_named(str(path), said.append)
        assert cache.find([key(1)]) == {key(1): "answer 1"}
        fill(cache, 3, 6)
        cache.close()
        path.chmod(0o644)
        assert said == [f"cache {path}: it may not be written; responses are looked up there, and none is added"]
        assert stored(open_cache, 6) == {0, 1, 2}
