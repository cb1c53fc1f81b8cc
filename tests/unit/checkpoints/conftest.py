"""Small models of every architecture, and a tokenizer that fits them."""

import pytest
import torch

from evalkit.checkpoints import Architecture, build
from evalkit.tokenization import Tokenizer, train_characters
from evalkit_models.bert import BertConfig
from evalkit_models.decoder import DecoderConfig
from evalkit_models.gpt import GPTConfig
from evalkit_models.t5 import T5Config

SIZE = {"vocab_size": 40, "max_length": 24, "width": 16, "layers": 2, "heads": 2, "ff_width": 24}
_ROBERTA = BertConfig(**SIZE, segments=1, position_offset=1, norm_eps=1e-5)
_T5 = {key: value for key, value in SIZE.items()} | {"head_width": 4, "decoder_layers": 3}
_LABELS = ("O", "B-harbour", "I-harbour")

ARCHITECTURES = {
    "gpt": Architecture(family="gpt", config=GPTConfig(**SIZE)),
    "gpt-untied": Architecture(family="gpt", config=GPTConfig(**SIZE, tie_head=False, qkv_bias=False)),
    "decoder": Architecture(family="decoder", config=DecoderConfig(**SIZE, kv_heads=1)),
    "decoder-qwen2": Architecture(
        family="decoder", config=DecoderConfig(**SIZE, kv_heads=2, qkv_bias=True, tie_head=True, rope_base=50.0)
    ),
    "bert-trunk": Architecture(family="bert", config=BertConfig(**SIZE), head="trunk"),
    "bert-pooled": Architecture(family="bert", config=BertConfig(**SIZE), head="trunk", has_pooler=True),
    "bert-masked-lm": Architecture(family="bert", config=BertConfig(**SIZE), head="masked_lm"),
    "bert-pretraining": Architecture(
        family="bert", config=BertConfig(**SIZE), head="masked_lm", has_next_sentence=True
    ),
    "bert-tags": Architecture(family="bert", config=BertConfig(**SIZE), head="token_labels", labels=_LABELS),
    "bert-spans": Architecture(family="bert", config=BertConfig(**SIZE), head="spans"),
    "bert-classes": Architecture(family="bert", config=BertConfig(**SIZE), head="classes", labels=_LABELS),
    "roberta-masked-lm": Architecture(family="bert", config=_ROBERTA, head="masked_lm"),
    "roberta-tags": Architecture(family="bert", config=_ROBERTA, head="token_labels", labels=_LABELS),
    "roberta-spans": Architecture(family="bert", config=_ROBERTA, head="spans"),
    "roberta-classes": Architecture(family="bert", config=_ROBERTA, head="classes", labels=_LABELS),
    "t5": Architecture(family="t5", config=T5Config(**_T5)),
    "t5-start": Architecture(family="t5", config=T5Config(**_T5, start_id=7)),
    "t5-1.1": Architecture(family="t5", config=T5Config(**_T5, is_gated=True, tie_head=False)),
}


@pytest.fixture(scope="session")
def architectures() -> dict[str, Architecture]:
    return ARCHITECTURES


@pytest.fixture(params=list(ARCHITECTURES))
def name(request: pytest.FixtureRequest) -> str:
    """Name of an architecture; a test that takes it runs for each."""
    return request.param


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_characters(["abcdefghij 老人等着渡船"], 30, family="bert")


@pytest.fixture(scope="session")
def new_model():
    """Make a model whose every tensor is random, norms and biases too."""

    def make(name: str) -> torch.nn.Module:
        torch.manual_seed(7)
        model = build(ARCHITECTURES[name])
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0.3, 0.3)
        return model.eval()

    return make


@pytest.fixture(scope="session")
def outputs():
    """Run a model, ours or of transformers, and lay all its outputs end to end."""
    ids = torch.arange(5, 17).view(2, 6)
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])

    @torch.no_grad()
    def run(model: torch.nn.Module) -> torch.Tensor:
        if hasattr(model, "config") and hasattr(model.config, "to_dict"):
            more = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
            found = model(input_ids=ids, attention_mask=mask, **more)
            names = ("prediction_logits", "logits", "start_logits", "end_logits", "last_hidden_state")
            parts = [found[name] for name in names if name in found]
        else:
            arguments = (ids, mask, ids) if hasattr(model, "decoder") else (ids, mask)
            found = model(*arguments)
            parts = list(found) if isinstance(found, tuple) else [found]
        # Values at padding mean nothing.
        kept = [
            part[mask.bool()] if part.shape[:2] == mask.shape and not hasattr(model, "decoder") else part
            for part in parts
        ]
        return torch.cat([part.flatten() for part in kept])

    return run
