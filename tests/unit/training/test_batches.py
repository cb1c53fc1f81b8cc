"""Batches: every example once an epoch, within the budget, of like length, the same for the same seed."""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.training.batches import Batches, Position, piece_count, pieces
from evalkit.training.recipe import BatchSection

LENGTHS = [3 + (7 * place) % 41 for place in range(300)]


def batches(seed: int = 0, lengths=LENGTHS, **section) -> Batches:
    return Batches(lengths, BatchSection(**({"tokens": 200} | section)), seed)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=200),
    st.integers(1, 150),
    st.integers(1, 8),
    st.integers(0, 3),
)
def test_an_epoch_holds_every_example_once_and_keeps_to_the_budget(lengths, tokens, buckets, epoch):
    made = batches(lengths=lengths, tokens=tokens, buckets=buckets).epoch(epoch)
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= tokens


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 100), st.integers(1, 30))
def test_a_budget_of_examples_is_filled_but_for_the_last_batch_of_the_pool(count, size):
    made = batches(lengths=[5] * count, tokens=None, examples=size, buckets=1000).epoch(0)
    assert sorted(map(len, made), reverse=True)[: count // size] == [size] * (count // size)
    assert sum(map(len, made)) == count


def test_epochs_and_seeds_differ_and_repeat():
    assert batches(0).epoch(0) == batches(0).epoch(0)
    assert batches(0).epoch(0) != batches(0).epoch(1)
    assert batches(0).epoch(0) != batches(1).epoch(0)


def test_buckets_bring_examples_of_like_length_together():
    def padding(buckets: int) -> float:
        made = batches(buckets=buckets).epoch(0)
        padded = sum(len(batch) * max(LENGTHS[place] for place in batch) for batch in made)
        return 1 - sum(LENGTHS) / padded

    assert padding(32) < 0.1 < 0.3 < padding(1)


def test_batches_of_a_pool_do_not_come_in_the_order_of_their_lengths():
    longest = [max(LENGTHS[place] for place in batch) for batch in batches(buckets=32).epoch(0)]
    assert longest != sorted(longest)
    assert longest != sorted(longest, reverse=True)


def test_the_sequence_goes_on_from_any_position():
    whole = list(islice(batches().starting_at(Position(0, 0)), 3 * batches().per_epoch))
    for place in (0, 1, batches().per_epoch - 1, batches().per_epoch, 2 * batches().per_epoch + 3):
        _, after = whole[place]
        again = list(islice(batches().starting_at(after), 5))
        assert [batch for batch, _ in again] == [batch for batch, _ in whole[place + 1 : place + 6]][: len(again)]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_pieces_share_a_batch_out_evenly(count: int):
    shares = pieces(list(range(10)), count)
    assert sorted(place for share in shares for place in share) == list(range(10))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_batch_has_as_many_pieces_for_each_process():
    assert [piece_count(accumulate, 4) for accumulate in (1, 4, 5)] == [4, 4, 8]
