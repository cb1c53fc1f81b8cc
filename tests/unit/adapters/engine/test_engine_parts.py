import pytest
import torch
from torch.nn import functional

from evalkit.adapters.engine import linear
from evalkit.adapters.engine.blocks import open_stack
from evalkit.adapters.engine.cache import SlotCache
from evalkit.adapters.engine.linear import FastLinear
from evalkit.adapters.engine.packing import Tree, pack

CPU = torch.device("cpu")


def random(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("inputs", [8, 256])
@pytest.mark.parametrize("outputs", [24, 4100])
@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("fast_blas", [False, True])
def test_a_fast_linear_layer_gives_what_the_plain_one_gives(monkeypatch, inputs, outputs, gelu, fast_blas):
    monkeypatch.setattr(linear, "_has_fast_blas", lambda: fast_blas)
    weight, bias = random(outputs, inputs) / inputs**0.5, random(outputs, seed=2)
    layer = FastLinear(torch.nn.Parameter(weight.clone(), requires_grad=False), bias, gelu=gelu)
    for rows in (1, 2, 4, 9, 60):
        x = random(rows, inputs, seed=rows)
        expected = functional.linear(x, weight, bias)
        if gelu:
            expected = functional.gelu(expected, approximate="tanh")
        torch.testing.assert_close(layer(x), expected, rtol=1e-4, atol=1e-5)


def test_a_fast_linear_layer_works_without_onednn(monkeypatch):
    monkeypatch.setattr(linear, "_onednn", lambda: None)
    weight, x = random(300, 256), random(9, 256)
    found = FastLinear(weight.clone(), None)(x)
    torch.testing.assert_close(found, functional.linear(x, weight), rtol=1e-4, atol=1e-4)


def test_laying_out_a_weight_anew_changes_no_value_and_spares_a_shared_one():
    weight = torch.nn.Parameter(random(6, 4))
    before = weight.detach().clone()
    FastLinear(weight, None)
    assert torch.equal(weight, before)
    assert weight.t().is_contiguous()
    shared = torch.nn.Parameter(random(6, 4))
    FastLinear(shared, None, is_shared=True)
    assert shared.is_contiguous()


def test_a_shared_weight_is_turned_for_few_rows_only_and_keeps_its_own_layout():
    shared = torch.nn.Parameter(random(4100, 256), requires_grad=False)
    layer = FastLinear(shared, None, is_shared=True)
    for rows in (1, 2, 200):
        x = random(rows, 256, seed=rows)
        torch.testing.assert_close(layer(x), functional.linear(x, shared), rtol=1e-4, atol=1e-4)
    assert shared.is_contiguous()


def test_a_layer_for_the_compiler_is_what_torch_says_it_is():
    weight, bias, x = random(4100, 256), random(4100, seed=2), random(9, 256)
    layer = FastLinear(weight.clone(), bias, gelu=True, is_exact=True, is_plain=True)
    assert torch.equal(layer(x), functional.gelu(functional.linear(x, layer._weight, bias)))


def test_trees_are_laid_one_after_the_other():
    packed = pack([Tree((5, 6, 7), ((8,), (9, 10))), Tree((1, 2))], [[2, 3], [1]], CPU)
    assert packed.ids.tolist() == [5, 6, 7, 8, 9, 10, 1, 2]
    assert packed.positions.tolist() == [0, 1, 2, 3, 3, 4, 0, 1]
    assert packed.owners.tolist() == [0] * 6 + [1] * 2
    assert packed.places.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert packed.wanted.tolist() == [2, 3, 7]
    assert (packed.batch, packed.width) == (2, 6)
    seen = [[column for column in range(6) if row[column]] for row in packed.mask[0, 0].tolist()]
    assert seen == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 4, 5]]


def test_sequences_without_choices_need_no_mask_and_equal_ones_no_padding():
    packed = pack([Tree((5, 6), ((7,), ())), Tree((1, 2, 3))], [[0], [0]], CPU)
    assert packed.mask is None
    assert packed.places is None


def new_cache(slots=3, capacity=4):
    return SlotCache(2, slots, capacity, parts=2, heads=2, width=3, like=torch.zeros(1))


