"""Names of published files that differ from what transformers writes today, and what cannot be renamed."""

import pytest
import torch

from evalkit.checkpoints.huggingface import to_huggingface, to_ours
from evalkit.checkpoints.huggingface_names import FAMILIES
from evalkit.errors import InvalidInputError, UnknownNameError


def test_published_gpt2_without_prefix_and_with_mask_buffers_is_read():
    theirs = {
        "wte.weight": torch.zeros(5, 2),
        "h.0.attn.bias": torch.ones(1, 1, 4, 4),
        "h.0.attn.masked_bias": torch.tensor(-1e4),
        "h.0.attn.c_attn.weight": torch.arange(12.0).view(2, 6),
        "h.11.attn.c_attn.bias": torch.zeros(6),
    }
    ours = to_ours(theirs, "gpt2")
    assert set(ours) == {"tokens.weight", "blocks.0.attention.qkv.weight", "blocks.11.attention.qkv.bias"}
    assert torch.equal(ours["blocks.0.attention.qkv.weight"], theirs["h.0.attn.c_attn.weight"].T)
    assert ours["blocks.0.attention.qkv.weight"].is_contiguous()


def test_norms_named_gamma_and_beta_are_weights_and_biases():
    theirs = {"bert.embeddings.LayerNorm.gamma": torch.ones(2), "bert.embeddings.LayerNorm.beta": torch.zeros(2)}
    assert set(to_ours(theirs, "bert")) == {"bert.norm.weight", "bert.norm.bias"}


def test_constant_position_ids_are_left_out():
    assert to_ours({"bert.embeddings.position_ids": torch.arange(4)}, "bert") == {}
    assert to_ours({"embeddings.position_ids": torch.arange(4)}, "roberta") == {}


def test_position_table_of_t5_cross_attention_is_left_out():
    name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    assert to_ours({name: torch.zeros(32, 8)}, "t5") == {}


def test_second_name_of_a_tied_tensor_is_dropped_and_alone_it_serves():
    table = torch.rand(5, 2)
    both = {"wte.weight": table, "lm_head.weight": table.clone()}
    assert set(to_ours(both, "gpt2")) == {"tokens.weight"}
    assert torch.equal(to_ours({"lm_head.weight": table}, "gpt2")["tokens.weight"], table)


def test_tied_names_with_different_values_are_an_error():
    theirs = {"transformer.wte.weight": torch.zeros(5, 2), "lm_head.weight": torch.ones(5, 2)}
    with pytest.raises(InvalidInputError, match=r"lm_head.weight differs from transformer.wte.weight"):
        to_ours(theirs, "gpt2")
    assert set(to_ours(theirs, "gpt2", tie_head=False)) == {"tokens.weight", "output.weight"}


def test_untied_t5_saved_as_one_equal_table_gets_its_head():
    table = torch.rand(5, 2)
    ours = to_ours({"shared.weight": table}, "t5", tie_head=False)
    assert torch.equal(ours["output.weight"], table)
    assert ours["output.weight"].data_ptr() != ours["tokens.weight"].data_ptr()


def test_joined_projections_stand_in_the_order_query_key_value():
    parts = {name: torch.full((2, 4), float(index)) for index, name in enumerate(("value", "query", "key"))}
    theirs = {f"bert.encoder.layer.3.attention.self.{name}.weight": part for name, part in parts.items()}
    joined = to_ours(theirs, "bert")["bert.blocks.3.attention.qkv.weight"]
    assert joined[:, 0].tolist() == [1, 1, 2, 2, 0, 0]


def test_missing_part_of_a_joined_tensor_is_an_error_that_names_it():
    theirs = {f"model.layers.0.self_attn.{name}_proj.weight": torch.zeros(4, 4) for name in "qv"}
    with pytest.raises(InvalidInputError, match=r"blocks\.0\.attention\.qkv\.weight needs 3 tensors.*k_proj"):
        to_ours(theirs, "llama")


def test_name_that_no_rule_knows_is_kept_for_strict_loading_to_report():
    assert set(to_ours({"transformer.h.0.extra.weight": torch.zeros(1)}, "gpt2")) == {"transformer.h.0.extra.weight"}
    with pytest.raises(InvalidInputError, match=r"'blocks.0.extra' is not a weight of family 'gpt2'"):
        to_huggingface({"blocks.0.extra": torch.zeros(1)}, "gpt2")


@pytest.mark.parametrize("translate", [to_ours, to_huggingface])
def test_unknown_family_is_an_error_with_the_nearest_name(translate):
    with pytest.raises(UnknownNameError, match="did you mean 'gpt2'"):
        translate({}, "gpt")


@pytest.mark.parametrize("family", FAMILIES)
def test_no_two_rules_of_a_family_read_the_same_name(family):
    table = FAMILIES[family]
    names = [name for rule in table.trunk + table.heads for name in rule.theirs]
    assert len(names) == len(set(names))


def test_pieces_of_a_joined_tensor_have_their_own_memory():
    ours = {"blocks.0.attention.qkv.weight": torch.zeros(8, 4), "blocks.0.attention.out.weight": torch.zeros(4, 4)}
    theirs = to_huggingface(ours, "llama")
    shapes = {name.split(".")[4]: tuple(tensor.shape) for name, tensor in theirs.items()}
    assert shapes == {"q_proj": (4, 4), "k_proj": (2, 4), "v_proj": (2, 4), "o_proj": (4, 4)}
    pieces = [tensor.untyped_storage().data_ptr() for tensor in theirs.values()]
    assert len(set(pieces)) == 4
