"""Steps that are recorded once and replayed give what steps give: without a GPU, by a recording that recomputes in place."""

import pytest
import torch

from evalkit.adapters.engine.blocks import open_stack
from evalkit.adapters.engine.graphs import GraphedStack
from evalkit.adapters.engine.packing import Tree, pack
from evalkit.requests import Decoding, GenerateRequest

PROMPTS = ["Tide", "a", "The ferry crosses", "码头", "b", "rain again", "x" * 30, "two words"]


class Recording:
    """Does as a CUDA graph: reads the tensors that it was recorded with, and writes its result to one place."""

    def __init__(self):
        self.recorded, self.replayed = 0, 0

    def __call__(self, device, compute):
        self.recorded += 1
        result = compute().clone()

        def replay():
            self.replayed += 1
            return result.copy_(compute())

        return replay


def requests(**settings):
    return [
        GenerateRequest(example_id=str(place), prompt=prompt, max_new_tokens=3 + place, **settings)
        for place, prompt in enumerate(PROMPTS)
    ]


@pytest.mark.parametrize("batch_size", [1, 3, 8])
@pytest.mark.parametrize(
    "decoding",
    [Decoding(), Decoding(beams=3), Decoding(temperature=1.0, seed=3), Decoding(repetition_penalty=1.4)],
    ids=["greedy", "beams", "sampled", "penalised"],
)
def test_answers_are_those_of_plain_steps(model, make_adapter, batch_size, decoding):
    expected = list(make_adapter(model, batch_size=batch_size, decoding=decoding).answer(requests()))
    adapter, record = make_adapter(model, batch_size=batch_size, decoding=decoding), Recording()
    adapter._generator._stack = GraphedStack(adapter._stack, record)
    assert list(adapter.answer(requests())) == expected
    assert record.replayed > record.recorded > 0
    # Another time, with the same cache.
    before = record.recorded
    assert list(adapter.answer(requests())) == expected
    assert record.recorded == before


def test_a_step_is_recorded_once_for_so_many_rows_and_so_long_a_window(make_gpt):
    record = Recording()
    stack = GraphedStack(open_stack(make_gpt(max_length=300)), record)
    with torch.inference_mode():
        cache = stack.new_cache(6, 290)
        trees = [Tree(tuple(range(1, 8)))] * 3
        stack.read(pack(trees, [[6]] * 3, stack.device), cache)
        for _ in range(125):
            stack.step(torch.tensor([1, 2, 3]), cache)
        # 7 + 120 tokens and the next one fill the first window of 128; three rows take the place of four.
        assert record.recorded == 2
        assert set(stack._steps) == {(4, 128), (4, 256)}
        cache.arrange([0])
        stack.step(torch.tensor([1]), cache)
        assert set(stack._steps) == {(4, 128), (4, 256), (1, 256)}


def test_another_cache_needs_other_recordings(make_gpt):
    record = Recording()
    stack = GraphedStack(open_stack(make_gpt()), record)
    with torch.inference_mode():
        for capacity in (20, 30):
            cache = stack.new_cache(1, capacity)
            stack.read(pack([Tree((1, 2))], [[1]], stack.device), cache)
            stack.step(torch.tensor([3]), cache)
            assert set(stack._steps) == {(1, capacity)}
    assert record.recorded == 2


def test_rows_without_a_sequence_disturb_none_that_comes_later(model):
    stack, graphed = open_stack(model), GraphedStack(open_stack(model), Recording())
    rows = [(3, 1, 4), (1, 5), (9, 2, 6, 5)]
    with torch.inference_mode():
        found = []
        for one in (stack, graphed):
            cache = one.new_cache(4, 12)
            one.read(pack([Tree(rows[0])], [[2]], one.device), cache)
            # The graphed step has one row, then, with three sequences, four: slot 3 is written without a sequence.
            first = one.step(torch.tensor([7]), cache).clone()
            one.read(pack([Tree(row) for row in rows[1:]], [[1], [3]], one.device), cache)
            second = one.step(torch.tensor([8, 7, 6]), cache).clone()
            last = one.read(pack([Tree(rows[0])], [[2]], one.device), cache)
            third = one.step(torch.tensor([1, 2, 3, 7]), cache).clone()
            found.append(torch.cat([first, second, last, third]))
        torch.testing.assert_close(found[1], found[0], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(found[1][-1], found[1][0], rtol=1e-5, atol=1e-6)