def test_a_large_cache_begins_with_zeros_and_can_be_written():
    cache = SlotCache(1, 8, 128, parts=2, heads=4, width=128, like=torch.zeros(1))
    assert cache.buffers[0].numel() * 4 > 1 << 21
    assert not cache.buffers[0].any()
    cache.add([1])
    cache.write(0, cache.places(torch.tensor([0]), torch.tensor([0])), torch.ones(1, 2, 4, 128))
    assert cache.buffers[0].sum() == 2 * 4 * 128


def fill(cache, lengths):
    """Write recognisable values: slot, position."""
    first = cache.add(lengths)
    for slot, length in enumerate(lengths, start=first):
        for position in range(length):
            places = cache.places(torch.tensor([slot]), torch.tensor([position]))
            for layer in range(2):
                cache.write(layer, places, torch.full((1, 2, 2, 3), 10.0 * slot + position + 100 * layer))


def held(cache, layer=0):
    """What the slots in use hold, as slot * 10 + position."""
    lengths = cache.lengths().tolist()
    return [cache.buffers[layer][1, slot, 1, :length, 2].tolist() for slot, length in enumerate(lengths)]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0], [1, 1, 0], [2], [], [1, 0, 2]])
def test_slots_change_places(order):
    cache = new_cache()
    fill(cache, [2, 4, 1])
    before = held(cache, 1)
    cache.arrange(order)
    assert held(cache, 1) == [before[slot] for slot in order]
    assert cache.used == len(order)


def test_what_is_the_same_in_all_slots_is_not_moved():
    cache = new_cache()
    fill(cache, [3, 3])
    cache.arrange([1, 0], start=2)
    assert held(cache) == [[0.0, 1.0, 12.0], [10.0, 11.0, 2.0]]


def test_the_next_token_is_written_behind_each_sequence():
    cache = new_cache()
    fill(cache, [2, 1])
    cache.write(0, cache.next_places(cache.lengths()), torch.full((2, 2, 2, 3), -1.0))
    cache.grow()
    assert held(cache) == [[0.0, 1.0, -1.0], [10.0, -1.0]]
    assert cache.longest == 3


@pytest.mark.parametrize("heads", [2, 4])
def test_the_newest_token_attends_to_its_own_sequence_only(heads):
    cache = new_cache(slots=4, capacity=6)
    lengths = [3, 5, 1]
    cache.add(lengths)
    for buffer in cache.buffers:
        buffer.copy_(random(*buffer.shape))
    queries = random(3, heads, 3, seed=3)
    found = cache.attend(1, queries, cache.bias(cache.lengths(), heads, 6))
    for slot, length in enumerate(lengths):
        keys, values = cache.buffers[1][:, slot, :, : length + 1]
        expected = functional.scaled_dot_product_attention(queries[slot][:, None], keys, values, enable_gqa=True)
        torch.testing.assert_close(found[slot], expected.flatten(), rtol=1e-5, atol=1e-6)


def test_a_stack_reads_and_steps_as_the_model_computes(model):
    stack = open_stack(model)
    rows = [(3, 1, 4, 1, 5), (9, 2), (6,)]
    with torch.inference_mode():
        cache = stack.new_cache(3, 8)
        read = stack.read(pack([Tree(row) for row in rows], [[len(row) - 1] for row in rows], CPU), cache)
        stepped = stack.step(torch.tensor([7, 7, 7]), cache)
        for place, row in enumerate(rows):
            hidden = model.hidden(torch.tensor([[*row, 7]]))[0]
            torch.testing.assert_close(read[place], hidden[-2], rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(stepped[place], hidden[-1], rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(stack.logits(stepped)[place], model.head(hidden[-1]), rtol=1e-4, atol=1e-4)


def test_a_model_in_half_precision_gives_float32_logits(make_gpt):
    stack = open_stack(make_gpt().to(torch.bfloat16))
    with torch.inference_mode():
        hidden = stack.read(pack([Tree((1, 2, 3))], [[2]], CPU))
        assert stack.logits(hidden).dtype == torch.float32


def test_what_is_no_causal_model_is_refused():
    with pytest.raises(
        TypeError, match=r"Linear is no causal model; expected GPT, Decoder, or hidden\(\) and head\(\)"
    ):
        open_stack(torch.nn.Linear(2, 2))
