"""The names that transformers gives to weights, and ours for the same weights: one table a family.

A template's `{}` stands for one part of a name between dots: a layer's number, or `weight` and `bias`. Where one tensor of
ours is several of theirs (a fused projection), theirs are listed in the order in which they are joined, along axis 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One tensor, or one tensor a layer, under both names."""

    ours: str
    """Template of our name."""
    theirs: tuple[str, ...]
    """Templates of theirs; more than one are the rows of ours, one after the other."""
    is_transposed: bool = False
    """Whether theirs is (in, out) and ours is (out, in)."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """How one family's names translate."""

    trunk: tuple[Rule, ...]
    """Rules for the names that may carry a prefix."""
    heads: tuple[Rule, ...] = ()
    """Rules for whole names, without prefix."""
    their_prefix: str = ""
    """What may stand before their trunk names; a model that is a trunk alone leaves it out."""
    our_prefix: str = ""
    """What stands before ours where theirs have their prefix."""
    aliases: Mapping[str, str]
    """Their second names of a tied tensor, to its first name; templates match neither."""
    ignored: tuple[str, ...] = ()
    """Templates of tensors that are constants or that no layer uses; without prefix."""
    variant: tuple[str, tuple[Rule, ...]] = ("", ())
    """A name of ours, and the rules that come first in writing a model that has it: one name of ours may be two of theirs."""


def _each(pairs: Mapping[str, str | tuple[str, ...]], *, is_transposed: bool = False) -> tuple[Rule, ...]:
    """Make rules of a table from our templates to theirs."""
    return tuple(
        Rule(ours=ours, theirs=(theirs,) if isinstance(theirs, str) else theirs, is_transposed=is_transposed)
        for ours, theirs in pairs.items()
    )


_GPT2 = Family(
    their_prefix="transformer.",
    trunk=_each(
        {
            "tokens.weight": "wte.weight",
            "positions.weight": "wpe.weight",
            "blocks.{}.norm1.{}": "h.{}.ln_1.{}",
            "blocks.{}.norm2.{}": "h.{}.ln_2.{}",
            "norm.{}": "ln_f.{}",
        }
    )
    + _each(
        {
            "blocks.{}.attention.qkv.{}": "h.{}.attn.c_attn.{}",
            "blocks.{}.attention.out.{}": "h.{}.attn.c_proj.{}",
            "blocks.{}.mlp.up.{}": "h.{}.mlp.c_fc.{}",
            "blocks.{}.mlp.down.{}": "h.{}.mlp.c_proj.{}",
        },
        is_transposed=True,
    ),
    heads=_each({"output.weight": "lm_head.weight"}),
    aliases={"lm_head.weight": "transformer.wte.weight"},
    ignored=("h.{}.attn.bias", "h.{}.attn.masked_bias"),
)

_LLAMA = Family(
    their_prefix="model.",
    trunk=_each(
        {
            "tokens.weight": "embed_tokens.weight",
            "blocks.{}.norm1.{}": "layers.{}.input_layernorm.{}",
            "blocks.{}.attention.qkv.{}": (
                "layers.{}.self_attn.q_proj.{}",
                "layers.{}.self_attn.k_proj.{}",
                "layers.{}.self_attn.v_proj.{}",
            ),
            "blocks.{}.attention.out.{}": "layers.{}.self_attn.o_proj.{}",
            "blocks.{}.norm2.{}": "layers.{}.post_attention_layernorm.{}",
            "blocks.{}.mlp.gate.{}": "layers.{}.mlp.gate_proj.{}",
            "blocks.{}.mlp.up.{}": "layers.{}.mlp.up_proj.{}",
            "blocks.{}.mlp.down.{}": "layers.{}.mlp.down_proj.{}",
            "norm.{}": "norm.{}",
        }
    ),
    heads=_each({"output.weight": "lm_head.weight"}),
    aliases={"lm_head.weight": "model.embed_tokens.weight"},
    ignored=("layers.{}.self_attn.rotary_emb.inv_freq",),
)

_BERT_TRUNK = _each(
    {
        "tokens.weight": "embeddings.word_embeddings.weight",
        "positions.weight": "embeddings.position_embeddings.weight",
        "segments.weight": "embeddings.token_type_embeddings.weight",
        "norm.{}": "embeddings.LayerNorm.{}",
        "blocks.{}.attention.qkv.{}": (
            "encoder.layer.{}.attention.self.query.{}",
            "encoder.layer.{}.attention.self.key.{}",
            "encoder.layer.{}.attention.self.value.{}",
        ),
        "blocks.{}.attention.out.{}": "encoder.layer.{}.attention.output.dense.{}",
        "blocks.{}.norm1.{}": "encoder.layer.{}.attention.output.LayerNorm.{}",
        "blocks.{}.mlp.up.{}": "encoder.layer.{}.intermediate.dense.{}",
        "blocks.{}.mlp.down.{}": "encoder.layer.{}.output.dense.{}",
        "blocks.{}.norm2.{}": "encoder.layer.{}.output.LayerNorm.{}",
        "pooler.{}": "pooler.dense.{}",
    }
)

