"""Keys and values of running sequences, in buffers that are allocated once.

Letters in shapes: S slots, n slots in use, G key-value heads, C tokens that a slot holds, W width of one head, H query
heads, K tokens of each slot that are looked at.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence

import torch
from torch import Tensor

_HUGE_PAGE = 1 << 21


class SlotCache:
    """A fixed number of slots, each with one sequence of its own length; those in use are the first ones.

    Args:
        layers: One buffer each.
        slots: S.
        capacity: C.
        parts: What is kept of a token: 2 for a key and a value.
        heads: G.
        width: W.
        like: A tensor with the buffers' type and device.
    """

    def __init__(
        self, layers: int, slots: int, capacity: int, *, parts: int, heads: int, width: int, like: Tensor
    ) -> None:
        self.buffers = [_zeros((parts, slots, heads, capacity, width), like) for _ in range(layers)]
        """One a layer, `(parts, S, G, C, W)`."""
        self.slots, self.capacity = slots, capacity
        self._lengths: list[int] = []
        self._flat = [buffer.view(-1, width) for buffer in self.buffers]
        rows = torch.arange(parts * slots * heads, device=like.device).view(parts, slots, heads) * capacity
        self._rows = rows.permute(1, 0, 2).contiguous()  # (S, parts, G), first row of each slot's part and head
        self._steps = torch.arange(capacity, device=like.device)
        self._device = like.device

    @property
    def used(self) -> int:
        """How many slots are in use."""
        return len(self._lengths)

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return max(self._lengths, default=0)

    def lengths(self) -> Tensor:
        """Give the tokens of each sequence, `(n,)`."""
        return torch.tensor(self._lengths, device=self._device)

    def add(self, lengths: Sequence[int]) -> int:
        """Take the next free slots.

        Args:
            lengths: Tokens of each new sequence, which are written next.

        Returns:
            The first of these slots.
        """
        first = self.used
        self._lengths += lengths
        return first

    def grow(self) -> None:
        """Count one token more in every sequence, which was written."""
        self._lengths = [length + 1 for length in self._lengths]

    def arrange(self, order: Sequence[int], start: int = 0) -> None:
        """Move sequences: slot i then holds what slot `order[i]` held, and slots beyond are free.

        Args:
            order: Slots in use; one may come several times, or not at all.
            start: Tokens before it are the same in the slots that change places, and are not moved.
        """
        moved = [(new, old) for new, old in enumerate(order) if new != old]
        self._lengths = [self._lengths[old] for old in order]
        if not moved:
            return
        new, old = (torch.tensor(column, device=self._device) for column in zip(*moved, strict=True))
        end = max(self._lengths[slot] for slot, _ in moved)
        for buffer in self.buffers:
            part = buffer[:, :, :, start:end]
            part.index_copy_(1, new, part.index_select(1, old))

    def places(self, slots: Tensor, positions: Tensor) -> Tensor:
        """Say where tokens are written.

        Args:
            slots: `(N,)`.
            positions: `(N,)`, within each slot.

        Returns:
            `(N, parts, G)`, for `write`.
        """
        return self._rows[slots] + positions[:, None, None]

    def next_places(self, lengths: Tensor) -> Tensor:
        """Say where the next token of the first sequences, of these lengths, is written, as `places` does."""
        return self._rows[: len(lengths)] + lengths[:, None, None]

    def write(self, layer: int, places: Tensor, values: Tensor) -> None:
        """Keep `(N, parts, G, W)` of one layer at the places that `places` gave."""
        self._flat[layer].index_put_((places,), values)

    def bias(self, lengths: Tensor, queries: int, window: int) -> Tensor:
        """Give what hides the free rest of each slot: 0 for tokens up to the newest, -inf after it.

        Args:
            lengths: `(n,)`, tokens before the newest one.
            queries: Query heads H.
            window: K, tokens of each slot that are looked at: more than those of the longest sequence.

        Returns:
            `(n * G, H / G, K)`.
        """
        heads = self._rows.shape[2]
        is_free = self._steps[:window] > lengths[:, None]  # (n, K)
        bias = torch.zeros(is_free.shape, dtype=self.buffers[0].dtype, device=self._device)
        bias.masked_fill_(is_free, float("-inf"))
        spread = bias[:, None, None].expand(-1, heads, queries // heads, -1)
        return spread.reshape(-1, queries // heads, bias.shape[-1])

    def attend(self, layer: int, queries: Tensor, bias: Tensor) -> Tensor:
        """Let the newest token of every sequence look at the sequence.

        Two batched products over the buffers: fused attention kernels are slower for one query a sequence on a CPU.

        Args:
            layer: Which buffer.
            queries: `(n, H, W)`.
            bias: From `bias`.

        Returns:
            `(n, H * W)`.
        """
        used, width = queries.shape[0], queries.shape[2]
        length = bias.shape[-1]
        keys, values = (part[:used].flatten(0, 1)[:, :length] for part in self.buffers[layer])  # (n * G, K, W)
        grouped = queries.reshape(bias.shape[0], bias.shape[1], width)
        scores = torch.baddbmm(bias, grouped, keys.transpose(1, 2), alpha=width**-0.5)
        weights = scores.softmax(-1, dtype=torch.float32).to(values.dtype)
        return torch.bmm(weights, values).view(used, -1)


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Allocate a buffer: zeros, for a masked key's weight is 0, but 0 times the NaN that memory may hold is NaN.

    On Linux a large one lies on huge pages: every step writes one token into each slot and head, which are kilobytes apart,
    and with small pages each of these writes is a miss in the processor's address tables.
    """
    size = math.prod(shape) * like.element_size()
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if like.device.type != "cpu" or advice is None or size < _HUGE_PAGE:
        return torch.zeros(shape, dtype=like.dtype, device=like.device)
    try:
        memory = mmap.mmap(-1, size)
        memory.madvise(advice)
    except OSError:  # not supported here, or not enough memory, which torch reports in its own words
        return torch.zeros(shape, dtype=like.dtype)
    return torch.frombuffer(memory, dtype=like.dtype).view(shape)
