"""The blocks of GPT-2 and of the modern decoder, in the two parts between which tokens look at each other.

Letters in shapes: N tokens, H query heads, G key-value heads, W width of one head, D model width.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from evalkit.adapters.engine.linear import FastLinear
from evalkit_models.decoder import DecoderBlock, rotate
from evalkit_models.gpt import GPTBlock


class Layer(Protocol):
    """One block; nothing in it but attention knows that there is more than one token."""

    def project(self, x: Tensor, turn: Any) -> Tensor:  # noqa: ANN401 (the family's own)
        """Turn `(N, D)` into queries, keys and values side by side, `(N, H + 2 G, W)`."""
        ...

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Add what attention gave, `(N, H * W)`, and the feed-forward branch to `x` `(N, D)`."""
        ...


class GPTLayer:
    """A block of GPT-2.

    Args:
        block: Its weights are used as they are, laid out anew on a CPU.
        is_plain: Whether torch's compiler is to find the kernels.
    """

    def __init__(self, block: GPTBlock, *, is_plain: bool = False) -> None:
        attention, mlp = block.attention, block.mlp
        self._norm1, self._norm2 = block.norm1, block.norm2
        self._width = attention.qkv.weight.shape[1] // attention.heads
        self._qkv = FastLinear(attention.qkv.weight, attention.qkv.bias, is_plain=is_plain)
        self._out = FastLinear(attention.out.weight, attention.out.bias, is_plain=is_plain)
        self._up = FastLinear(mlp.up.weight, mlp.up.bias, gelu=True, is_plain=is_plain)
        self._down = FastLinear(mlp.down.weight, mlp.down.bias, is_plain=is_plain)

    def project(self, x: Tensor, turn: None) -> Tensor:
        """Turn `(N, D)` into queries, keys and values side by side, `(N, 3 H, W)`."""
        norm = self._norm1
        normed = functional.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        return self._qkv(normed).view(x.shape[0], -1, self._width)

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Add what attention gave, `(N, H * W)`, and the feed-forward branch to `x` `(N, D)`."""
        x = x + self._out(mixed)
        norm = self._norm2
        normed = functional.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        return x + self._down(self._up(normed))


class DecoderLayer:
    """A block of the modern decoder.

    Args:
        block: Its weights are used as they are, laid out anew on a CPU.
        is_plain: Whether torch's compiler is to find the kernels.
    """

    def __init__(self, block: DecoderBlock, *, is_plain: bool = False) -> None:
        attention, mlp = block.attention, block.mlp
        self._norm1, self._norm2 = block.norm1, block.norm2
        self._turning = attention.heads + attention.kv_heads
        self._width = attention.qkv.weight.shape[1] // attention.heads
        self._qkv = FastLinear(attention.qkv.weight, attention.qkv.bias, is_plain=is_plain)
        self._out = FastLinear(attention.out.weight, None, is_plain=is_plain)
        self._gate = FastLinear(mlp.gate.weight, None, is_plain=is_plain)
        self._up = FastLinear(mlp.up.weight, None, is_plain=is_plain)
        self._down = FastLinear(mlp.down.weight, None, is_plain=is_plain)

    def project(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        """Turn `(N, D)` into queries, keys and values side by side, `(N, H + 2 G, W)`."""
        apart = self._qkv(self._norm1(x)).view(x.shape[0], -1, self._width)
        return torch.cat((rotate(apart[:, : self._turning], *turn), apart[:, self._turning :]), dim=1)

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Add what attention gave, `(N, H * W)`, and the feed-forward branch to `x` `(N, D)`."""
        x = x + self._out(mixed)
        normed = self._norm2(x)
        return x + self._down(functional.silu(self._gate(normed)) * self._up(normed))
