"""The modern decoder: GPT with RMS norms, rotary positions, a gated feed-forward layer and shared key-value heads.

Its weights are those of Llama, and with biases on queries, keys and values those of Qwen2.

Letters in shapes: B batch, T tokens, H query heads, G key-value heads, W width of one head (W = D / H), D model width,
F feed-forward width, V vocabulary.

References:
    Touvron et al. (2023), "LLaMA: Open and Efficient Foundation Language Models", section 2.2: the parts put together.
    Zhang and Sennrich (2019), "Root Mean Square Layer Normalization".
    Su et al. (2021), "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.
    Shazeer (2020), "GLU Variants Improve Transformer": SwiGLU.
    Ainslie et al. (2023), "GQA: Training Generalized Multi-Query Transformer Models", section 2.2.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit_models.layers import (
    causal_mask,
    check_divisible,
    check_inputs,
    check_sizes,
    document_mask,
    document_positions,
    initialise_normal,
    merge_heads,
    split_heads,
    token_positions,
)


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """The shape of a modern decoder."""

    vocab_size: int
    """Number of token ids."""
    max_length: int
    """Longest sequence in tokens."""
    width: int
    """Width of the residual stream; a multiple of heads, and width / heads is even."""
    layers: int
    """Number of blocks."""
    heads: int
    """Query heads of a block; a multiple of kv_heads."""
    kv_heads: int
    """Key and value heads of a block, each shared by heads / kv_heads query heads."""
    ff_width: int
    """Width inside the feed-forward layers."""
    rope_base: float = 10000.0
    """Base of the rotation angles: position / rope_base ^ (2i / W) for the i-th pair of features."""
    qkv_bias: bool = False
    """Whether the query, key and value projections have biases."""
    tie_head: bool = False
    """Whether the head is the token embedding itself."""
    dropout: float = 0.0
    """Probability of dropout on embeddings, attention weights and residual branches, in training only."""
    norm_eps: float = 1e-5
    """What the norms add to the mean square."""

    def __post_init__(self) -> None:
        check_sizes(self, "vocab_size", "max_length", "width", "layers", "heads", "kv_heads", "ff_width")
        check_divisible("width", self.width, "heads", self.heads)
        check_divisible("heads", self.heads, "kv_heads", self.kv_heads)
        check_divisible("head_width", self.head_width, "a rotated pair of", 2)
        if self.rope_base <= 1.0:
            raise ValueError(f"rope_base is {self.rope_base!r}, expected above 1")

    @property
    def head_width(self) -> int:
        """Give the width of one head."""
        return self.width // self.heads


SIZES: Mapping[str, DecoderConfig] = {
    "llama-2-7b": DecoderConfig(
        vocab_size=32000, max_length=4096, width=4096, layers=32, heads=32, kv_heads=32, ff_width=11008
    ),
    "llama-3-8b": DecoderConfig(
        vocab_size=128256,
        max_length=8192,
        width=4096,
        layers=32,
        heads=32,
        kv_heads=8,
        ff_width=14336,
        rope_base=500000.0,
    ),
    "tinyllama-1.1b": DecoderConfig(
        vocab_size=32000, max_length=2048, width=2048, layers=22, heads=32, kv_heads=4, ff_width=5632
    ),
    "qwen2-0.5b": DecoderConfig(
        vocab_size=151936,
        max_length=32768,
        width=896,
        layers=24,
        heads=14,
        kv_heads=2,
        ff_width=4864,
        rope_base=1000000.0,
        qkv_bias=True,
        tie_head=True,
        norm_eps=1e-6,
    ),
}
"""Published models of this shape (Touvron et al., 2023; Dubey et al., 2024; Zhang et al., 2024; Yang et al., 2024)."""


def rotation(positions: Tensor, head_width: int, base: float) -> tuple[Tensor, Tensor]:
    """Compute the cosines and sines that turn queries and keys (Su et al., 2021, equation 15).

    They are computed from the positions at every call and kept in no buffer: a model that is built on the meta device and
    then given its weights has no other tensors to fill. float32 whatever the model's type, for bfloat16 cannot tell
    position 256 from 257.

    Args:
        positions: `(T,)` or `(B, T)`.
        head_width: Width W of one head.
        base: The config's rope_base.

    Returns:
        Two tensors `(T, W)` or `(B, 1, T, W)`, the angles of the first half of the features repeated for the second.
    """
    powers = torch.arange(0, head_width, 2, device=positions.device, dtype=torch.float32) / head_width
    angles = positions[..., None].float() * base**-powers  # (..., T, W / 2)
    angles = torch.cat((angles, angles), dim=-1)
    if positions.dim() == 2:
        angles = angles[:, None]  # (B, T, W) -> (B, 1, T, W)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair of features of `x` `(B, H, T, W)` by its position's angle.

    Feature i is paired with i + W / 2, not with its neighbour as in the paper: the published weights are laid out so.
    """
    first, second = x.chunk(2, dim=-1)
    turned = x * cos + torch.cat((-second, first), dim=-1) * sin
    return turned.to(x.dtype)


class DecoderAttention(nn.Module):
    """Causal self-attention with rotary positions, in which groups of query heads share keys and values.

    Attributes:
        qkv: Linear D to (H + 2G) W; its output is all heads' queries, then keys, then values.
        out: Linear D to D without bias, on the heads side by side.
    """

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads
        kv_width = config.kv_heads * config.head_width
        self.widths = (config.width, kv_width, kv_width)
        self.qkv = nn.Linear(config.width, sum(self.widths), bias=config.qkv_bias)
        self.out = nn.Linear(config.width, config.width, bias=False)
        self.dropout = config.dropout

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor | None = None) -> Tensor:
        """Mix every position with those before it.

        Args:
            x: `(B, T, D)`.
            turn: The positions' cosines and sines, from `rotation`.
            mask: True where a query may see a key, broadcast to `(B, H, T, T)`; None for causal without padding.

        Returns:
            `(B, T, D)`.
        """
        q, k, v = self.qkv(x).split(self.widths, dim=-1)
        q = rotate(split_heads(q, self.heads), *turn)  # (B, T, D) -> (B, H, T, W)
        k = rotate(split_heads(k, self.kv_heads), *turn)  # (B, T, G W) -> (B, G, T, W)
        v = split_heads(v, self.kv_heads)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            q, k, v, mask, dropout, is_causal=mask is None, enable_gqa=self.heads != self.kv_heads
        )
        joined: Tensor = self.out(merge_heads(mixed))  # (B, H, T, W) -> (B, T, D)
        return joined


class DecoderFeedForward(nn.Module):
    """SwiGLU: `down` F to D, of `up` D to F times the SiLU of `gate` D to F; no biases (Shazeer, 2020, equation 6)."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.gate = nn.Linear(config.width, config.ff_width, bias=False)
        self.up = nn.Linear(config.width, config.ff_width, bias=False)
        self.down = nn.Linear(config.ff_width, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Transform every position on its own, `(B, T, D)` to `(B, T, D)`."""
        narrow: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return narrow


class DecoderBlock(nn.Module):
    """One block: `norm1`, `attention`, `norm2`, `mlp`; each branch reads a normed copy and adds to the stream."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.attention = DecoderAttention(config)
        self.norm2 = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.mlp = DecoderFeedForward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor | None = None) -> Tensor:
        """Add both branches to `x` `(B, T, D)`; `turn` and `mask` are as in `DecoderAttention.forward`."""
        x = x + self.dropout(self.attention(self.norm1(x), turn, mask))
        x = x + self.dropout(self.mlp(self.norm2(x)))
        return x


class Decoder(nn.Module):
    """The modern decoder, from token ids to logits.

    Attributes:
        tokens: Embedding V by D.
        blocks: The `DecoderBlock`s, first to last.
        norm: The norm after the last block.
        output: The head's Linear D to V without bias if it is not tied, else None.
    """

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.width, eps=config.norm_eps)
        self.output = None if config.tie_head else nn.Linear(config.width, config.vocab_size, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.initialise()

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, from torch's global generator if none is given.

        Linear weights and embeddings: N(0, 0.02); the last linear layer of each residual branch: N(0, 0.02 / sqrt(2 *
        layers)), as in GPT-2, for the paper does not say. Biases 0, norms 1.
        """
        initialise_normal(self, 0.02, generator)
        residual_std = 0.02 / math.sqrt(2 * self.config.layers)
        for name, parameter in self.named_parameters():
            if name.endswith(("attention.out.weight", "mlp.down.weight")):
                nn.init.normal_(parameter, std=residual_std, generator=generator)

    def hidden(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        positions: Tensor | None = None,
        documents: Tensor | None = None,
    ) -> Tensor:
        """Compute what the head reads.

        Args:
            ids: Token ids `(B, T)`, T from 1 to max_length.
            attention_mask: `(B, T)`, 1 for tokens, 0 for padding on either side; None if there is no padding.
            positions: `(B, T)` or `(T,)`; None counts the tokens of each row, or of each document, from 0.
            documents: `(B, T)`, a number for each text of a row, whose texts do not see one another; padding has a number of
                its own, and no attention_mask goes with it. None where a row is one text.

        Returns:
            `(B, T, D)`; where there is padding the values are finite and mean nothing.

        Raises:
            ValueError: If T is 0 or above max_length, or mask or documents have another shape.
        """
        check_inputs(ids, attention_mask, self.config.max_length, documents)
        if positions is None:
            positions = token_positions(ids, attention_mask) if documents is None else document_positions(documents)
        turn = rotation(positions, self.config.head_width, self.config.rope_base)
        mask = None if attention_mask is None else causal_mask(attention_mask)
        if documents is not None:
            mask = document_mask(documents, is_causal=True)
        x: Tensor = self.dropout(self.tokens(ids))
        for block in self.blocks:
            x = block(x, turn, mask)
        x = self.norm(x)
        return x

    def head(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(..., D)` into logits `(..., V)`."""
        logits: Tensor = functional.linear(hidden, self.tokens.weight) if self.output is None else self.output(hidden)
        return logits

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Predict each next token.

        Args:
            ids: Token ids `(B, T)`, T from 1 to max_length.
            attention_mask: `(B, T)`, 1 for tokens, 0 for padding on either side; None if there is no padding.

        Returns:
            Logits `(B, T, V)`: those at position t are for the token at t + 1.

        Raises:
            ValueError: If T is 0 or above max_length, or the mask has another shape.
        """
        return self.head(self.hidden(ids, attention_mask))
