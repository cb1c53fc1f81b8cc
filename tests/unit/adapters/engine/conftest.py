"""Small random models, a tokenizer of bytes, and adapters of them."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch

from evalkit.adapters.causal import CausalAdapter
from evalkit.requests import ModelInfo, ModelSettings
from evalkit_models.decoder import Decoder, DecoderConfig
from evalkit_models.gpt import GPT, GPTConfig

BOS, EOS = 256, 257


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass(frozen=True)
class ByteTokenizer:
    """Each byte is a token, after it come bos, eos, and longer pieces, of which the longest that fits is taken."""

    pieces: tuple[bytes, ...] = ()
    bos_id: int | None = BOS
    eos_id: int | None = EOS
    before: tuple[int, ...] = ()

    @property
    def frame(self):
        return SimpleNamespace(before=self.before)

    def ids_of_each(self, texts):
        return [self._ids(text.encode()) for text in texts]

    def _ids(self, data):
        ids = []
        while data:
            fits = [piece for piece in self.pieces if data.startswith(piece)]
            piece = max(fits, key=len, default=data[:1])
            ids.append(258 + self.pieces.index(piece) if fits else data[0])
            data = data[len(piece) :]
        return ids

    def decode(self, ids):
        known = [bytes([index]) if index < 256 else b"" if index < 258 else self.pieces[index - 258] for index in ids]
        return b"".join(known).decode(errors="replace")


def randomise(model, seed=0):
    """Draw every parameter anew, large enough that each changes the output and that no two tokens are equally good."""
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=source)
            parameter.copy_(0.25 * noise + (1.0 if "norm" in name and name.endswith("weight") else 0.0))
    return model.eval()


@pytest.fixture
def tokenizer():
    return ByteTokenizer()


@pytest.fixture(scope="session")
def make_tokenizer():
    return ByteTokenizer


@pytest.fixture(scope="session")
def make_gpt():
    def make(seed=0, **shape):
        config = {"vocab_size": 258, "max_length": 48, "width": 32, "layers": 2, "heads": 4, "ff_width": 64} | shape
        return randomise(GPT(GPTConfig(**config)), seed)

    return make


@pytest.fixture(scope="session")
def make_decoder():
    def make(seed=0, **shape):
        config = {"vocab_size": 258, "max_length": 48, "width": 32, "layers": 2, "heads": 4, "kv_heads": 2}
        return randomise(Decoder(DecoderConfig(**(config | {"ff_width": 48} | shape))), seed)

    return make


@pytest.fixture(scope="session", params=["gpt", "decoder"])
def model(request, make_gpt, make_decoder):
    return {"gpt": make_gpt, "decoder": make_decoder}[request.param]()


@pytest.fixture(scope="session")
def plain():
    """A function that hides what a model is, so that it is run by whole forward passes, without cache or packing."""

    class Hidden(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.config = inner, inner.config

        def hidden(self, ids, attention_mask=None):
            return self.inner.hidden(ids, attention_mask)

        def head(self, hidden):
            return self.inner.head(hidden)

    return Hidden


@pytest.fixture
def make_adapter(tokenizer):
    def make(model, tokenizer=tokenizer, **settings):
        info = ModelInfo(ref="toy", name="toy", digest="0" * 64, family="gpt")
        return CausalAdapter(model, tokenizer, info, ModelSettings(**settings))

    return make
