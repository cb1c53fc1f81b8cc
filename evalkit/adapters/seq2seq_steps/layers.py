"""The parts of T5's blocks, one run of tokens through each.

Letters in shapes: N tokens, H heads, W width of one head, D model width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit.adapters.engine.linear import FastLinear
from evalkit_models.t5 import T5DecoderBlock, T5EncoderBlock, T5FeedForward


class Norm:
    """Divides by the root mean square; on a CPU by fewer kernels than torch's own norm runs.

    Args:
        norm: Its weight is used as it is.
    """

    def __init__(self, norm: nn.RMSNorm) -> None:
        self._norm, self._weight = norm, norm.weight
        self._is_plain = norm.weight.device.type == "cpu" and norm.weight.dtype == torch.float32
        self._width, self._eps = len(norm.weight), norm.eps or 0.0

    def __call__(self, x: Tensor) -> Tensor:
        """Norm `(N, D)`."""
        if not self._is_plain:
            normed: Tensor = self._norm(x)
            return normed
        length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return (x * length.square_().div_(self._width).add_(self._eps).rsqrt_()).mul_(self._weight)


class FeedForward:
    """Applies a feed-forward layer.

    Args:
        mlp: Its weights are used as they are, laid out anew on a CPU.
        is_plain: Whether torch's compiler is to find the kernels.
    """

    def __init__(self, mlp: T5FeedForward, *, is_plain: bool = False) -> None:
        gate = mlp.gate
        self._gate = None if gate is None else FastLinear(gate.weight, None, gelu=True, is_plain=is_plain)
        self._up = FastLinear(mlp.up.weight, None, is_plain=is_plain)
        self._down = FastLinear(mlp.down.weight, None, is_plain=is_plain)

    def __call__(self, x: Tensor) -> Tensor:
        """Transform `(N, D)` to `(N, D)`."""
        up = self._up(x)
        return self._down(functional.relu_(up) if self._gate is None else up.mul_(self._gate(x)))


class EncoderLayer:
    """Runs a block in two steps, between which the caller lets the tokens attend to each other.

    Args:
        block: Its weights are used as they are, laid out anew on a CPU.
        is_plain: Whether torch's compiler is to find the kernels.
    """

    def __init__(self, block: T5EncoderBlock | T5DecoderBlock, *, is_plain: bool = False) -> None:
        self._norm1, self._norm2 = Norm(block.norm1), Norm(block.norm2)
        self._qkv = FastLinear(block.attention.qkv.weight, None, is_plain=is_plain)
        self._out = FastLinear(block.attention.out.weight, None, is_plain=is_plain)
        self._mlp = FeedForward(block.mlp, is_plain=is_plain)
        self._heads = block.attention.heads

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Turn `(N, D)` into queries `(N, H, W)`, and keys and values `(N, 2, H, W)`."""
        apart = self._qkv(self._norm1(x)).view(x.shape[0], 3, self._heads, -1)
        return apart[:, 0], apart[:, 1:]

    def add_attention(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Add what attention gave, `(N, H * W)`, to `x` `(N, D)`."""
        return x + self._out(mixed)

    def add_mlp(self, x: Tensor) -> Tensor:
        """Add the feed-forward branch to `x` `(N, D)`."""
        return x + self._mlp(self._norm2(x))


class DecoderLayer(EncoderLayer):
    """Runs a block of the decoder, with attention to the source between the two steps of `EncoderLayer`.

    Args:
        block: Its weights are used as they are, laid out anew on a CPU.
        is_plain: Whether torch's compiler is to find the kernels.
    """

    def __init__(self, block: T5DecoderBlock, *, is_plain: bool = False) -> None:
        super().__init__(block, is_plain=is_plain)
        self._norm_cross = Norm(block.norm_cross)
        self._q = FastLinear(block.cross.q.weight, None, is_plain=is_plain)
        self._kv = FastLinear(block.cross.kv.weight, None, is_plain=is_plain)
        self._cross_out = FastLinear(block.cross.out.weight, None, is_plain=is_plain)

    def source_pairs(self, encoded: Tensor) -> Tensor:
        """Turn source states `(N, D)` into keys and values `(N, 2, H, W)`."""
        return self._kv(encoded).view(encoded.shape[0], 2, self._heads, -1)

    def source_queries(self, x: Tensor) -> Tensor:
        """Turn `(N, D)` into queries to the source, `(N, H * W)`."""
        return self._q(self._norm_cross(x))

    def add_source(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Add what attention to the source gave, `(N, H * W)`, to `x` `(N, D)`."""
        return x + self._cross_out(mixed)
