"""Memory of a GPU: what loading takes, and what happens when it runs out."""

import gc

import pytest
import torch

from evalkit.adapters.causal import CausalAdapter
from evalkit.checkpoints import load_checkpoint
from evalkit.requests import GenerateRequest, ModelInfo, ModelSettings, RollingRequest
from evalkit_models.gpt import GPT, GPTConfig

MEGABYTE = 1 << 20


@pytest.fixture
def limit(cuda):
    """A function that leaves so many bytes to allocate beside what is allocated now."""
    total = torch.cuda.get_device_properties(cuda).total_memory

    def leave(size_bytes):
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved(cuda) + size_bytes) / total, cuda)

    yield leave
    torch.cuda.set_per_process_memory_fraction(1.0, cuda)
    torch.cuda.empty_cache()


@pytest.fixture
def make_adapter(cuda, folder):
    """A function that makes an adapter of a GPT of 55 million parameters."""
    tokenizer = load_checkpoint(folder("gpt")).tokenizer
    torch.manual_seed(0)
    config = GPTConfig(
        vocab_size=tokenizer.largest_id + 1, max_length=1024, width=1024, layers=4, heads=16, ff_width=4096
    )
    with cuda:
        model = GPT(config).eval()
    info = ModelInfo(ref="toy", name="toy", digest="", family="gpt")
    return lambda **settings: CausalAdapter(model, tokenizer, info, ModelSettings(device=str(cuda), **settings))


def test_scoring_goes_on_in_smaller_batches_after_running_out_of_memory(limit, make_adapter):
    requests = [RollingRequest(example_id=str(place), text=f"{place} the cat " * 120) for place in range(64)]
    expected = list(make_adapter().answer(requests))
    adapter = make_adapter()
    before = adapter._scorer._budget.tokens
    limit(900 * MEGABYTE)
    found = list(adapter.answer(requests))
    assert adapter._scorer._budget.tokens < before
    for one, other in zip(found, expected, strict=True):
        assert one.logprob_nats == pytest.approx(other.logprob_nats, abs=1e-4 * other.token_count)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_generation_goes_on_with_fewer_sequences_after_running_out_of_memory(limit, make_adapter, is_compiled):
    requests = [
        GenerateRequest(example_id=str(place), prompt=f"{place} the dog " * (1 + place % 60), max_new_tokens=12)
        for place in range(256)
    ]
    expected = [answer.text for answer in make_adapter().answer(requests)]
    adapter = make_adapter(compile=is_compiled)
    before = adapter._generator._budget.sequences
    limit(900 * MEGABYTE)
    found = [answer.text for answer in adapter.answer(requests)]
    assert adapter._generator._budget.sequences < before
    assert found == expected


def test_a_batch_size_that_was_asked_for_is_an_error_that_says_what_to_do(limit, make_adapter):
    requests = [RollingRequest(example_id=str(place), text=f"{place} the cat " * 120) for place in range(64)]
    adapter = make_adapter(batch_size=64)
    limit(600 * MEGABYTE)
    with pytest.raises(Exception, match="out of memory with batch size 64; use a smaller --batch-size, or auto"):
        list(adapter.answer(requests))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loading_takes_little_more_than_the_weights(cuda, folder, dtype):
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(cuda)
    before = torch.cuda.memory_allocated(cuda)
    checkpoint = load_checkpoint(folder("gpt"), cuda, dtype)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in checkpoint.model.parameters())
    tensors = len(list(checkpoint.model.parameters()))
    # The allocator rounds each tensor up to 512 bytes; one more tensor may be on its way in the files' type.
    largest = max(parameter.numel() for parameter in checkpoint.model.parameters()) * 4
    assert torch.cuda.max_memory_allocated(cuda) - before <= weights + 512 * tensors + largest
