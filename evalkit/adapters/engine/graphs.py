"""Steps of generation that are recorded once and replayed: on a GPU a step is many small kernels, and launching them is the cost.

A recorded step has fixed shapes and fixed places in memory. So it is one for so many rows and so long a window, both rounded
up; rows without a sequence compute something that nobody reads, into slots that are written anew before they are used.

Letters in shapes: n running sequences, D model width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from evalkit.adapters.engine.batching import is_out_of_memory
from evalkit.adapters.engine.cache import SlotCache
from evalkit.adapters.engine.packing import Packed
from evalkit.adapters.engine.stack import BlockStack
from evalkit.errors import EvalkitError

_WINDOW = 128
"""Windows are multiples of it."""

Record: TypeAlias = Callable[[torch.device, Callable[[], Tensor]], Callable[[], Tensor]]
"""Turns a computation on a device into one that does the same again, on the same tensors."""


class GraphedStack:
    """Runs a stack with recorded steps.

    Args:
        stack: The model.
        record: How steps are recorded.
    """

    shares_context = True

    def __init__(self, stack: BlockStack, record: Record) -> None:
        self.max_length, self.vocab_size, self.device = stack.max_length, stack.vocab_size, stack.device
        self.token_bytes = stack.token_bytes
        self._stack, self._record = stack, record
        self._cache: SlotCache | None = None
        self._steps: dict[tuple[int, int], Callable[[], Tensor]] = {}
        self._ids = self._lengths = torch.zeros(0, dtype=torch.long)

    def new_cache(self, slots: int, capacity: int) -> SlotCache:
        """Allocate slots for that many sequences of at most `capacity` tokens."""
        # Recorded steps hold the cache that they write into.
        self._cache = None
        self._steps.clear()
        return self._stack.new_cache(slots, capacity)

    def read(self, packed: Packed, cache: SlotCache | None = None) -> Tensor:
        """Compute the hidden states of the wanted tokens, `(M, D)`; see `CausalStack.read`."""
        return self._stack.read(packed, cache)

    def logits(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(M, D)` into float32 logits `(M, V)`."""
        return self._stack.logits(hidden)

    def step(self, ids: Tensor, cache: SlotCache) -> Tensor:
        """Append one token to every running sequence, and compute its hidden state: `(n,)` to `(n, D)`.

        The result is overwritten by the next step.
        """
        if cache is not self._cache:
            self._cache = cache
            self._steps.clear()
            self._ids = torch.zeros(cache.slots, dtype=torch.long, device=self.device)
            self._lengths = torch.zeros_like(self._ids)
        used = cache.used
        rows = min(cache.slots, 1 << (used - 1).bit_length())
        window = min(cache.capacity, -(-(cache.longest + 1) // _WINDOW) * _WINDOW)
        self._ids[:used].copy_(ids)
        self._lengths[:used].copy_(cache.lengths())
        self._lengths[used:rows].zero_()
        replay = self._steps.get((rows, window))
        if replay is None:
            replay = self._steps[rows, window] = self._recorded(rows, window, cache)
        hidden = replay()
        cache.grow()
        return hidden[:used]

    def _recorded(self, rows: int, window: int, cache: SlotCache) -> Callable[[], Tensor]:
        ids, lengths = self._ids[:rows], self._lengths[:rows]
        return self._record(self.device, lambda: self._stack.advance(ids, lengths, cache, window))


_pools: dict[torch.device, Any] = {}


def capture(device: torch.device, compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Record a computation as a CUDA graph.

    Args:
        device: Where it runs.
        compute: May run several times without harm.

    Raises:
        EvalkitError: Something in it cannot be captured.
        torch.OutOfMemoryError: Memory ran out.
    """
    try:
        with torch.cuda.device(device):
            return _captured(device, compute)
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise EvalkitError(
            f"--compile cannot capture a step of generation here: {str(error).splitlines()[0]:.200}; leave out --compile"
        ) from error


def _captured(device: torch.device, compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    # A first run on a stream of its own lets libraries set up what must not be captured.
    beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        compute()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    if device not in _pools:
        # Only one graph runs at a time, and what it gives is read before the next one runs: all can share their memory.
        _pools[device] = torch.cuda.graph_pool_handle()
    with torch.cuda.graph(graph, pool=_pools[device]):
        result = compute()

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay
