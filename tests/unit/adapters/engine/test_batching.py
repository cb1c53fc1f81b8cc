import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evalkit.adapters.engine import batching
from evalkit.adapters.engine.batching import (
    Budget,
    answer_each,
    answer_in_order,
    batches_by_tokens,
    is_out_of_memory,
    run_batches,
)
from evalkit.errors import EvalkitError

CPU = torch.device("cpu")


@given(st.lists(st.integers(0, 30)), st.none() | st.integers(1, 60), st.none() | st.integers(1, 5))
def test_batches_hold_each_sequence_once_and_keep_the_budget(lengths, budget, most):
    batches = list(batches_by_tokens(lengths, budget, most))
    places = [place for batch in batches for place in batch]
    assert sorted(places) == list(range(len(lengths)))
    assert places == sorted(places, key=lambda place: -lengths[place])
    for batch in batches:
        assert budget is None or len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= budget
        assert most is None or len(batch) <= most


@given(st.permutations(range(6)))
def test_answers_leave_in_order_and_none_waits_longer_than_it_must(order):
    given_so_far = []

    def pairs():
        for index in order:
            given_so_far.append(index)
            yield index, str(index)

    for turn, answer in enumerate(answer_in_order(pairs(), 6)):
        assert answer == str(turn)
        # The last one that was waited for is one of those that had to come first.
        assert given_so_far[-1] <= turn or set(range(turn + 1)) <= set(given_so_far)


def test_a_missing_answer_is_an_error():
    with pytest.raises(EvalkitError, match="1 of 3 sequences were not computed"):
        list(answer_in_order([(0, "a"), (1, "b")], 3))


def test_equal_keys_are_computed_once_and_in_blocks(monkeypatch):
    monkeypatch.setattr(batching, "BLOCK", 2)
    asked = []

    def compute(keys):
        asked.append(keys)
        return [(place, key * 10) for place, key in reversed(list(enumerate(keys)))]

    answers = answer_each([3, 1, 3, 2, 1], compute)
    assert next(answers) == 30
    assert asked == [[3, 1]]
    assert list(answers) == [10, 30, 20, 10]
    assert asked == [[3, 1], [2]]


def test_no_keys_need_no_work():
    assert list(answer_each([], lambda keys: 1 / 0)) == []


def test_work_goes_on_in_halves_and_nothing_is_computed_twice():
    budget, done = Budget(CPU), []
    budget.tokens = 80

    def compute(batch):
        if len(batch) > 3:
            raise torch.OutOfMemoryError("out of memory")
        done.extend(batch)
        return [place * place for place in batch]

    lengths = [10, 10, 10, 10, 10, 10, 10, 40, 1]
    assert dict(run_batches(lengths, budget, compute)) == {place: place * place for place in range(9)}
    assert sorted(done) == list(range(9))
    assert budget.tokens == 20


def test_a_single_sequence_that_does_not_fit_is_an_error():
    def compute(batch):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes")

    with pytest.raises(EvalkitError, match="out of memory with a single sequence; use a smaller model or dtype"):
        list(run_batches([5, 5], Budget(CPU), compute))


def test_a_batch_size_that_was_asked_for_is_kept():
    budget = Budget(CPU, 3)
    sizes = []
    list(run_batches([9] * 7, budget, lambda batch: sizes.append(len(batch)) or batch))
    assert sizes == [3, 3, 1]
    with pytest.raises(EvalkitError, match="out of memory with batch size 3"):
        budget.halve(RuntimeError("out of memory"), 3)


def test_a_budget_is_larger_on_an_accelerator():
    assert Budget(torch.device("cuda")).tokens > Budget(CPU).tokens
    assert Budget(torch.device("cuda")).sequences > Budget(CPU).sequences


def test_a_cpu_runs_fewer_sequences_at_once_where_their_cache_would_be_large():
    budget = Budget(CPU)
    assert budget.slots(1 << 20) == budget.sequences == 64
    assert budget.slots(1 << 27) == 16
    # Two would fit, but a few there have to be, or each weight is read for one token alone.
    assert budget.slots(1 << 30) == 4
    budget.halve(RuntimeError("out of memory"), 3)
    assert budget.slots(1 << 30) == 1
    # Who names a batch size gets it, and an accelerator says by itself when it is full.
    assert Budget(CPU, 50).slots(1 << 30) == 50
    assert Budget(torch.device("cuda")).slots(1 << 30) == 256


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("MPS backend out of memory"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_lack_of_memory_is_told_from_other_errors(error, expected):
    assert is_out_of_memory(error) is expected
