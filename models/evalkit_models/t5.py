"""T5: an encoder-decoder of pre-norm blocks with relative positions, in both of its published versions.

Version 1.0 has a ReLU and a head tied to the embedding; 1.1 has a gated GELU and a head of its own.

Letters in shapes: B batch, S source tokens, T target tokens, H heads, W width of one head, D model width,
F feed-forward width, V vocabulary.

References:
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 2.1:
    norms, relative positions. What it leaves open is as in the released code (Mesh TensorFlow).
    Shazeer (2020), "GLU Variants Improve Transformer": the gate of version 1.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit_models.layers import causal_mask, check_inputs, check_sizes, initialise_normal, padding_mask
from evalkit_models.t5_attention import T5Attention, T5CrossAttention, T5RelativeBias


@dataclass(frozen=True, kw_only=True)
class T5Config:
    """The shape of a T5."""

    vocab_size: int
    """Number of token ids; the published embeddings have more rows than the tokenizer has tokens."""
    max_length: int
    """Longest source and longest target in tokens; relative positions set no limit of their own, so raise it at will."""
    width: int
    """Width of the residual stream."""
    head_width: int
    """Width of one head; heads * head_width need not be width."""
    layers: int
    """Number of blocks of the encoder."""
    decoder_layers: int
    """Number of blocks of the decoder; the same in all published sizes."""
    heads: int
    """Attention heads of a block."""
    ff_width: int
    """Width inside the feed-forward layers."""
    buckets: int = 32
    """Number of relative-position buckets; a multiple of 4, for the encoder halves them by sign and both halve by size."""
    max_distance: int = 128
    """Distance in tokens from which all share the last bucket."""
    is_gated: bool = False
    """Whether the feed-forward layers are a gated GELU (version 1.1) and not a ReLU (version 1.0)."""
    tie_head: bool = True
    """Whether the head is the token embedding, on states scaled by 1 / sqrt(D) (version 1.0)."""
    dropout: float = 0.0
    """Probability of dropout on embeddings, attention weights, branches and outputs, in training only."""
    norm_eps: float = 1e-6
    """What the norms add to the mean square."""
    start_id: int | None = None
    """The token that every target begins with; None for the tokenizer's padding, as in all published models."""

    def __post_init__(self) -> None:
        check_sizes(self, "vocab_size", "max_length", "width", "head_width", "heads", "ff_width")
        check_sizes(self, "layers", "decoder_layers", "buckets")
        if self.buckets % 4:
            raise ValueError(f"buckets is {self.buckets}, expected a multiple of 4")
        if self.start_id is not None and not 0 <= self.start_id < self.vocab_size:
            raise ValueError(f"start_id is {self.start_id}, expected one of the {self.vocab_size} token ids")
        if self.max_distance <= self.buckets // 2:
            raise ValueError(
                f"max_distance is {self.max_distance}, expected more than half of the {self.buckets} buckets"
            )


def _published(
    width: int,
    head_width: int,
    layers: int,
    heads: int,
    ff_width: int,
    *,
    is_1_1: bool = False,
    vocab_size: int = 32128,
) -> T5Config:
    return T5Config(
        vocab_size=vocab_size,
        max_length=512,
        width=width,
        head_width=head_width,
        layers=layers,
        decoder_layers=layers,
        heads=heads,
        ff_width=ff_width,
        is_gated=is_1_1,
        tie_head=not is_1_1,
        dropout=0.1,
    )


SIZES: Mapping[str, T5Config] = {
    "t5-small": _published(512, 64, 6, 8, 2048),
    "t5-base": _published(768, 64, 12, 12, 3072),
    "t5-large": _published(1024, 64, 24, 16, 4096),
    "t5-3b": _published(1024, 128, 24, 32, 16384),
    "t5-v1_1-small": _published(512, 64, 8, 6, 1024, is_1_1=True),
    "t5-v1_1-base": _published(768, 64, 12, 12, 2048, is_1_1=True),
    "t5-v1_1-large": _published(1024, 64, 24, 16, 2816, is_1_1=True),
    "t5-v1_1-xl": _published(2048, 64, 24, 32, 5120, is_1_1=True),
    "mt5-small": _published(512, 64, 8, 6, 1024, is_1_1=True, vocab_size=250112),
    "mt5-base": _published(768, 64, 12, 12, 2048, is_1_1=True, vocab_size=250112),
}
"""The published models (Raffel et al., 2020, section 3.7; Xue et al., 2021, for mT5, which knows Chinese)."""


