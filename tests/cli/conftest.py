"""Tiny random checkpoints of the three families, as folders."""

from pathlib import Path

import pytest
import torch

from evalkit.checkpoints import save_checkpoint
from evalkit.data.load import load
from evalkit.resolve import resolve_task
from evalkit.tokenization.training import train_bpe, train_unigram, train_wordpiece
from evalkit_models.bert import BertConfig
from evalkit_models.bert_heads import BertForClasses, BertForMaskedLm, BertForSpans, BertForTokenLabels
from evalkit_models.gpt import GPT, GPTConfig
from evalkit_models.t5 import T5, T5Config

TEXTS = [f"the {animal} saw {number} small houses near the river" for animal in ("cat", "dog") for number in range(20)]
SEGMENTATION = ("B", "M", "E", "S")


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def chinese() -> list[str]:
    return [example.inputs["text"] for example in load(resolve_task("mini_cws"), "dev").examples]


def seeded() -> None:
    torch.manual_seed(0)


def _bert(tokenizer, cls, *arguments):
    config = BertConfig(vocab_size=tokenizer.largest_id + 1, max_length=128, width=32, layers=2, heads=2, ff_width=64)
    return cls(config, *arguments)


@pytest.fixture(scope="session")
def gpt(tmp_path_factory) -> Path:
    seeded()
    tokenizer = train_bpe(TEXTS, 300)
    config = GPTConfig(vocab_size=320, max_length=64, width=32, layers=2, heads=2, ff_width=64)
    folder = tmp_path_factory.mktemp("models") / "gpt-tiny"
    save_checkpoint(folder, GPT(config), tokenizer)
    return folder


@pytest.fixture(scope="session")
def segmenter(tmp_path_factory, chinese) -> Path:
    seeded()
    tokenizer = train_wordpiece(chinese, 900)
    folder = tmp_path_factory.mktemp("models") / "bert-tiny-cws"
    save_checkpoint(folder, _bert(tokenizer, BertForTokenLabels, 4), tokenizer, labels=SEGMENTATION)
    return folder


@pytest.fixture(scope="session")
def classifier(tmp_path_factory) -> Path:
    seeded()
    tokenizer = train_wordpiece(TEXTS, 300)
    folder = tmp_path_factory.mktemp("models") / "bert-tiny-classes"
    labels = ("negative", "neutral", "positive")
    save_checkpoint(folder, _bert(tokenizer, BertForClasses, 3), tokenizer, labels=labels)
    return folder


@pytest.fixture(scope="session")
def masked_lm(tmp_path_factory) -> Path:
    seeded()
    tokenizer = train_wordpiece(TEXTS, 300)
    folder = tmp_path_factory.mktemp("models") / "bert-tiny"
    save_checkpoint(folder, _bert(tokenizer, BertForMaskedLm), tokenizer)
    return folder


@pytest.fixture(scope="session")
def reader(tmp_path_factory) -> Path:
    seeded()
    tokenizer = train_wordpiece(TEXTS, 300)
    folder = tmp_path_factory.mktemp("models") / "bert-tiny-spans"
    save_checkpoint(folder, _bert(tokenizer, BertForSpans), tokenizer)
    return folder


@pytest.fixture(scope="session")
def t5(tmp_path_factory) -> Path:
    seeded()
    tokenizer = train_unigram(TEXTS, 120)
    config = T5Config(
        vocab_size=tokenizer.largest_id + 1,
        max_length=512,
        width=32,
        layers=2,
        decoder_layers=2,
        heads=2,
        head_width=16,
        ff_width=64,
    )
    folder = tmp_path_factory.mktemp("models") / "t5-tiny"
    save_checkpoint(folder, T5(config), tokenizer)
    return folder
