"""Small random T5 models of both versions, a tokenizer of bytes, and adapters of them."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import torch

from evalkit.adapters.seq2seq import Seq2SeqAdapter
from evalkit.requests import ModelInfo, ModelSettings
from evalkit_models.t5 import T5, T5Config

PAD, EOS, FIRST = 0, 1, 2


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass(frozen=True)
class ByteTokenizer:
    """Pad, end, and after them one token a byte."""

    bos_id: int | None = None
    eos_id: int | None = EOS
    pad_id: int | None = PAD
    frame: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(before=(), after=(EOS,)))

    def ids_of_each(self, texts):
        return [[FIRST + byte for byte in text.encode()] for text in texts]

    def decode(self, ids):
        return bytes(index - FIRST for index in ids if index >= FIRST).decode(errors="replace")


def randomise(model, seed=0):
    """Draw every parameter anew, large enough that each changes the output and that no two tokens are equally good."""
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=source)
            parameter.copy_(0.25 * noise + (1.0 if "norm" in name else 0.0))
        model.tokens.weight.mul_(4.0)
    return model.eval()


@pytest.fixture
def tokenizer():
    return ByteTokenizer()


@pytest.fixture(scope="session")
def make_tokenizer():
    return ByteTokenizer


@pytest.fixture(scope="session")
def make_t5():
    def make(seed=0, **shape):
        config = {"vocab_size": 258, "max_length": 48, "width": 32, "head_width": 8, "layers": 1, "decoder_layers": 2}
        return randomise(T5(T5Config(**(config | {"heads": 4, "ff_width": 48} | shape))), seed)

    return make


@pytest.fixture(scope="session", params=["1.0", "1.1"])
def model(request, make_t5):
    return make_t5(is_gated=request.param == "1.1", tie_head=request.param == "1.0")


@pytest.fixture
def make_adapter(tokenizer):
    def make(model, tokenizer=tokenizer, **settings):
        info = ModelInfo(ref="toy", name="toy", digest="0" * 64, family="t5")
        return Seq2SeqAdapter(model, tokenizer, info, ModelSettings(**settings))

    return make