class T5FeedForward(nn.Module):
    """Linear `up` D to F and `down` F to D around a ReLU, or around `up` times GELU of `gate`; no biases."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.gate = nn.Linear(config.width, config.ff_width, bias=False) if config.is_gated else None
        self.up = nn.Linear(config.width, config.ff_width, bias=False)
        self.down = nn.Linear(config.ff_width, config.width, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform every position on its own, `(B, T, D)` to `(B, T, D)`."""
        if self.gate is None:
            inner = functional.relu(self.up(x))
        else:
            inner = functional.gelu(self.gate(x), approximate="tanh") * self.up(x)
        narrow: Tensor = self.down(self.dropout(inner))
        return narrow


class T5EncoderBlock(nn.Module):
    """One block: `norm1`, `attention`, `norm2`, `mlp`; each branch reads a normed copy and adds to the stream.

    The norms divide by the root mean square: no mean is subtracted and no bias added (section 2.1).
    """

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.attention = T5Attention(config.width, config.heads, config.head_width, config.dropout)
        self.norm2 = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.mlp = T5FeedForward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Add both branches to `x` `(B, S, D)`; `bias` is as in `T5Attention.forward`."""
        x = x + self.dropout(self.attention(self.norm1(x), bias))
        x = x + self.dropout(self.mlp(self.norm2(x)))
        return x


class T5DecoderBlock(nn.Module):
    """One block: `norm1`, `attention`, `norm_cross`, `cross`, `norm2`, `mlp`; otherwise as `T5EncoderBlock`."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.attention = T5Attention(config.width, config.heads, config.head_width, config.dropout)
        self.norm_cross = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.cross = T5CrossAttention(config.width, config.heads, config.head_width, config.dropout)
        self.norm2 = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.mlp = T5FeedForward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, bias: Tensor, encoded: Tensor, mask: Tensor | None = None) -> Tensor:
        """Add the three branches to `x`.

        Args:
            x: `(B, T, D)`.
            bias: As in `T5Attention.forward`.
            encoded: The source `(B, S, D)`.
            mask: As in `T5CrossAttention.forward`.

        Returns:
            `(B, T, D)`.
        """
        x = x + self.dropout(self.attention(self.norm1(x), bias))
        x = x + self.dropout(self.cross(self.norm_cross(x), *self.cross.keys_values(encoded), mask))
        x = x + self.dropout(self.mlp(self.norm2(x)))
        return x


