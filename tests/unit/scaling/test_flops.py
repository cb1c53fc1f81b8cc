"""Counts equal those of the real modules, of torch's counter of operations, and of published tables."""

import json

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.flops import count_flops, count_parameters, six_nd
from evalkit_models import bert, decoder, gpt, t5
from evalkit_models.bert_heads import BertForMaskedLm
from evalkit_models.layers import parameter_counts

GPT = {"vocab_size": 61, "max_length": 24, "width": 12, "layers": 3, "heads": 3, "ff_width": 40}
DECODER = {**GPT, "heads": 6, "kv_heads": 2}
T5 = {**GPT, "head_width": 6, "decoder_layers": 2}

CASES = {
    "gpt": ("gpt", GPT, lambda: gpt.GPT(gpt.GPTConfig(**GPT))),
    "gpt-untied-no-qkv-bias": (
        "gpt",
        {**GPT, "tie_head": False, "qkv_bias": False},
        lambda: gpt.GPT(gpt.GPTConfig(**GPT, tie_head=False, qkv_bias=False)),
    ),
    "decoder": ("decoder", DECODER, lambda: decoder.Decoder(decoder.DecoderConfig(**DECODER))),
    "decoder-tied-qkv-bias": (
        "decoder",
        {**DECODER, "tie_head": True, "qkv_bias": True},
        lambda: decoder.Decoder(decoder.DecoderConfig(**DECODER, tie_head=True, qkv_bias=True)),
    ),
    "bert": ("bert", GPT, lambda: bert.Bert(bert.BertConfig(**GPT))),
    "bert-pooler": (
        "bert",
        {**GPT, "segments": 1, "position_offset": 2, "has_pooler": True},
        lambda: bert.Bert(bert.BertConfig(**GPT, segments=1, position_offset=2), has_pooler=True),
    ),
    "bert-masked-lm": ("bert", {**GPT, "head": "masked_lm"}, lambda: BertForMaskedLm(bert.BertConfig(**GPT))),
    "t5": ("t5", T5, lambda: t5.T5(t5.T5Config(**T5))),
    "t5-gated-untied": (
        "t5",
        {**T5, "is_gated": True, "tie_head": False, "buckets": 8},
        lambda: t5.T5(t5.T5Config(**T5, is_gated=True, tie_head=False, buckets=8)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_parameters_are_those_of_the_module(name):
    family, shape, build = CASES[name]
    counted, expected = count_parameters(family, shape), parameter_counts(build())
    assert counted.total == expected["total"]
    assert counted.embedding == expected["embedding"]
    assert counted.non_embedding == expected["non_embedding"]
    assert counted.non_embedding_with_head == expected["non_embedding"] + 61 * 12


PUBLISHED = {
    **{name: ("gpt", config) for name, config in gpt.SIZES.items()},
    **{name: ("decoder", config) for name, config in decoder.SIZES.items()},
    **{name: ("t5", config) for name, config in t5.SIZES.items()},
    **{name: ("bert", config) for name, config in bert.SIZES.items()},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes_are_counted_as_their_modules_are(name):
    family, config = PUBLISHED[name]
    build = {"gpt": gpt.GPT, "decoder": decoder.Decoder, "t5": t5.T5, "bert": bert.Bert}[family]
    with torch.device("meta"):
        expected = parameter_counts(build(config))
    counted = count_parameters(family, vars(config))
    assert (counted.total, counted.embedding) == (expected["total"], expected["embedding"])


def measured(model: torch.nn.Module, *inputs: torch.Tensor | None) -> int:
    """What torch counts of one forward pass with attention as plain matrix products."""
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        model.eval()(*inputs)
    return counter.get_total_flops()


@pytest.mark.parametrize("length", [1, 2, 23, 24])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[0] != "t5"])
def test_forward_flops_are_those_that_torch_counts(name, length):
    family, shape, build = CASES[name]
    model, ids = build(), torch.zeros(1, length, dtype=torch.long)
    expected = measured(model, ids)
    if getattr(model, "pooler", None) is not None:
        counter = FlopCounterMode(display=False)
        with counter, torch.no_grad():
            model.pool(torch.zeros(1, length, 12))
        expected += counter.get_total_flops()
    assert count_flops(family, shape, length).forward == expected


@pytest.mark.parametrize(("source", "target"), [(1, 1), (5, 9), (24, 2)])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[0] == "t5"])
def test_forward_flops_of_a_t5_are_those_that_torch_counts(name, source, target):
    _, shape, build = CASES[name]
    ids, decoder_ids = torch.zeros(1, source, dtype=torch.long), torch.zeros(1, target, dtype=torch.long)
    counted = count_flops("t5", shape, source, target_length=target)
    assert counted.forward == measured(build(), ids, None, decoder_ids)
    assert counted.tokens == source + target


