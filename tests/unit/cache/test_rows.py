"""Rows of the cache: what is found was written under that key, and the oldest go first."""

import sqlite3
from contextlib import closing

import pytest

from evalkit.cache.rows import ModelRows, seal
from tests.cached import MODEL, key


def test_rows_are_found_by_their_keys_alone(open_rows):
    rows = open_rows()
    rows.write(MODEL, [(key(number), f"answer {number}") for number in range(1200)])
    found = rows.find([key(number) for number in range(1100, 1300)])
    assert found.contents == {key(number): f"answer {number}" for number in range(1100, 1200)}
    assert found.broken == 0
    assert rows.count() == 1200
    assert rows.by_model() == [ModelRows("model", "digest", 1200, sum(len(f"answer {n}") for n in range(1200)))]


def test_half_characters_and_empty_answers_are_kept_as_they_are(open_rows):
    rows = open_rows()
    rows.write(MODEL, [(key(1), ""), (key(2), "茶\n")])
    assert rows.find([key(1), key(2)]).contents == {key(1): "", key(2): "茶\n"}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE responses SET content = 'other' WHERE key = ?",
        "UPDATE responses SET content = x'00ff' WHERE key = ?",
        "UPDATE responses SET seal = x'0000000000000000' WHERE key = ?",
        "UPDATE responses SET seal = '' WHERE key = ?",
    ],
)
def test_a_row_that_was_edited_is_never_served(open_rows, path, change):
    rows = open_rows()
    rows.write(MODEL, [(key(1), "answer 1"), (key(2), "answer 2")])
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(change, (key(1),))
    found = rows.find([key(1), key(2)])
    assert (found.contents, found.broken) == ({key(2): "answer 2"}, 1)
    assert list(rows.broken()) == [key(1)]


def test_a_row_under_another_rows_key_is_never_served(open_rows, path):
    rows = open_rows()
    rows.write(MODEL, [(key(1), "answer 1"), (key(2), "answer 2")])
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(
            "UPDATE responses SET content = 'answer 2', seal = ? WHERE key = ?", (seal(key(2), "answer 2"), key(1))
        )
    assert rows.find([key(1), key(2)]).contents == {key(2): "answer 2"}


def test_all_rows_of_a_write_are_there_or_none(open_rows):
    rows = open_rows()

    def broken():
        yield key(1), "answer 1"
        raise ValueError("the model broke down")

    with pytest.raises(ValueError, match="broke down"):
        rows.write(MODEL, broken())
    assert rows.count() == 0
    rows.write(MODEL, [(key(1), "answer 1")])
    assert rows.count() == 1


def fill(rows, start: int, stop: int, size: int = 2000) -> None:
    rows.write(MODEL, [(key(number), f"{number:0{size}}") for number in range(start, stop)])


def test_what_was_used_longest_ago_goes_first_and_the_file_shrinks(open_rows, path):
    rows = open_rows()
    for start in range(0, 6000, 1000):
        fill(rows, start, start + 1000)
    rows.write(MODEL, [], used=[key(number) for number in range(500)])
    full = rows.size_bytes()
    limit = full // 2
    assert rows.evict(limit) > 0
    assert rows.size_bytes() <= limit
    left = rows.find([key(number) for number in range(6000)]).contents
    assert key(5999) in left
    assert key(700) not in left
    assert all(key(number) in left for number in range(500)), "they were served last"
    rows._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert path.stat().st_size < 0.6 * full


def test_below_its_limit_nothing_goes(open_rows):
    rows = open_rows()
    fill(rows, 0, 100)
    assert rows.evict(rows.size_bytes()) == 0
    assert rows.count() == 100


def test_clearing_leaves_an_empty_cache_that_takes_rows_again(open_rows):
    rows = open_rows()
    fill(rows, 0, 100)
    assert rows.clear() == 100
    assert (rows.count(), rows.by_model()) == (0, [])
    fill(rows, 0, 3)
    assert rows.by_model()[0].responses == 3
