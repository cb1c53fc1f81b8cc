"""BERT and RoBERTa: a bidirectional encoder of post-norm blocks, and its heads for tokens, spans and sequences.

Letters in shapes: B batch, T tokens, H heads, W width of one head (W = D / H), D model width, F feed-forward width,
V vocabulary, L labels.

References:
    Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", and its
    released code for what the paper leaves open.
    Liu et al. (2019), "RoBERTa: A Robustly Optimized BERT Pretraining Approach", section 4: no segments.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit_models.layers import (
    check_divisible,
    check_inputs,
    check_sizes,
    document_mask,
    document_positions,
    initialise_normal,
    merge_heads,
    padding_mask,
    split_heads,
    token_positions,
)

INITIAL_STD = 0.02
"""Standard deviation of new weights (`initializer_range` of the released code)."""


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """The shape of a BERT trunk; the number of labels belongs to the heads."""

    vocab_size: int
    """Number of token ids."""
    max_length: int
    """Longest sequence in tokens."""
    width: int
    """Width of the hidden states; a multiple of heads."""
    layers: int
    """Number of blocks."""
    heads: int
    """Attention heads of a block."""
    ff_width: int
    """Width inside the feed-forward layers; 4 * width in all published sizes."""
    segments: int = 2
    """Number of segment ids: 2 for BERT's sentences A and B, 1 for RoBERTa."""
    position_offset: int = 0
    """Position of the first token: 0 for BERT; id of the padding token + 1, which is 2, for RoBERTa."""
    dropout: float = 0.0
    """Probability of dropout on embeddings, attention weights, branches and what heads read, in training only."""
    norm_eps: float = 1e-12
    """What the layer norms add to the variance; 1e-5 in RoBERTa."""

    def __post_init__(self) -> None:
        check_sizes(self, "vocab_size", "max_length", "width", "layers", "heads", "ff_width", "segments")
        check_divisible("width", self.width, "heads", self.heads)
        if self.position_offset < 0:
            raise ValueError(f"position_offset is {self.position_offset!r}, expected 0 or more")


def _bert(vocab_size: int, width: int, layers: int, heads: int) -> BertConfig:
    return BertConfig(
        vocab_size=vocab_size,
        max_length=512,
        width=width,
        layers=layers,
        heads=heads,
        ff_width=4 * width,
        dropout=0.1,
    )


def _roberta(width: int, layers: int, heads: int) -> BertConfig:
    return BertConfig(
        vocab_size=50265,
        max_length=512,
        width=width,
        layers=layers,
        heads=heads,
        ff_width=4 * width,
        segments=1,
        position_offset=2,
        dropout=0.1,
        norm_eps=1e-5,
    )


SIZES: Mapping[str, BertConfig] = {
    "bert-base-uncased": _bert(30522, 768, 12, 12),
    "bert-large-uncased": _bert(30522, 1024, 24, 16),
    "bert-base-cased": _bert(28996, 768, 12, 12),
    "bert-large-cased": _bert(28996, 1024, 24, 16),
    "bert-base-chinese": _bert(21128, 768, 12, 12),
    "roberta-base": _roberta(768, 12, 12),
    "roberta-large": _roberta(1024, 24, 16),
}
"""The published models (Devlin et al., 2019, section 3; Liu et al., 2019, table 9)."""


class BertAttention(nn.Module):
    """Self-attention of several heads, in both directions (Vaswani et al., 2017, section 3.2).

    Attributes:
        qkv: Linear D to 3D; its output is all heads' queries, then keys, then values.
        out: Linear D to D, on the heads side by side.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.dropout = config.dropout

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix every position with all tokens.

        Args:
            x: `(B, T, D)`.
            mask: True where a query may see a key, broadcast to `(B, H, T, T)`; None if there is no padding.

        Returns:
            `(B, T, D)`.
        """
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))  # each (B, H, T, W)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, mask, dropout)
        joined: Tensor = self.out(merge_heads(mixed))  # (B, H, T, W) -> (B, T, D)
        return joined


