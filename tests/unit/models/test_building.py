"""Every model can be built without memory, given its weights, and run in half precision."""

import copy

import pytest
import torch

from evalkit_models.bert import Bert, BertConfig
from evalkit_models.bert_heads import BertForMaskedLm
from evalkit_models.decoder import Decoder, DecoderConfig
from evalkit_models.gpt import GPT, GPTConfig
from evalkit_models.t5 import T5, T5Config

SHAPE = {"vocab_size": 31, "max_length": 300, "width": 32, "layers": 2, "heads": 4, "ff_width": 48}
BUILD = {
    "gpt": lambda: GPT(GPTConfig(**SHAPE)),
    "decoder": lambda: Decoder(DecoderConfig(**SHAPE, kv_heads=2)),
    "bert": lambda: Bert(BertConfig(**SHAPE), has_pooler=True),
    "masked_lm": lambda: BertForMaskedLm(BertConfig(**SHAPE), has_next_sentence=True),
    "t5": lambda: T5(T5Config(**SHAPE, head_width=8, decoder_layers=2)),
    "t5-1.1": lambda: T5(T5Config(**SHAPE, head_width=8, decoder_layers=2, is_gated=True, tie_head=False)),
}


def ask(model, ids, mask):
    return model(ids, mask, ids) if isinstance(model, T5) else model(ids, mask)


@pytest.fixture(scope="module", params=BUILD)
def name(request):
    return request.param


@torch.no_grad()
def test_model_built_on_the_meta_device_runs_once_it_has_its_weights(name, rows, pad):
    model = BUILD[name]().eval()
    with torch.device("meta"):
        empty = BUILD[name]().eval()
    assert all(parameter.is_meta for parameter in empty.parameters())
    empty.load_state_dict(model.state_dict(), assign=True)
    batch = pad(rows(9, 4), "left")
    assert torch.equal(ask(empty, *batch), ask(model, *batch))


def test_no_two_names_of_a_state_share_memory(name):
    tensors = BUILD[name]().state_dict().values()
    assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == len(tensors)


@torch.no_grad()
def test_bfloat16_agrees_with_float32_on_long_padded_rows(name, rows, pad):
    model = BUILD[name]()
    model.initialise(torch.Generator().manual_seed(0))
    model.eval()
    half = copy.deepcopy(model).to(torch.bfloat16)
    ids, mask = pad(rows(300, 7), "left")
    exact, rounded = ask(model, ids, mask), ask(half, ids, mask)
    assert rounded.dtype == torch.bfloat16
    error = (rounded.float() - exact)[mask.bool()]
    assert error.abs().mean() < 0.02 * exact[mask.bool()].std()
