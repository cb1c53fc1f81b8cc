"""GPT-2: a causal language model of pre-norm blocks, learned positions and a head tied to the token embedding.

Letters in shapes: B batch, T tokens, H heads, W width of one head (W = D / H), D model width, F feed-forward width,
V vocabulary.

References:
    Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.3: what GPT-2 changes.
    Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training", section 4.1: the rest.
    Press and Wolf (2017), "Using the Output Embedding to Improve Language Models": the tied head.
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
class GPTConfig:
    """The shape of a GPT-2."""

    vocab_size: int
    """Number of token ids."""
    max_length: int
    """Longest sequence in tokens, the number of learned positions."""
    width: int
    """Width of the residual stream; a multiple of heads."""
    layers: int
    """Number of blocks."""
    heads: int
    """Attention heads of a block."""
    ff_width: int
    """Width inside the feed-forward layers; 4 * width in all published sizes."""
    qkv_bias: bool = True
    """Whether the query, key and value projections have biases."""
    tie_head: bool = True
    """Whether the head is the token embedding itself."""
    dropout: float = 0.0
    """Probability of dropout on embeddings, attention weights and residual branches, in training only."""
    norm_eps: float = 1e-5
    """What the layer norms add to the variance."""

    def __post_init__(self) -> None:
        check_sizes(self, "vocab_size", "max_length", "width", "layers", "heads", "ff_width")
        check_divisible("width", self.width, "heads", self.heads)


def _published(width: int, layers: int, heads: int) -> GPTConfig:
    return GPTConfig(
        vocab_size=50257, max_length=1024, width=width, layers=layers, heads=heads, ff_width=4 * width, dropout=0.1
    )


SIZES: Mapping[str, GPTConfig] = {
    "gpt2": _published(768, 12, 12),
    "gpt2-medium": _published(1024, 24, 16),
    "gpt2-large": _published(1280, 36, 20),
    "gpt2-xl": _published(1600, 48, 25),
}
"""The published models of 124M, 355M, 774M and 1.5B parameters (Radford et al., 2019, table 2)."""


class GPTAttention(nn.Module):
    """Causal self-attention of several heads (Radford et al., 2018, section 4.1; Vaswani et al., 2017, section 3.2).

    Attributes:
        qkv: Linear D to 3D; its output is all heads' queries, then keys, then values.
        out: Linear D to D, on the heads side by side.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=config.qkv_bias)
        self.out = nn.Linear(config.width, config.width)
        self.dropout = config.dropout

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix every position with those before it.

        Args:
            x: `(B, T, D)`.
            mask: True where a query may see a key, broadcast to `(B, H, T, T)`; None for causal without padding.

        Returns:
            `(B, T, D)`.
        """
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))  # each (B, H, T, W)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal=mask is None)
        joined: Tensor = self.out(merge_heads(mixed))  # (B, H, T, W) -> (B, T, D)
        return joined


class GPTFeedForward(nn.Module):
    """Two linear layers, `up` D to F and `down` F to D, around a GELU."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.ff_width)
        self.down = nn.Linear(config.ff_width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        """Transform every position on its own, `(B, T, D)` to `(B, T, D)`."""
        # The released weights were trained with the tanh form of Hendrycks and Gimpel (2016), not with the exact one.
        narrow: Tensor = self.down(functional.gelu(self.up(x), approximate="tanh"))
        return narrow


class GPTBlock(nn.Module):
    """One block: `norm1`, `attention`, `norm2`, `mlp`.

    Each branch reads a normed copy and adds to the residual stream ("layer normalization was moved to the input of
    each sub-block", Radford et al., 2019, section 2.3).
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width, eps=config.norm_eps)
        self.attention = GPTAttention(config)
        self.norm2 = nn.LayerNorm(config.width, eps=config.norm_eps)
        self.mlp = GPTFeedForward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Add both branches to `x` `(B, T, D)`; `mask` is as in `GPTAttention.forward`."""
        x = x + self.dropout(self.attention(self.norm1(x), mask))
        x = x + self.dropout(self.mlp(self.norm2(x)))
        return x


class GPT(nn.Module):
    """GPT-2, from token ids to logits.

    Attributes:
        tokens: Embedding V by D.
        positions: Embedding of the learned positions, max_length by D.
        blocks: The `GPTBlock`s, first to last.
        norm: The layer norm "added after the final self-attention block" (Radford et al., 2019, section 2.3).
        output: The head's Linear D to V without bias if it is not tied, else None.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = nn.Embedding(config.max_length, config.width)
        self.blocks = nn.ModuleList(GPTBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, eps=config.norm_eps)
        self.output = None if config.tie_head else nn.Linear(config.width, config.vocab_size, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.initialise()

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, from torch's global generator if none is given.

        - Linear weights and token embeddings: N(0, 0.02) (Radford et al., 2018, section 4.1); positions: N(0, 0.01)
          (the released code). Biases 0, norms 1.
        - The last linear layer of each residual branch: N(0, 0.02 / sqrt(2 * layers)), for 2 * layers branches add up
          (Radford et al., 2019, section 2.3).
        """
        initialise_normal(self, 0.02, generator)
        nn.init.normal_(self.positions.weight, std=0.01, generator=generator)
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
        mask = None if attention_mask is None else causal_mask(attention_mask)
        if documents is not None:
            mask = document_mask(documents, is_causal=True)
        x: Tensor = self.dropout(self.tokens(ids) + self.positions(positions))
        for block in self.blocks:
            x = block(x, mask)
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