class BertFeedForward(nn.Module):
    """Two linear layers, `up` D to F and `down` F to D, around the exact GELU (Devlin et al., 2019, appendix A.2)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.ff_width)
        self.down = nn.Linear(config.ff_width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        """Transform every position on its own, `(B, T, D)` to `(B, T, D)`."""
        narrow: Tensor = self.down(functional.gelu(self.up(x)))
        return narrow


class BertBlock(nn.Module):
    """One block: `attention`, `norm1`, `mlp`, `norm2`.

    The norms come after each sum, as in the original Transformer (Vaswani et al., 2017, section 3.1).
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = BertAttention(config)
        self.norm1 = nn.LayerNorm(config.width, eps=config.norm_eps)
        self.mlp = BertFeedForward(config)
        self.norm2 = nn.LayerNorm(config.width, eps=config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Transform `x` `(B, T, D)`; `mask` is as in `BertAttention.forward`."""
        x = self.norm1(x + self.dropout(self.attention(x, mask)))
        x = self.norm2(x + self.dropout(self.mlp(x)))
        return x


class Bert(nn.Module):
    """The trunk, from token ids to hidden states.

    Attributes:
        tokens: Embedding V by D.
        positions: Embedding of the learned positions, position_offset + max_length by D.
        segments: Embedding of the segment ids (Devlin et al., 2019, figure 2).
        norm: The layer norm on the sum of the three.
        blocks: The `BertBlock`s, first to last.
        pooler: Linear D to D for `pool`, or None where nothing is pooled.
    """

    def __init__(self, config: BertConfig, *, has_pooler: bool = False) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = nn.Embedding(config.position_offset + config.max_length, config.width)
        self.segments = nn.Embedding(config.segments, config.width)
        self.norm = nn.LayerNorm(config.width, eps=config.norm_eps)
        self.blocks = nn.ModuleList(BertBlock(config) for _ in range(config.layers))
        self.pooler = nn.Linear(config.width, config.width) if has_pooler else None
        self.dropout = nn.Dropout(config.dropout)
        self.initialise()

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, from torch's global generator if none is given.

        Linear weights and embeddings: N(0, 0.02). Biases 0, norms 1 (the released code; heads follow the same rule).
        """
        initialise_normal(self, INITIAL_STD, generator)

    def forward(
        self,
        ids: Tensor,
        attention_mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        documents: Tensor | None = None,
    ) -> Tensor:
        """Read a batch in both directions.

        Args:
            ids: Token ids `(B, T)`, T from 1 to max_length.
            attention_mask: `(B, T)`, 1 for tokens, 0 for padding on either side; None if there is no padding.
            segments: Segment ids `(B, T)`; None for all in the first.
            positions: `(B, T)` or `(T,)`, without the offset; None counts the tokens of each row, or document, from 0.
            documents: `(B, T)`, a number for each text of a row, whose texts do not see one another; padding has a number of
                its own, and no attention_mask goes with it. None where a row is one text.

        Returns:
            Hidden states `(B, T, D)`; where there is padding the values are finite and mean nothing.

        Raises:
            ValueError: If T is 0 or above max_length, or mask or documents have another shape.
        """
        check_inputs(ids, attention_mask, self.config.max_length, documents)
        if positions is None:
            positions = token_positions(ids, attention_mask) if documents is None else document_positions(documents)
        if segments is None:
            segments = torch.zeros_like(ids)
        x: Tensor = self.tokens(ids) + self.positions(positions + self.config.position_offset) + self.segments(segments)
        x = self.dropout(self.norm(x))
        mask = padding_mask(attention_mask) if documents is None else document_mask(documents, is_causal=False)
        for block in self.blocks:
            x = block(x, mask)
        return x

    def pool(self, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Summarise each row by its first token, [CLS] (Devlin et al., 2019, section 3; tanh in the released code).

        Args:
            hidden: Hidden states `(B, T, D)`.
            attention_mask: As in `forward`; where it has padding on the left the first token is not in column 0.

        Returns:
            `(B, D)`.

        Raises:
            ValueError: If the trunk was built without a pooler.
        """
        if self.pooler is None:
            raise ValueError("this trunk has no pooler; build it with has_pooler=True")
        if attention_mask is None:
            first = hidden[:, 0]
        else:
            row = torch.arange(hidden.shape[0], device=hidden.device)
            first = hidden[row, attention_mask.long().argmax(dim=-1)]  # (B, T, D) -> (B, D)
        pooled: Tensor = self.pooler(first)
        return pooled.tanh()
