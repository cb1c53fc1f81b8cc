"""The device under test, and small random checkpoints of every family and head, as folders.

Tests here need CUDA and are skipped without it. EVALKIT_GPU_DEVICE=cpu runs those that can run on a CPU too, which checks the
tests, not the GPU.
"""

import os

import pytest
import torch

from evalkit.adapters.neural import open_checkpoint
from evalkit.checkpoints import save_checkpoint
from evalkit.requests import ModelSettings
from evalkit.tokenization import train_bpe, train_unigram, train_wordpiece
from evalkit_models.bert import BertConfig
from evalkit_models.bert_heads import BertForClasses, BertForMaskedLm, BertForSpans, BertForTokenLabels
from evalkit_models.decoder import Decoder, DecoderConfig
from evalkit_models.gpt import GPT, GPTConfig
from evalkit_models.t5 import T5, T5Config

TEXTS = [
    f"the {animal} saw {number} small houses near the river , 渡船清晨过河"
    for animal in ("cat", "dog")
    for number in range(30)
]
SIZE = {"max_length": 128, "width": 64, "layers": 3, "heads": 4, "ff_width": 128}


def pytest_collection_modifyitems(items):
    for item in items:
        if "/tests/gpu/" in item.path.as_posix():
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def device():
    """Where the tests run."""
    name = os.environ.get("EVALKIT_GPU_DEVICE", "cuda")
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    return torch.device(name)


@pytest.fixture
def cuda(device):
    """The device, where it has to be a GPU."""
    if device.type != "cuda":
        pytest.skip("needs a CUDA device, not only the code for one")
    return device


def _make(name):
    if name == "gpt":
        tokenizer = train_bpe(TEXTS, 320)
        return GPT(GPTConfig(vocab_size=tokenizer.largest_id + 1, **SIZE)), tokenizer, ()
    if name == "decoder":
        tokenizer = train_bpe(TEXTS, 320)
        return Decoder(DecoderConfig(vocab_size=tokenizer.largest_id + 1, kv_heads=2, **SIZE)), tokenizer, ()
    if name == "t5":
        tokenizer = train_unigram(TEXTS, 160)
        shape = {"vocab_size": tokenizer.largest_id + 1, "head_width": 16, "decoder_layers": 3, **SIZE}
        return T5(T5Config(**shape)), tokenizer, ()
    tokenizer = train_wordpiece(TEXTS, 320)
    config = BertConfig(vocab_size=tokenizer.largest_id + 1, **SIZE)
    if name == "tags":
        return BertForTokenLabels(config, 3), tokenizer, ("O", "B-PER", "I-PER")
    if name == "classes":
        return BertForClasses(config, 3), tokenizer, ("world", "sports", "arts")
    return (BertForSpans if name == "spans" else BertForMaskedLm)(config), tokenizer, ()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A function that gives the folder of a model."""
    made = {}

    def make(name):
        if name not in made:
            torch.manual_seed(0)
            model, tokenizer, labels = _make(name)
            with torch.no_grad():
                for parameter_name, parameter in model.named_parameters():
                    is_norm = "norm" in parameter_name and parameter_name.endswith("weight")
                    parameter.copy_(0.15 * torch.randn(parameter.shape) + float(is_norm))
            made[name] = tmp_path_factory.mktemp("models") / name
            save_checkpoint(made[name], model, tokenizer, labels=labels)
        return made[name]

    return make


@pytest.fixture
def open_model(folder):
    """A function that opens a model on a device."""

    def make(name, device, **settings):
        policy = "window" if name in ("tags", "spans") else "truncate"
        return open_checkpoint(str(folder(name)), ModelSettings(device=str(device), on_overflow=policy, **settings))

    return make
