"""Long sequences on disk: the same items in the same order, however they are read, and nothing left behind."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import spool as module
from evalkit.answered import View
from evalkit.spool import Form, Spool, spooled

NUMBERS = Form(lambda number: (number,), lambda packed: packed[0])


@given(st.lists(st.integers()), st.integers(1, 7))
def test_a_spool_reads_like_the_list_that_went_in(numbers, block):
    before, module._BLOCK = module._BLOCK, block
    try:
        found = Spool(NUMBERS)
        found.extend(numbers)
        assert list(found) == numbers
        assert len(found) == len(numbers)
        assert [found[place] for place in range(-len(numbers), len(numbers))] == numbers * 2
        assert list(found[1:-1:2]) == numbers[1:-1:2]
        assert list(zip(found, found, strict=True)) == list(zip(numbers, numbers, strict=True))
    finally:
        module._BLOCK = before


@pytest.mark.parametrize("place", [3, -4])
def test_a_place_that_is_not_there_is_an_error(place):
    found = Spool(NUMBERS)
    found.extend(range(3))
    with pytest.raises(IndexError):
        found[place]


def test_few_items_stay_a_tuple_and_one_more_goes_to_disk():
    assert spooled(iter(range(5)), NUMBERS, keep=5) == (0, 1, 2, 3, 4)
    assert isinstance(spooled(range(6), NUMBERS, keep=5), Spool)
    assert list(spooled(range(6), NUMBERS, keep=5)) == list(range(6))


def test_the_file_has_no_name_so_that_nothing_stays_when_the_process_dies(tmp_path, monkeypatch):
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    found = Spool(NUMBERS)
    found.extend(range(10_000))
    assert found._file is not None
    assert os.fstat(found._file.fileno()).st_size > 10_000
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", [0, 1, 3])
def test_what_the_disk_has_no_room_for_stays_in_memory(monkeypatch, written):
    real, calls = os.pwrite, []

    def full(descriptor, data, place):
        calls.append(place)
        if len(calls) > written:
            raise OSError(28, "No space left on device")
        return real(descriptor, data, place)

    monkeypatch.setattr(module.os, "pwrite", full)
    found = Spool(NUMBERS)
    found.extend(range(2000))
    monkeypatch.undo()
    found.extend(range(2000, 4000))
    assert list(found) == list(range(4000))
    assert [found[place] for place in (0, 255, 256, 1999, 2000, 3999)] == [0, 255, 256, 1999, 2000, 3999]


def test_a_write_that_is_cut_short_is_continued(monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(module.os, "pwrite", lambda descriptor, data, place: real(descriptor, data[:7], place))
    found = Spool(NUMBERS)
    found.extend(range(600))
    assert list(found) == list(range(600))


def test_a_folder_for_temporary_files_that_is_not_there_costs_memory_only(monkeypatch):
    def missing(**_):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(module.tempfile, "TemporaryFile", missing)
    found = Spool(NUMBERS)
    found.extend(range(1000))
    assert list(found) == list(range(1000))


@given(st.lists(st.tuples(st.integers(), st.booleans())))
def test_a_view_shows_a_part_of_the_chosen_items(pairs):
    view = View(pairs, lambda pair: pair[0], [chosen for _, chosen in pairs])
    expected = [number for number, chosen in pairs if chosen]
    assert list(view) == expected
    assert len(view) == len(expected)
    assert [view[place] for place in range(len(expected))] == expected
    assert list(view[::2]) == expected[::2]
