"""The blocks of GPT-2 and of the modern decoder, one run of tokens through one layer.

Letters in shapes: N tokens, M wanted tokens, H query heads, G key-value heads, W width of one head, D model width,
V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit.adapters.engine.linear import FastLinear
from evalkit.adapters.engine.stack import BlockStack, CausalStack, ModuleStack
from evalkit.errors import InvalidTypeError
from evalkit_models.decoder import Decoder, DecoderBlock, rotate, rotation
from evalkit_models.gpt import GPT, GPTBlock


class GPTStack(BlockStack):
    """Runs a GPT-2.

    Args:
        model: The model; its weights are used as they are, laid out anew on a CPU.
    """

    def __init__(self, model: GPT) -> None:
        super().__init__(model, model.config.heads, model.config.heads)
        self._positions = model.positions.weight
        blocks = [block for block in model.blocks if isinstance(block, GPTBlock)]
        self._norms = [(block.norm1, block.norm2) for block in blocks]
        self._last_norm = model.norm
        self._qkv = [FastLinear(block.attention.qkv.weight, block.attention.qkv.bias) for block in blocks]
        self._out = [FastLinear(block.attention.out.weight, block.attention.out.bias) for block in blocks]
        self._up = [FastLinear(block.mlp.up.weight, block.mlp.up.bias, gelu=True) for block in blocks]
        self._down = [FastLinear(block.mlp.down.weight, block.mlp.down.bias) for block in blocks]
        self._head = _head(model)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Turn `(N,)` ids at their positions into `(N, D)`."""
        return functional.embedding(ids, self.table) + functional.embedding(positions, self._positions)

    def turn(self, positions: Tensor) -> None:
        """Give nothing: GPT-2's layers know no positions."""

    def project(self, layer: int, x: Tensor, turn: None) -> tuple[Tensor, Tensor]:
        """Turn `(N, D)` into queries `(N, H, W)`, and keys and values `(N, 2, H, W)`."""
        norm = self._norms[layer][0]
        normed = functional.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        apart = self._qkv[layer](normed).view(-1, 3, self.heads, self.head_width)
        return apart[:, 0], apart[:, 1:]

    def finish(self, layer: int, x: Tensor, mixed: Tensor) -> Tensor:
        """Add what attention gave, `(N, H * W)`, and the feed-forward branch to `x` `(N, D)`."""
        x = x + self._out[layer](mixed)
        norm = self._norms[layer][1]
        normed = functional.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        return x + self._down[layer](self._up[layer](normed))

    def norm(self, x: Tensor) -> Tensor:
        """Apply the last norm to `(N, D)`."""
        normed: Tensor = self._last_norm(x)
        return normed

    def logits(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(M, D)` into float32 logits `(M, V)`."""
        return self._head(hidden).float()


class DecoderStack(BlockStack):
    """Runs a modern decoder.

    Args:
        model: The model; its weights are used as they are, laid out anew on a CPU.
    """

    def __init__(self, model: Decoder) -> None:
        super().__init__(model, model.config.heads, model.config.kv_heads)
        self._base = model.config.rope_base
        blocks = [block for block in model.blocks if isinstance(block, DecoderBlock)]
        self._norms = [(block.norm1, block.norm2) for block in blocks]
        self._last_norm = model.norm
        self._qkv = [FastLinear(block.attention.qkv.weight, block.attention.qkv.bias) for block in blocks]
        self._out = [FastLinear(block.attention.out.weight, None) for block in blocks]
        self._gate = [FastLinear(block.mlp.gate.weight, None) for block in blocks]
        self._up = [FastLinear(block.mlp.up.weight, None) for block in blocks]
        self._down = [FastLinear(block.mlp.down.weight, None) for block in blocks]
        self._head = _head(model)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Turn `(N,)` ids into `(N, D)`; the positions come in later."""
        return functional.embedding(ids, self.table)

    def turn(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the cosines and sines of the positions, each `(N, 1, W)`."""
        cos, sin = rotation(positions, self.head_width, self._base)
        return cos[:, None], sin[:, None]

    def project(self, layer: int, x: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Turn `(N, D)` into queries `(N, H, W)`, and keys and values `(N, 2, G, W)`."""
        apart = self._qkv[layer](self._norms[layer][0](x)).view(x.shape[0], -1, self.head_width)
        turning = self.heads + self.kv_heads
        turned = rotate(apart[:, :turning], *turn)  # (N, H + G, W)
        pairs = torch.stack((turned[:, self.heads :], apart[:, turning:]), dim=1)
        return turned[:, : self.heads], pairs

    def finish(self, layer: int, x: Tensor, mixed: Tensor) -> Tensor:
        """Add what attention gave, `(N, H * W)`, and the feed-forward branch to `x` `(N, D)`."""
        x = x + self._out[layer](mixed)
        normed = self._norms[layer][1](x)
        return x + self._down[layer](functional.silu(self._gate[layer](normed)) * self._up[layer](normed))

    def norm(self, x: Tensor) -> Tensor:
        """Apply the last norm to `(N, D)`."""
        normed: Tensor = self._last_norm(x)
        return normed

    def logits(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(M, D)` into float32 logits `(M, V)`."""
        return self._head(hidden).float()


def open_stack(model: nn.Module) -> CausalStack:
    """Find the fastest way to run a model.

    Args:
        model: A `GPT` or a `Decoder`, or any module with a `config` that has `max_length` and `vocab_size`, with
            `hidden(ids, attention_mask)` and with `head(hidden)`; the last kind is run without a cache.

    Raises:
        InvalidTypeError: It is none of these.
    """
    model.eval()
    if isinstance(model, GPT):
        return GPTStack(model)
    if isinstance(model, Decoder):
        return DecoderStack(model)
    if all(hasattr(model, name) for name in ("config", "hidden", "head")):
        return ModuleStack(model)
    raise InvalidTypeError(f"{type(model).__name__} is no causal model; expected GPT, Decoder, or hidden() and head()")


def _head(model: GPT | Decoder) -> FastLinear:
    if model.output is None:
        return FastLinear(model.tokens.weight, None, is_shared=True)
    return FastLinear(model.output.weight, None)