@pytest.mark.parametrize("name", ["gpt", "decoder"])
def test_training_is_three_forward_passes(name):
    family, shape, build = CASES[name]
    model, ids = build(), torch.zeros(1, 24, dtype=torch.long)
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH):
        model(ids).sum().backward()
    # torch computes no gradient of inputs for the table look-up, which has no product, so the two agree exactly.
    assert count_flops(family, shape, 24).train == counter.get_total_flops()


def test_logits_of_masked_positions_alone_cost_less():
    shape = {**GPT, "head": "masked_lm"}
    every, some = (count_flops("bert", shape, 20, predicted=count) for count in (20, 3))
    assert every.head == 20 * 2 * 12 * (12 + 61)
    assert some.head == 3 * 2 * 12 * (12 + 61)
    assert every.blocks == some.blocks


@pytest.mark.real
def test_gpt2_counts_are_those_of_nanogpt(data_dir):
    golden = json.loads((data_dir / "scaling" / "golden.json").read_text())["flops_and_params"]["gpt2_124M_no_bias"]
    shape = {"vocab_size": 50257, "max_length": 1024, "width": 768, "layers": 12, "heads": 12, "ff_width": 3072}
    shape |= {"has_biases": False, "qkv_bias": False}
    parameters, flops = count_parameters("gpt", shape), count_flops("gpt", shape, 1024)
    assert parameters.total == golden["params_total"]
    assert parameters.embedding == golden["params_embedding"]
    assert parameters.blocks == golden["params_transformer"]
    assert flops.forward == golden["forward_flops"]
    assert flops.train == golden["train_flops"]
    # Chowdhery et al. (2022), appendix B: 6N + 12LHQT a token, N without the positions.
    palm = 6 * (parameters.total - parameters.positions) + 12 * 12 * 768 * 1024
    assert palm * 1024 == golden["palm_6N_12LHQT"]


HEADS = {640: 10, 1024: 16, 1280: 10, 1792: 14, 2048: 16, 3584: 28}
"""Width to heads of the rows of table A4 (Hoffmann et al., 2022, table A9)."""


@pytest.mark.real
@pytest.mark.parametrize("row", range(6))
def test_chinchilla_table_a4_is_reproduced(data_dir, row):
    golden = json.loads((data_dir / "scaling" / "golden.json").read_text())["flops_and_params"]
    published = golden["chinchilla_table_A4"][row]
    width, heads = published["d"], HEADS[published["d"]]
    shape = {"vocab_size": 32000, "width": width, "layers": published["L"], "heads": heads}
    shape |= {"head_width": width // heads, "ff_width": 4 * width}
    parameters, flops = count_parameters("gopher", shape), count_flops("gopher", shape, 2048)
    assert parameters.non_embedding_with_head == published["params_no_embed_plus_head"]
    # The printed operations are those of the blocks with their softmax; the head is left out.
    assert 3 * (flops.blocks + flops.softmax) == published["train_flops_seq2048"]
    ratio = published["train_flops_seq2048"] / six_nd(parameters.non_embedding_with_head, 2048)
    assert ratio == pytest.approx(published["ratio_to_6ND"], abs=5e-7)


def test_6nd_does_not_wrap_around():
    assert six_nd(10**9, 2 * 10**9) == 1.2e19


def test_training_counts_tokens_in_sequences_of_the_length():
    flops = count_flops("gpt", GPT, 24)
    assert flops.training(240) == 10 * flops.train
    assert flops.training(2e18) == pytest.approx(2e18 / 24 * flops.train, rel=1e-15)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: count_parameters("gpd", GPT), UnknownNameError, "unknown model family 'gpd'; did you mean 'gpt'?"),
        (lambda: count_parameters("gpt", {"width": 12}), InvalidInputError, "the shape of a gpt has no 'heads'"),
        (lambda: count_parameters("gpt", {**GPT, "layers": 0}), InvalidInputError, "layers of a gpt is 0"),
        (lambda: count_parameters("gpt", {**GPT, "layers": True}), InvalidInputError, "layers of a gpt is True"),
        (lambda: count_parameters("gpt", {**GPT, "layers": 2.5}), InvalidInputError, "layers of a gpt is 2.5"),
        (lambda: count_parameters("gpt", {**GPT, "heads": 5}), InvalidInputError, "width 12 of a gpt is no multiple"),
        (lambda: count_parameters("bert", {**GPT, "head": "spam"}), InvalidInputError, "head of a bert is 'spam'"),
        (lambda: count_parameters("gpt", {**GPT, "tie_head": 1}), InvalidInputError, "tie_head of a gpt is 1"),
        (lambda: count_flops("gpt", GPT, 0), InvalidInputError, "length is 0; expected a whole number of at least 1"),
        (lambda: count_flops("t5", T5, 4, target_length=-1), InvalidInputError, "target_length is -1"),
    ],
)
def test_shapes_that_no_model_has_are_refused(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
