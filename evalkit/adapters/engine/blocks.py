"""GPT-2 and the modern decoder as the engine runs them: how tokens go in and logits come out.

Letters in shapes: N tokens, M wanted tokens, W width of one head, D model width, V vocabulary.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from evalkit.adapters.engine.graphs import GraphedStack, capture
from evalkit.adapters.engine.layers import DecoderLayer, GPTLayer
from evalkit.adapters.engine.linear import FastLinear
from evalkit.adapters.engine.stack import BlockStack, CausalStack, ModuleStack
from evalkit.errors import InvalidTypeError
from evalkit_models.decoder import Decoder, DecoderBlock, rotation
from evalkit_models.gpt import GPT, GPTBlock


class GPTStack(BlockStack):
    """Runs a GPT-2.

    Args:
        model: The model; its weights are used as they are, laid out anew on a CPU.
        is_compiled: Whether torch's compiler fuses what is around attention.
    """

    def __init__(self, model: GPT, *, is_compiled: bool = False) -> None:
        blocks = [GPTLayer(block, is_plain=is_compiled) for block in model.blocks if isinstance(block, GPTBlock)]
        super().__init__(model, blocks, model.config.heads, is_compiled=is_compiled)
        self._positions = model.positions.weight
        self._last_norm = model.norm
        self._head = _head(model)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Turn `(N,)` ids at their positions into `(N, D)`."""
        return functional.embedding(ids, self.table) + functional.embedding(positions, self._positions)

    def turn(self, positions: Tensor) -> None:
        """Give nothing: GPT-2's layers know no positions."""

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
        is_compiled: Whether torch's compiler fuses what is around attention.
    """

    def __init__(self, model: Decoder, *, is_compiled: bool = False) -> None:
        blocks = [
            DecoderLayer(block, is_plain=is_compiled) for block in model.blocks if isinstance(block, DecoderBlock)
        ]
        super().__init__(model, blocks, model.config.kv_heads, is_compiled=is_compiled)
        self._base = model.config.rope_base
        self._last_norm = model.norm
        self._head = _head(model)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Turn `(N,)` ids into `(N, D)`; the positions come in later."""
        return functional.embedding(ids, self.table)

    def turn(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the cosines and sines of the positions, each `(N, 1, W)`."""
        cos, sin = rotation(positions, self.head_width, self._base)
        return cos[:, None], sin[:, None]

    def norm(self, x: Tensor) -> Tensor:
        """Apply the last norm to `(N, D)`."""
        normed: Tensor = self._last_norm(x)
        return normed

    def logits(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(M, D)` into float32 logits `(M, V)`."""
        return self._head(hidden).float()


def open_stack(model: nn.Module, *, is_compiled: bool = False) -> CausalStack:
    """Find the fastest way to run a model.

    Args:
        model: A `GPT` or a `Decoder`, or any module with a `config` that has `max_length` and `vocab_size`, with
            `hidden(ids, attention_mask)` and with `head(hidden)`; the last kind is run as it is, without a cache.
        is_compiled: Whether torch's compiler fuses what is around attention, and whether steps are captured on CUDA.

    Raises:
        InvalidTypeError: It is none of these.
    """
    model.eval()
    if isinstance(model, GPT | Decoder):
        make = GPTStack if isinstance(model, GPT) else DecoderStack
        stack: BlockStack = make(model, is_compiled=is_compiled)  # type: ignore[arg-type]
        return GraphedStack(stack, capture) if is_compiled and stack.device.type == "cuda" else stack
    if all(hasattr(model, name) for name in ("config", "hidden", "head")):
        return ModuleStack(model)
    raise InvalidTypeError(f"{type(model).__name__} is no causal model; expected GPT, Decoder, or hidden() and head()")


def _head(model: GPT | Decoder) -> FastLinear:
    if model.output is None:
        return FastLinear(model.tokens.weight, None, is_shared=True)
    return FastLinear(model.output.weight, None)
