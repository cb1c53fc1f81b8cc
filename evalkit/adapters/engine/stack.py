"""A causal model as the engine runs it: whole sequences packed, or one more token of each running sequence.

Letters in shapes: N tokens of all sequences, M wanted tokens, n running sequences, B sequences, T tokens of the longest,
H query heads, G key-value heads, W width of one head, D model width, V vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit.adapters.engine.cache import SlotCache
from evalkit.adapters.engine.compiling import region
from evalkit.adapters.engine.layers import Layer
from evalkit.adapters.engine.packing import Packed
from evalkit_models.decoder import Decoder
from evalkit_models.gpt import GPT


class CausalStack(Protocol):
    """What generation and scoring need of a model."""

    max_length: int
    """Longest input in tokens."""
    vocab_size: int
    """V."""
    device: torch.device
    """Where ids have to be."""
    shares_context: bool
    """Whether `read` takes trees with branches."""
    token_bytes: int
    """Bytes that a cache holds for each token."""

    def new_cache(self, slots: int, capacity: int) -> SlotCache:
        """Allocate slots for that many sequences of at most `capacity` tokens."""
        ...

    def read(self, packed: Packed, cache: SlotCache | None = None) -> Tensor:
        """Compute the hidden states of the wanted tokens, `(M, D)`.

        With a cache, the sequences are written into its next free slots.
        """
        ...

    def step(self, ids: Tensor, cache: SlotCache) -> Tensor:
        """Append one token to every running sequence, and compute its hidden state: `(n,)` to `(n, D)`."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(M, D)` into float32 logits `(M, V)`."""
        ...


class BlockStack(ABC):
    """Runs pre-norm blocks with causal self-attention; a family says how tokens go in and logits come out.

    Args:
        model: What the blocks belong to.
        blocks: Its blocks, first to last.
        kv_heads: G.
        is_compiled: Whether torch's compiler fuses what is around attention.
    """

    shares_context = True

    def __init__(self, model: GPT | Decoder, blocks: Sequence[Layer], kv_heads: int, *, is_compiled: bool) -> None:
        config = model.config
        self.max_length, self.vocab_size = config.max_length, config.vocab_size
        self.heads, self.kv_heads, self.head_width = config.heads, kv_heads, config.width // config.heads
        self.blocks = blocks
        self.table = model.tokens.weight
        self.device = self.table.device
        self.token_bytes = 2 * len(blocks) * kv_heads * self.head_width * self.table.element_size()
        self._project = region(type(blocks[0]).project, is_compiled=is_compiled)
        self._finish = region(type(blocks[0]).finish, is_compiled=is_compiled)

    @abstractmethod
    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Turn `(N,)` ids at their positions into `(N, D)`."""

    @abstractmethod
    def turn(self, positions: Tensor) -> Any:  # noqa: ANN401 (the family's own)
        """Compute what all layers need of the positions `(N,)`."""

    @abstractmethod
    def norm(self, x: Tensor) -> Tensor:
        """Apply the last norm to `(N, D)`."""

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(M, D)` into float32 logits `(M, V)`."""

    def new_cache(self, slots: int, capacity: int) -> SlotCache:
        """Allocate slots for that many sequences of at most `capacity` tokens."""
        return SlotCache(
            len(self.blocks), slots, capacity, parts=2, heads=self.kv_heads, width=self.head_width, like=self.table
        )

    def read(self, packed: Packed, cache: SlotCache | None = None) -> Tensor:
        """Compute the hidden states of the wanted tokens, `(M, D)`; see `CausalStack.read`."""
        x, turn = self.embed(packed.ids, packed.positions), self.turn(packed.positions)
        places = None
        if cache is not None:
            first = cache.add(torch.bincount(packed.owners, minlength=packed.batch).tolist())
            places = cache.places(packed.owners + first, packed.positions)
        for layer, block in enumerate(self.blocks):
            joined = self._project(block, x, turn)
            if cache is not None and places is not None:
                cache.write(layer, places, self._pairs(joined))
            mixed = self._attend(joined, packed)
            if layer == len(self.blocks) - 1:
                # Attention was the last to read the other tokens.
                x, mixed = x[packed.wanted], mixed[packed.wanted]
            x = self._finish(block, x, mixed)
        return self.norm(x)

    def _pairs(self, joined: Tensor) -> Tensor:
        """Take keys and values `(N, 2, G, W)` out of `(N, H + 2 G, W)`."""
        return joined[:, self.heads :].view(len(joined), 2, self.kv_heads, self.head_width)

    def _attend(self, joined: Tensor, packed: Packed) -> Tensor:
        """Mix tokens within each sequence, `(N, H + 2 G, W)` to `(N, H * W)`."""
        if packed.places is not None:
            padded = joined.new_zeros(packed.batch * packed.width, *joined.shape[1:])
            joined = padded.index_copy_(0, packed.places, joined)
        apart = joined.view(packed.batch, packed.width, -1, self.head_width).transpose(1, 2)  # (B, H + 2 G, T, W)
        q, k, v = torch.split(apart, [self.heads, self.kv_heads, self.kv_heads], dim=1)
        mixed = functional.scaled_dot_product_attention(
            q, k, v, packed.mask, is_causal=packed.mask is None, enable_gqa=self.heads != self.kv_heads
        )
        rows = mixed.transpose(1, 2).reshape(packed.batch * packed.width, -1)
        return rows if packed.places is None else rows[packed.places]

    def step(self, ids: Tensor, cache: SlotCache) -> Tensor:
        """Append one token to every running sequence, and compute its hidden state: `(n,)` to `(n, D)`."""
        hidden = self.advance(ids, cache.lengths(), cache, cache.longest + 1)
        cache.grow()
        return hidden

    def advance(self, ids: Tensor, lengths: Tensor, cache: SlotCache, window: int) -> Tensor:
        """Write one token behind each of the first sequences, and compute its hidden state.

        Nothing here depends on values, only on shapes, so that it can be captured and replayed.

        Args:
            ids: The tokens, `(n,)`.
            lengths: Tokens of the first n slots, `(n,)`.
            cache: Where they are.
            window: Tokens of each slot that are looked at: more than the longest of the lengths.

        Returns:
            `(n, D)`.
        """
        x, turn = self.embed(ids, lengths), self.turn(lengths)
        places, bias = cache.next_places(lengths), cache.bias(lengths, self.heads, window)
        for layer, block in enumerate(self.blocks):
            joined = self._project(block, x, turn)
            cache.write(layer, places, self._pairs(joined))
            x = self._finish(block, x, cache.attend(layer, joined[:, : self.heads], bias))
        return self.norm(x)