class T5Stack(nn.Module):
    """What encoder and decoder are made of.

    Attributes:
        relative: The `T5RelativeBias` of all blocks.
        blocks: The blocks, first to last.
        norm: The norm after the last block.
    """

    def __init__(self, config: T5Config, *, is_decoder: bool) -> None:
        super().__init__()
        self.relative = T5RelativeBias(
            buckets=config.buckets,
            heads=config.heads,
            max_distance=config.max_distance,
            is_bidirectional=not is_decoder,
        )
        if is_decoder:
            self.blocks = nn.ModuleList(T5DecoderBlock(config) for _ in range(config.decoder_layers))
        else:
            self.blocks = nn.ModuleList(T5EncoderBlock(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)


class T5(nn.Module):
    """T5, from source and target ids to logits.

    Attributes:
        tokens: Embedding V by D, for source and target.
        encoder: The `T5Stack` of the source.
        decoder: The `T5Stack` of the target.
        output: The head's Linear D to V without bias if it is not tied, else None.
    """

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.encoder = T5Stack(config, is_decoder=False)
        self.decoder = T5Stack(config, is_decoder=True)
        self.output = None if config.tie_head else nn.Linear(config.width, config.vocab_size, bias=False)
        self.initialise()

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, from torch's global generator if none is given.

        Each linear layer's weights are N(0, 1 / sqrt(inputs)), so that its outputs have the variance of its inputs, but for:
        - queries, N(0, 1 / sqrt(D W)): this holds the scaling that the attention leaves out;
        - embeddings, N(0, 1), and relative positions, N(0, 1 / sqrt(D)) (all this as in the released code);
        - an untied head is N(0, 1 / sqrt(D)) like any linear layer; a tied one is scaled by that in `head`.
        Norms are 1.
        """
        width, inner = self.config.width, self.config.heads * self.config.head_width
        initialise_normal(self, width**-0.5, generator)
        nn.init.normal_(self.tokens.weight, generator=generator)
        for name, parameter in self.named_parameters():
            if name.endswith(("attention.qkv.weight", "cross.q.weight")):
                with torch.no_grad():
                    parameter[:inner] *= self.config.head_width**-0.5
            elif name.endswith(("attention.out.weight", "cross.out.weight", "mlp.down.weight")):
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5, generator=generator)

    def encode(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Read the source.

        Args:
            ids: Source ids `(B, S)`, S from 1 to max_length.
            attention_mask: `(B, S)`, 1 for tokens, 0 for padding on either side; None if there is no padding.

        Returns:
            `(B, S, D)`; where there is padding the values are finite and mean nothing.

        Raises:
            ValueError: If S is 0 or above max_length, or the mask has another shape.
        """
        check_inputs(ids, attention_mask, self.config.max_length)
        bias = self._bias(self.encoder, ids, padding_mask(attention_mask))
        x: Tensor = self.encoder.dropout(self.tokens(ids))
        for block in self.encoder.blocks:
            x = block(x, bias)
        x = self.encoder.dropout(self.encoder.norm(x))
        return x

    def hidden(
        self,
        decoder_ids: Tensor,
        encoded: Tensor,
        attention_mask: Tensor | None = None,
        decoder_mask: Tensor | None = None,
    ) -> Tensor:
        """Compute what the head reads.

        Args:
            decoder_ids: Target ids `(B, T)`, T from 1 to max_length, as `shift_right` makes them.
            encoded: The source `(B, S, D)`, from `encode`.
            attention_mask: The source's mask `(B, S)`, as in `encode`.
            decoder_mask: The target's mask `(B, T)`. Padding on the right needs none, for no token looks to the right.

        Returns:
            `(B, T, D)`.

        Raises:
            ValueError: If T is 0 or above max_length, or a mask has another shape.
        """
        check_inputs(decoder_ids, decoder_mask, self.config.max_length)
        real = torch.ones_like(decoder_ids) if decoder_mask is None else decoder_mask
        bias = self._bias(self.decoder, decoder_ids, causal_mask(real))
        source_mask = padding_mask(attention_mask)
        x: Tensor = self.decoder.dropout(self.tokens(decoder_ids))
        for block in self.decoder.blocks:
            x = block(x, bias, encoded, source_mask)
        x = self.decoder.dropout(self.decoder.norm(x))
        return x

    def head(self, hidden: Tensor) -> Tensor:
        """Turn the decoder's hidden states `(..., D)` into logits `(..., V)`."""
        if self.output is None:
            return functional.linear(hidden * self.config.width**-0.5, self.tokens.weight)
        logits: Tensor = self.output(hidden)
        return logits

    def decode(
        self,
        decoder_ids: Tensor,
        encoded: Tensor,
        attention_mask: Tensor | None = None,
        decoder_mask: Tensor | None = None,
    ) -> Tensor:
        """Predict each next target token, `(B, T, V)`; arguments and errors are those of `hidden`."""
        return self.head(self.hidden(decoder_ids, encoded, attention_mask, decoder_mask))

    def forward(self, ids: Tensor, attention_mask: Tensor | None, decoder_ids: Tensor) -> Tensor:
        """Predict each next target token from the source and the target so far.

        Args:
            ids: Source ids `(B, S)`, S from 1 to max_length.
            attention_mask: The source's mask `(B, S)`, 1 for tokens, 0 for padding; None if there is no padding.
            decoder_ids: Target ids `(B, T)`, T from 1 to max_length, as `shift_right` makes them, padded on the right if at all.

        Returns:
            Logits `(B, T, V)`: those at position t are for the target's token t.

        Raises:
            ValueError: If S or T is 0 or above max_length, or the mask has another shape.
        """
        return self.decode(decoder_ids, self.encode(ids, attention_mask), attention_mask)

    @staticmethod
    def _bias(stack: T5Stack, ids: Tensor, allowed: Tensor | None) -> Tensor:
        """Add up relative positions and -inf for hidden keys, `(1 or B, H, T, T)`."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        bias: Tensor = stack.relative(positions, positions)
        return bias if allowed is None else bias.masked_fill(~allowed, float("-inf"))


def shift_right(labels: Tensor, start_id: int) -> Tensor:
    """Make the decoder's input of a target `(B, T)`: the start token, then all but the last (T5 starts with padding's id).

    Labels below 0, which a loss leaves out, become the start token too; they stand behind the target's end.
    """
    shifted = labels.roll(1, dims=-1)
    shifted[:, 0] = start_id
    return shifted.masked_fill(shifted < 0, start_id)
