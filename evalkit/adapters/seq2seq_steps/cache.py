"""Keys and values of running answers, and of the sources that they are answers to.

Letters in shapes: n running sequences, m sources, r sequences of a source, H heads, W width of one head, L length of the
longest sequence, S length of the longest source.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from evalkit.adapters.engine.cache import SlotCache


class PairCache(SlotCache):
    """Slots for answers, and beside them slots for sources, each of which serves all sequences that answer it.

    Args:
        layers: Blocks of the decoder.
        slots: Most answers.
        sources: Most sources.
        target_capacity: Tokens that the slot of an answer holds, the start token included.
        source_capacity: Tokens that the slot of a source holds.
        heads: H.
        like: A tensor with the buffers' type and device, `(W,)`.
    """

    def __init__(
        self,
        layers: int,
        slots: int,
        sources: int,
        *,
        target_capacity: int,
        source_capacity: int,
        heads: int,
        like: Tensor,
    ) -> None:
        width = len(like)
        super().__init__(layers, slots, target_capacity, parts=2, heads=heads, width=width, like=like)
        self.sources = SlotCache(layers, sources, source_capacity, parts=2, heads=heads, width=width, like=like)
        """Keys and values of the sources."""
        # A prompt that needs no more room than this in all fits on both sides.
        self.capacity = min(target_capacity, source_capacity)
        self._heads = heads
        self._owners: list[int] = []
        self._source_bias: Tensor | None = None

    def begin(self, lengths: Sequence[int]) -> tuple[int, int]:
        """Take the next free slots for sources of these lengths, and for the start token of an answer to each.

        Returns:
            The first slot of an answer, and the first slot of a source.
        """
        first_source = self.sources.add(lengths)
        self._owners += range(first_source, self.sources.used)
        self._source_bias = None
        return self.add([1] * len(lengths)), first_source

    def arrange(self, order: Sequence[int], start: int = 0) -> None:
        """Move sequences, and with them their sources; see `SlotCache.arrange`.

        Args:
            order: Slots in use; those of one source side by side.
            start: Ignored: tokens of the prompt are in the slots of the sources.
        """
        super().arrange(order)
        owners = [self._owners[slot] for slot in order]
        numbers = {owner: number for number, owner in enumerate(dict.fromkeys(owners))}
        self._owners = [numbers[owner] for owner in owners]
        if list(numbers) != list(range(self.sources.used)):
            self.sources.arrange(list(numbers))
            self._source_bias = None

    def mix(self, layer: int, queries: Tensor, bias: Tensor) -> Tensor:
        """Let the newest token of every sequence look at its sequence.

        Args:
            layer: Which block.
            queries: `(n, H, W)`.
            bias: `(n * H, 1, L)`, added to the scores.

        Returns:
            `(n, H * W)`.
        """
        used = queries.shape[0]
        return _mixed(self.buffers[layer][:, :used], queries.reshape(-1, 1, queries.shape[2]), bias).view(used, -1)

    def mix_sources(self, layer: int, queries: Tensor) -> Tensor:
        """Let the newest token of every sequence look at its source, `(n, H * W)` to `(n, H * W)`."""
        buffer = self.sources.buffers[layer][:, : self.sources.used]
        shape = (self.sources.used, -1, self._heads, buffer.shape[-1])  # m, r, H, W
        apart = queries.view(shape).transpose(1, 2)
        mixed = _mixed(buffer, apart.reshape(-1, apart.shape[2], apart.shape[3]), self._bias_of_sources())
        return mixed.view(apart.shape).transpose(1, 2).reshape(queries.shape)

    def _bias_of_sources(self) -> Tensor:
        """Give what hides the free rest of each source's slot, `(m * H, 1, S)`: the same until sequences come or go."""
        if self._source_bias is None:
            lengths = self.sources.lengths()
            is_free = torch.arange(self.sources.longest, device=lengths.device) >= lengths[:, None]
            bias = torch.zeros(is_free.shape, dtype=self.buffers[0].dtype, device=lengths.device)
            bias.masked_fill_(is_free, float("-inf"))
            self._source_bias = bias.repeat_interleave(self._heads, dim=0)[:, None]
        return self._source_bias


def _mixed(buffer: Tensor, queries: Tensor, bias: Tensor) -> Tensor:
    """Attend by two batched products, without scaling: fused kernels are slower for so few queries on a CPU.

    Args:
        buffer: Keys and values, `(2, m, H, any, W)`.
        queries: `(m * H, r, W)`.
        bias: `(m * H, 1, S)`.

    Returns:
        `(m * H, r, W)`.
    """
    keys, values = (part.flatten(0, 1)[:, : bias.shape[-1]] for part in buffer)  # (m * H, S, W)
    scores = torch.baddbmm(bias, queries, keys.transpose(1, 2))
    weights = scores.softmax(-1, dtype=torch.float32).to(values.dtype)
    return torch.bmm(weights, values)
