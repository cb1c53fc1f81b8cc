"""Exact numbers of parameters and of floating-point operations of a model, from the numbers of its shape.

A multiply-add is two operations. Matrix products are counted in full, attention scores to hidden positions included, as a
counter of torch's operations does; softmax, norms, activations and table look-ups are left out of every total, and the
softmax is there on its own for comparison with published tables that add it. A training step is counted as three forward
passes (Kaplan et al., 2020, section 2.1).

The shapes have the fields of a checkpoint's config.json. Nothing of torch is needed, so a ladder can be planned anywhere.

References:
    Kaplan et al. (2020), "Scaling Laws for Neural Language Models", section 2.1: 6ND, and N without embeddings.
    Hoffmann et al. (2022), "Training Compute-Optimal Large Language Models", appendix F and table A4: exact counts.
    Porian et al. (2024), "Resolving Discrepancies in Compute-Optimal Scaling of Language Models", section 3.1: N with the
    last layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.stacks import FlopCount, ParameterCount, Stack


def count_parameters(family: str, shape: Mapping[str, Any]) -> ParameterCount:
    """Count the parameters of a model.

    Args:
        family: ``gpt``, ``decoder``, ``bert``, ``t5``, or ``gopher`` (Gopher and Chinchilla: pre-norm blocks with the
            relative positions of Transformer-XL, Rae et al., 2021, section 3.1).
        shape: Fields of the family's config.json. A BERT also takes `head` (``masked_lm`` or ``trunk``, the default) and
            `has_pooler`; what stands behind other heads is a few thousand parameters that no law counts.

    Raises:
        UnknownNameError: There is no such family.
        InvalidInputError: A field is missing or has a value that no shape has.
    """
    return _family(family).parameters(_Fields(family, shape))


def count_flops(
    family: str,
    shape: Mapping[str, Any],
    length: int,
    *,
    target_length: int | None = None,
    predicted: int | None = None,
) -> FlopCount:
    """Count the floating-point operations of one forward pass over one sequence.

    Args:
        family: As in `count_parameters`.
        shape: As in `count_parameters`.
        length: Tokens of the sequence, for a T5 of its source.
        target_length: Tokens of a T5's target; as long as the source if not given.
        predicted: Positions whose logits are computed, e.g. the masked ones; all if not given.

    Raises:
        UnknownNameError: There is no such family.
        InvalidInputError: A field is missing or has a value that no shape has, or a length is below 1.
    """
    for name, value in (("length", length), ("target_length", target_length), ("predicted", predicted)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InvalidInputError(f"{name} is {value!r}; expected a whole number of at least 1")
    target = length if target_length is None else target_length
    return _family(family).flops(_Fields(family, shape), length, target, target if predicted is None else predicted)


def six_nd(parameters: float, tokens: float) -> float:
    """The usual estimate of training compute, C = 6ND (Kaplan et al., 2020, section 2.1).

    Both factors become floats first: 6 times a billion parameters times two billion tokens wraps around in 64 bits.
    """
    return 6.0 * float(parameters) * float(tokens)


@dataclass(frozen=True, slots=True)
class _Fields:
    """The numbers of a shape, checked as they are read."""

    family: str
    values: Mapping[str, Any]

    def size(self, name: str, default: int | None = None) -> int:
        value = self.values.get(name, default)
        if value is None:
            raise InvalidInputError(f"the shape of a {self.family} has no {name!r}; known fields: {self._known()}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInputError(f"{name} of a {self.family} is {value!r}; expected a whole number of at least 1")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise InvalidInputError(f"{name} of a {self.family} is {value!r}; expected true or false")
        return value

    def head_width(self) -> int:
        width, heads = self.size("width"), self.size("heads")
        if width % heads:
            raise InvalidInputError(f"width {width} of a {self.family} is no multiple of its {heads} heads")
        return width // heads

    def _known(self) -> str:
        return ", ".join(map(str, self.values)) or "none"


@dataclass(frozen=True, slots=True)
class _Family:
    parameters: Callable[[_Fields], ParameterCount]
    flops: Callable[[_Fields, int, int, int], FlopCount]


def _family(name: str) -> _Family:
    if name not in FAMILIES:
        raise UnknownNameError("model family", str(name), FAMILIES)
    return FAMILIES[name]


def _with_head(blocks: FlopCount, head: int) -> FlopCount:
    return replace(blocks, head=head)


def _gpt_stack(fields: _Fields) -> Stack:
    width = fields.head_width() * fields.size("heads")
    return Stack(
        layers=fields.size("layers"),
        width=width,
        inner=width,
        kv_inner=width,
        heads=fields.size("heads"),
        ff_width=fields.size("ff_width"),
        qkv_bias=fields.flag("qkv_bias", True),
        has_biases=fields.flag("has_biases", True),
        norm_vectors=2 if fields.flag("has_biases", True) else 1,
    )


def _gpt_parameters(fields: _Fields) -> ParameterCount:
    stack, table = _gpt_stack(fields), fields.size("vocab_size") * fields.size("width")
    return ParameterCount(
        token_embedding=table,
        positions=fields.size("max_length") * stack.width,
        head=0 if fields.flag("tie_head", True) else table,
        blocks=stack.parameters,
        rest=stack.norm_vectors * stack.width,
    )


def _gpt_flops(fields: _Fields, length: int, target: int, predicted: int) -> FlopCount:
    return _with_head(
        _gpt_stack(fields).flops(length), 2 * predicted * fields.size("width") * fields.size("vocab_size")
    )


def _decoder_stack(fields: _Fields) -> Stack:
    head_width = fields.head_width()
    return Stack(
        layers=fields.size("layers"),
        width=fields.size("width"),
        inner=fields.size("width"),
        kv_inner=head_width * fields.size("kv_heads"),
        heads=fields.size("heads"),
        ff_width=fields.size("ff_width"),
        ff_matrices=3,
        qkv_bias=fields.flag("qkv_bias", False),
        has_biases=False,
        norm_vectors=1,
    )


def _decoder_parameters(fields: _Fields) -> ParameterCount:
    stack, table = _decoder_stack(fields), fields.size("vocab_size") * fields.size("width")
    return ParameterCount(
        token_embedding=table,
        positions=0,
        head=0 if fields.flag("tie_head", False) else table,
        blocks=stack.parameters,
        rest=stack.width,
    )


def _decoder_flops(fields: _Fields, length: int, target: int, predicted: int) -> FlopCount:
    head = 2 * predicted * fields.size("width") * fields.size("vocab_size")
    return _with_head(_decoder_stack(fields).flops(length), head)


def _has_masked_lm(fields: _Fields) -> bool:
    head = fields.values.get("head", "trunk")
    if head not in ("trunk", "masked_lm"):
        raise InvalidInputError(f"head of a bert is {head!r}; expected 'trunk' or 'masked_lm'")
    return bool(head == "masked_lm")


def _bert_parameters(fields: _Fields) -> ParameterCount:
    stack, vocabulary = _gpt_stack(fields), fields.size("vocab_size")
    width, offset = stack.width, fields.values.get("position_offset", 0)
    rows = fields.size("max_length") + (fields.size("position_offset") if offset else 0) + fields.size("segments", 2)
    pooler = width * width + width if fields.flag("has_pooler", False) else 0
    head = width * width + 3 * width + vocabulary if _has_masked_lm(fields) else 0
    return ParameterCount(
        token_embedding=vocabulary * width,
        positions=rows * width,
        head=0,
        blocks=stack.parameters,
        rest=2 * width + pooler + head,
    )


def _bert_flops(fields: _Fields, length: int, target: int, predicted: int) -> FlopCount:
    width = fields.size("width")
    pooler = 2 * width * width if fields.flag("has_pooler", False) else 0
    head = 2 * predicted * width * (width + fields.size("vocab_size")) if _has_masked_lm(fields) else 0
    return _with_head(_gpt_stack(fields).flops(length), head + pooler)


def _t5_stacks(fields: _Fields) -> tuple[Stack, Stack]:
    inner = fields.size("heads") * fields.size("head_width")

    def stack(layers: int, *, is_decoder: bool) -> Stack:
        return Stack(
            layers=layers,
            width=fields.size("width"),
            inner=inner,
            kv_inner=inner,
            heads=fields.size("heads"),
            ff_width=fields.size("ff_width"),
            ff_matrices=3 if fields.flag("is_gated", False) else 2,
            qkv_bias=False,
            has_biases=False,
            norm_vectors=1,
            has_cross=is_decoder,
        )

    return stack(fields.size("layers"), is_decoder=False), stack(fields.size("decoder_layers"), is_decoder=True)


def _t5_parameters(fields: _Fields) -> ParameterCount:
    encoder, decoder = _t5_stacks(fields)
    table = fields.size("vocab_size") * encoder.width
    return ParameterCount(
        token_embedding=table,
        positions=2 * fields.size("buckets", 32) * encoder.heads,
        head=0 if fields.flag("tie_head", True) else table,
        blocks=encoder.parameters + decoder.parameters,
        rest=2 * encoder.width,
    )


def _t5_flops(fields: _Fields, length: int, target: int, predicted: int) -> FlopCount:
    encoder, decoder = _t5_stacks(fields)
    read, written = encoder.flops(length), decoder.flops(target, length)
    return FlopCount(
        tokens=length + target,
        attention_linear=read.attention_linear + written.attention_linear,
        attention_scores=read.attention_scores + written.attention_scores,
        softmax=read.softmax + written.softmax,
        feed_forward=read.feed_forward + written.feed_forward,
        head=2 * predicted * encoder.width * fields.size("vocab_size"),
    )


def _gopher_stack(fields: _Fields) -> Stack:
    inner = fields.size("heads") * fields.size("head_width")
    return Stack(
        layers=fields.size("layers"),
        width=fields.size("width"),
        inner=inner,
        kv_inner=inner,
        heads=fields.size("heads"),
        ff_width=fields.size("ff_width"),
        has_relative=True,
    )


def _gopher_parameters(fields: _Fields) -> ParameterCount:
    stack = _gopher_stack(fields)
    table = fields.size("vocab_size") * stack.width
    return ParameterCount(
        token_embedding=table, positions=0, head=0, blocks=stack.parameters, rest=stack.norm_vectors * stack.width
    )


def _gopher_flops(fields: _Fields, length: int, target: int, predicted: int) -> FlopCount:
    # The published table leaves the products with relative positions out, and so does this count.
    head = 2 * predicted * fields.size("width") * fields.size("vocab_size")
    return _with_head(_gopher_stack(fields).flops(length), head)


FAMILIES: Mapping[str, _Family] = {
    "gpt": _Family(_gpt_parameters, _gpt_flops),
    "decoder": _Family(_decoder_parameters, _decoder_flops),
    "bert": _Family(_bert_parameters, _bert_flops),
    "t5": _Family(_t5_parameters, _t5_flops),
    "gopher": _Family(_gopher_parameters, _gopher_flops),
}
"""The families whose shapes can be counted."""
