"""The published sizes have the published numbers of parameters, counted without memory on the meta device."""

import pytest
import torch

from evalkit_models import bert, decoder, gpt, t5
from evalkit_models.layers import parameter_counts

GPTS = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
}
BERTS = {
    "bert-base-uncased": 109_482_240,
    "bert-large-uncased": 335_141_888,
    "bert-base-cased": 108_310_272,
    "bert-large-cased": 333_579_264,
    "bert-base-chinese": 102_267_648,
    "roberta-base": 124_645_632,
    "roberta-large": 355_359_744,
}
T5S = {
    "t5-small": 60_506_624,
    "t5-base": 222_903_552,
    "t5-large": 737_668_096,
    "t5-3b": 2_851_598_336,
    "t5-v1_1-small": 76_961_152,
    "t5-v1_1-base": 247_577_856,
    "t5-v1_1-large": 783_150_080,
    "t5-v1_1-xl": 2_849_757_184,
    "mt5-small": 300_176_768,
    "mt5-base": 582_401_280,
}
DECODERS = {
    "llama-2-7b": 6_738_415_616,
    "llama-3-8b": 8_030_261_248,
    "tinyllama-1.1b": 1_100_048_384,
    "qwen2-0.5b": 494_032_768,
}


def count(build) -> int:
    with torch.device("meta"):
        return parameter_counts(build())["total"]


@pytest.mark.parametrize("name", gpt.SIZES)
def test_gpt2_has_the_published_number_of_parameters(name):
    assert count(lambda: gpt.GPT(gpt.SIZES[name])) == GPTS[name]


@pytest.mark.parametrize("name", bert.SIZES)
def test_bert_with_pooler_has_the_published_number_of_parameters(name):
    assert count(lambda: bert.Bert(bert.SIZES[name], has_pooler=True)) == BERTS[name]


@pytest.mark.parametrize("name", t5.SIZES)
def test_t5_has_the_published_number_of_parameters(name):
    assert count(lambda: t5.T5(t5.SIZES[name])) == T5S[name]


@pytest.mark.parametrize("name", decoder.SIZES)
def test_decoder_has_the_published_number_of_parameters(name):
    assert count(lambda: decoder.Decoder(decoder.SIZES[name])) == DECODERS[name]


def test_counts_set_tables_of_tokens_and_positions_apart():
    with torch.device("meta"):
        counts = parameter_counts(gpt.GPT(gpt.SIZES["gpt2"]))
    tables = (50257 + 1024) * 768
    # 12 blocks of 12 D^2 weights and 13 D biases and norm parameters, and the last norm.
    blocks = 12 * (12 * 768**2 + 13 * 768) + 2 * 768
    assert counts == {"total": tables + blocks, "embedding": tables, "non_embedding": blocks}


def test_untied_head_counts_as_a_table():
    shape = {"vocab_size": 11, "max_length": 3, "width": 4, "layers": 1, "heads": 1, "ff_width": 8}
    tied, untied = (
        parameter_counts(gpt.GPT(gpt.GPTConfig(**shape, tie_head=True))),
        parameter_counts(gpt.GPT(gpt.GPTConfig(**shape, tie_head=False))),
    )
    assert untied["embedding"] - tied["embedding"] == 11 * 4
    assert untied["non_embedding"] == tied["non_embedding"]