class ModuleStack:
    """Runs any causal module by whole forward passes: nothing is cached but the ids.

    Args:
        model: Has `config.max_length`, `config.vocab_size`, `hidden(ids, attention_mask)` and `head(hidden)`.
    """

    shares_context = False
    token_bytes = 8

    def __init__(self, model: nn.Module) -> None:
        self.model: Any = model
        config: Any = model.config
        self.max_length: int = config.max_length
        self.vocab_size: int = config.vocab_size
        first = next(chain(model.parameters(), model.buffers()), None)
        self.device = torch.device("cpu") if first is None else first.device

    def new_cache(self, slots: int, capacity: int) -> SlotCache:
        """Allocate slots for the ids of that many sequences of at most `capacity` tokens."""
        like = torch.zeros((), dtype=torch.long, device=self.device)
        return SlotCache(1, slots, capacity, parts=1, heads=1, width=1, like=like)

    def read(self, packed: Packed, cache: SlotCache | None = None) -> Tensor:
        """Compute the hidden states of the wanted tokens, `(M, D)`; see `CausalStack.read`."""
        if cache is not None:
            first = cache.add(torch.bincount(packed.owners, minlength=packed.batch).tolist())
            cache.write(0, cache.places(packed.owners + first, packed.positions), packed.ids[:, None, None, None])
        if packed.places is None:
            hidden: Tensor = self.model.hidden(packed.ids.view(packed.batch, packed.width))
            return hidden.flatten(0, 1)[packed.wanted]
        ids = packed.ids.new_zeros(packed.batch * packed.width)
        mask = torch.zeros_like(ids)
        ids[packed.places], mask[packed.places] = packed.ids, 1
        shape = (packed.batch, packed.width)
        hidden = self.model.hidden(ids.view(shape), mask.view(shape))
        return hidden.flatten(0, 1)[packed.places[packed.wanted]]

    def step(self, ids: Tensor, cache: SlotCache) -> Tensor:
        """Append one token to every running sequence, and compute its hidden state: `(n,)` to `(n, D)`."""
        lengths = cache.lengths()
        cache.write(0, cache.next_places(lengths), ids[:, None, None, None])
        cache.grow()
        held = cache.buffers[0][0, : cache.used, 0, : cache.longest, 0]  # (n, T)
        mask = torch.arange(cache.longest, device=self.device) <= lengths[:, None]
        hidden: Tensor = self.model.hidden(held * mask, mask.long())
        return hidden[torch.arange(cache.used, device=self.device), lengths]

    def logits(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(M, D)` into float32 logits `(M, V)`, or float64 ones if the module computes these."""
        logits: Tensor = self.model.head(hidden)
        return logits if logits.dtype == torch.float64 else logits.float()
