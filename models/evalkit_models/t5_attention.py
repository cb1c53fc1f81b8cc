"""The attention of T5: relative positions in buckets, no scaling, no biases in its linear layers.

Letters in shapes: B batch, S source tokens, T target tokens, H heads, W width of one head, D model width.

References:
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 2.1;
    for what it leaves open, the released code (Mesh TensorFlow).
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit_models.layers import merge_heads, split_heads


def relative_buckets(relative: Tensor, *, is_bidirectional: bool, buckets: int, max_distance: int) -> Tensor:
    """Sort relative positions, key minus query, into buckets: one a distance at first, then wider and wider ones.

    Up to half of a direction's buckets hold one distance each, the others grow logarithmically up to max_distance, and
    the last holds everything beyond (Raffel et al., 2020, section 2.1). In both directions, each has half of the buckets,
    keys behind the query the second half; in one, keys behind the query share bucket 0 with the query itself.

    Returns:
        Bucket numbers from 0, in the shape of `relative`.
    """
    if is_bidirectional:
        buckets //= 2
        start = (relative > 0).long() * buckets
        distance = relative.abs()
    else:
        start = torch.zeros_like(relative)
        distance = (-relative).clamp(min=0)
    exact = buckets // 2
    growth = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    wide = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)
    return start + torch.where(distance < exact, distance, wide)


class T5RelativeBias(nn.Module):
    """One learned number a bucket and head, added to attention scores; a stack's blocks share it (section 2.1)."""

    def __init__(self, *, buckets: int, heads: int, max_distance: int, is_bidirectional: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(buckets, heads)
        self.is_bidirectional = is_bidirectional
        self.max_distance = max_distance

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Look up the bias between positions `(T,)` of queries and `(S,)` of keys, as `(1, H, T, S)`."""
        buckets = relative_buckets(
            keys[None, :] - queries[:, None],
            is_bidirectional=self.is_bidirectional,
            buckets=self.table.num_embeddings,
            max_distance=self.max_distance,
        )
        bias: Tensor = self.table(buckets)  # (T, S, H)
        return bias.permute(2, 0, 1)[None]


class T5Attention(nn.Module):
    """Self-attention without biases and without scaling of the scores.

    The factor 1 / sqrt(W) is in the initial weights of the queries instead (the released code).

    Attributes:
        qkv: Linear D to 3HW; its output is all heads' queries, then keys, then values.
        out: Linear HW to D, on the heads side by side.
    """

    def __init__(self, width: int, heads: int, head_width: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        inner = heads * head_width
        self.qkv = nn.Linear(width, 3 * inner, bias=False)
        self.out = nn.Linear(inner, width, bias=False)
        self.dropout = dropout

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Mix the positions of `x` `(B, T, D)`.

        Args:
            x: `(B, T, D)`.
            bias: Added to the scores, broadcast to `(B, H, T, T)`: relative positions, and -inf where a key is hidden.

        Returns:
            `(B, T, D)`.
        """
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))  # each (B, H, T, W)
        dropout = self.dropout if self.training else 0.0
        if bias.requires_grad and bias.device.type == "cpu":
            mixed = _attend(q, k, v, bias, dropout)
        else:
            mixed = functional.scaled_dot_product_attention(q, k, v, bias, dropout, scale=1.0)
        joined: Tensor = self.out(merge_heads(mixed))  # (B, H, T, W) -> (B, T, HW) -> (B, T, D)
        return joined


def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, dropout: float) -> Tensor:
    """Attend under a bias that is learnt, as torch does it on a CPU, in float32 to the bit.

    Torch looks for queries without any key, too, which takes a third of the time of short sequences. There are none:
    `padding_mask` and `causal_mask` see to that.

    Args:
        q: `(B, H, T, W)`, as `k` and `v`.
        k: Keys.
        v: Values.
        bias: Added to the scores, broadcast to `(B, H, T, T)`.
        dropout: Probability of dropout on the weights.

    Returns:
        `(B, H, T, W)`.
    """
    weights = (q @ k.mT + bias).softmax(dim=-1)
    return functional.dropout(weights, dropout) @ v


class T5CrossAttention(nn.Module):
    """Attention of the target to the source, as `T5Attention`, but without relative positions.

    Attributes:
        q: Linear D to HW, on the target.
        kv: Linear D to 2HW, on the source: all heads' keys, then values.
        out: Linear HW to D, on the heads side by side.
    """

    def __init__(self, width: int, heads: int, head_width: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        inner = heads * head_width
        self.q = nn.Linear(width, inner, bias=False)
        self.kv = nn.Linear(width, 2 * inner, bias=False)
        self.out = nn.Linear(inner, width, bias=False)
        self.dropout = dropout

    def keys_values(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Compute keys and values `(B, H, S, W)` of a source `(B, S, D)`: once a source, whatever the target."""
        k, v = (split_heads(part, self.heads) for part in self.kv(encoded).chunk(2, dim=-1))
        return k, v

    def forward(self, x: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read from the source.

        Args:
            x: Target states `(B, T, D)`.
            k: Keys `(B, H, S, W)`.
            v: Values `(B, H, S, W)`.
            mask: True where a source position is a token, broadcast to `(B, H, T, S)`; None if there is no padding.

        Returns:
            `(B, T, D)`.
        """
        q = split_heads(self.q(x), self.heads)  # (B, T, HW) -> (B, H, T, W)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, mask, dropout, scale=1.0)
        joined: Tensor = self.out(merge_heads(mixed))  # (B, H, T, W) -> (B, T, HW) -> (B, T, D)
        return joined