_BERT = Family(
    their_prefix="bert.",
    our_prefix="bert.",
    trunk=_BERT_TRUNK,
    heads=_each(
        {
            "masked_lm.dense.{}": "cls.predictions.transform.dense.{}",
            "masked_lm.norm.{}": "cls.predictions.transform.LayerNorm.{}",
            "masked_lm.bias": "cls.predictions.bias",
            "next_sentence.out.{}": "cls.seq_relationship.{}",
            "head.ends.{}": "qa_outputs.{}",
            "head.out.{}": "classifier.{}",
        }
    ),
    aliases={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    ignored=("embeddings.position_ids",),
)

_ROBERTA_CLASSES = _each({"bert.pooler.{}": "classifier.dense.{}", "head.out.{}": "classifier.out_proj.{}"})

_ROBERTA = Family(
    their_prefix="roberta.",
    our_prefix="bert.",
    trunk=_BERT_TRUNK,
    heads=_each(
        {
            "masked_lm.dense.{}": "lm_head.dense.{}",
            "masked_lm.norm.{}": "lm_head.layer_norm.{}",
            "masked_lm.bias": "lm_head.bias",
            "head.ends.{}": "qa_outputs.{}",
            "head.out.{}": "classifier.{}",
        }
    )
    + _ROBERTA_CLASSES,
    aliases={
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    },
    ignored=("embeddings.position_ids",),
    variant=("bert.pooler.weight", _ROBERTA_CLASSES),
)


def _t5_stack(stack: str, mlp: int) -> tuple[Rule, ...]:
    """Make the rules of one stack; the feed-forward part is sublayer `mlp` of a block."""
    ours, theirs = f"{stack}.blocks.{{}}", f"{stack}.block.{{}}.layer"
    return _each(
        {
            f"{stack}.relative.table.{{}}": f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.{{}}",
            f"{ours}.norm1.{{}}": f"{theirs}.0.layer_norm.{{}}",
            f"{ours}.attention.qkv.{{}}": (
                f"{theirs}.0.SelfAttention.q.{{}}",
                f"{theirs}.0.SelfAttention.k.{{}}",
                f"{theirs}.0.SelfAttention.v.{{}}",
            ),
            f"{ours}.attention.out.{{}}": f"{theirs}.0.SelfAttention.o.{{}}",
            f"{ours}.norm2.{{}}": f"{theirs}.{mlp}.layer_norm.{{}}",
            f"{ours}.mlp.up.{{}}": f"{theirs}.{mlp}.DenseReluDense.wi.{{}}",
            f"{ours}.mlp.down.{{}}": f"{theirs}.{mlp}.DenseReluDense.wo.{{}}",
            f"{stack}.norm.{{}}": f"{stack}.final_layer_norm.{{}}",
        }
    )


_T5_CROSS = _each(
    {
        "decoder.blocks.{}.norm_cross.{}": "decoder.block.{}.layer.1.layer_norm.{}",
        "decoder.blocks.{}.cross.q.{}": "decoder.block.{}.layer.1.EncDecAttention.q.{}",
        "decoder.blocks.{}.cross.kv.{}": (
            "decoder.block.{}.layer.1.EncDecAttention.k.{}",
            "decoder.block.{}.layer.1.EncDecAttention.v.{}",
        ),
        "decoder.blocks.{}.cross.out.{}": "decoder.block.{}.layer.1.EncDecAttention.o.{}",
    }
)

_T5_GATES = _each(
    {
        "encoder.blocks.{}.mlp.gate.{}": "encoder.block.{}.layer.1.DenseReluDense.wi_0.{}",
        "encoder.blocks.{}.mlp.up.{}": "encoder.block.{}.layer.1.DenseReluDense.wi_1.{}",
        "decoder.blocks.{}.mlp.gate.{}": "decoder.block.{}.layer.2.DenseReluDense.wi_0.{}",
        "decoder.blocks.{}.mlp.up.{}": "decoder.block.{}.layer.2.DenseReluDense.wi_1.{}",
    }
)

_T5 = Family(
    trunk=_each({"tokens.weight": "shared.weight"})
    + _t5_stack("encoder", mlp=1)
    + _t5_stack("decoder", mlp=2)
    + _T5_CROSS
    + _T5_GATES,
    heads=_each({"output.weight": "lm_head.weight"}),
    aliases={
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
        "lm_head.weight": "shared.weight",
    },
    # Cross-attention has no positions; the first released files hold this table all the same.
    ignored=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),
    variant=("encoder.blocks.0.mlp.gate.weight", _T5_GATES),
)

FAMILIES: Mapping[str, Family] = {"gpt2": _GPT2, "llama": _LLAMA, "bert": _BERT, "roberta": _ROBERTA, "t5": _T5}
"""The tables by the `model_type` of a `config.json`."""
