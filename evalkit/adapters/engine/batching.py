"""Which sequences are computed together, what happens when memory runs out, and the order in which answers leave."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import torch

from evalkit.errors import EvalkitError

K = TypeVar("K")
T = TypeVar("T")

BLOCK = 1024
"""Sequences that are sorted by length together: answers of one block are all out before the next one begins."""

_CPU_TOKENS = 2048
_ACCELERATOR_TOKENS = 65536
_CPU_SLOTS = 64
_CPU_CACHE_BYTES = 2 << 30
_LEAST_SLOTS = 4
_ACCELERATOR_SLOTS = 256
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory", "failed to allocate")


class Budget:
    """How much is computed at once: so many tokens, and so many sequences; halved when memory runs out.

    Args:
        device: Where the model is; it decides what to begin with.
        batch_size: Sequences at once, exactly so many; None lets the budget find itself.
    """

    def __init__(self, device: torch.device, batch_size: int | None = None) -> None:
        is_cpu = device.type == "cpu"
        self.is_fixed = batch_size is not None
        self.tokens: int | None = None if self.is_fixed else _CPU_TOKENS if is_cpu else _ACCELERATOR_TOKENS
        """Tokens at once, padding included; None for no limit."""
        self.sequences: int = batch_size or (_CPU_SLOTS if is_cpu else _ACCELERATOR_SLOTS)
        """Sequences that are generated at once."""
        self._cache_bytes = None if self.is_fixed or not is_cpu else _CPU_CACHE_BYTES

    @property
    def batch_size(self) -> int | None:
        """Sequences at once that were asked for; None where only tokens are counted."""
        return self.sequences if self.is_fixed else None

    def slots(self, size_bytes: int) -> int:
        """Say how many sequences are generated at once.

        A CPU's memory has to hold the rest of the machine too, and running out of it is no error that can be caught.

        Args:
            size_bytes: What the keys and values of the longest one take.
        """
        if self._cache_bytes is None:
            return self.sequences
        return min(self.sequences, max(_LEAST_SLOTS, self._cache_bytes // max(1, size_bytes)))

    def halve(self, error: BaseException, size: int, rows: int = 1) -> None:
        """Go on with half of it after running out of memory.

        Args:
            error: What was raised.
            size: Sequences or prompts in the batch that failed.
            rows: Sequences of a prompt.

        Raises:
            EvalkitError: Nothing can be halved: the batch was one sequence, or its size was asked for.
        """
        if self.is_fixed:
            raise EvalkitError(
                f"out of memory with batch size {self.sequences}; use a smaller --batch-size, or auto"
            ) from error
        if size <= 1:
            raise EvalkitError(
                "out of memory with a single sequence; use a smaller model or dtype, or shorter texts"
            ) from error
        if self.tokens is not None:
            self.tokens = max(1, self.tokens // 2)
        self.sequences = size // 2 * rows


def batches_by_tokens(
    lengths: Sequence[int], budget: int | None, max_sequences: int | None = None
) -> Iterator[list[int]]:
    """Group sequences of similar lengths, longest first.

    >>> list(batches_by_tokens([3, 9, 4, 2], budget=8))
    [[1], [2, 0], [3]]

    Args:
        lengths: Tokens of each sequence.
        budget: Most tokens of a batch, each sequence counted as long as the batch's longest; None for no limit. A longer
            sequence stands alone.
        max_sequences: Most sequences of a batch; None for no limit.

    Yields:
        Indices into `lengths`; equal lengths keep their order.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        size = len(batch) + 1
        is_full = budget is not None and batch and size * lengths[batch[0]] > budget
        if is_full or (max_sequences is not None and size > max_sequences):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def run_batches(
    lengths: Sequence[int], budget: Budget, compute: Callable[[list[int]], Sequence[T]]
) -> Iterator[tuple[int, T]]:
    """Compute all sequences batch by batch, in smaller batches once memory has run out.

    Args:
        lengths: Tokens of each sequence.
        budget: What a batch may hold; stays halved for the caller's next sequences.
        compute: Turns the indices of a batch into one result each.

    Yields:
        Index and result, longest sequences first.

    Raises:
        EvalkitError: Memory does not suffice for one sequence, or for the batch size that was asked for.
    """
    waiting = list(range(len(lengths)))
    while waiting:
        done: set[int] = set()
        for places in batches_by_tokens([lengths[index] for index in waiting], budget.tokens, budget.batch_size):
            batch = [waiting[place] for place in places]
            try:
                results = compute(batch)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                failure: RuntimeError = error
                break
            done.update(batch)
            yield from zip(batch, results, strict=True)
        else:
            return
        budget.halve(failure, len(batch))
        del failure
        release_memory()
        waiting = [index for index in waiting if index not in done]


def answer_in_order(pairs: Iterable[tuple[int, T]], count: int) -> Iterator[T]:
    """Give results in the order of their indices, each as soon as all before it are known.

    >>> list(answer_in_order([(2, "c"), (0, "a"), (1, "b")], 3))
    ['a', 'b', 'c']

    Args:
        pairs: Index and result, in any order, each index from 0 to `count` - 1 once.
        count: How many there are.

    Raises:
        EvalkitError: An index is missing.
    """
    early: dict[int, T] = {}
    turn = 0
    for index, result in pairs:
        early[index] = result
        while turn in early:
            yield early.pop(turn)
            turn += 1
    if turn != count:
        raise EvalkitError(f"{count - turn} of {count} sequences were not computed")


def answer_each(keys: Sequence[K], compute: Callable[[list[K]], Iterable[tuple[int, T]]]) -> Iterator[T]:
    """Answer every key, in order, equal ones by computing one of them.

    Keys are computed in blocks, so that answers leave while later ones are still being computed; a block is large enough
    for its sequences to be sorted well.

    >>> list(answer_each(["b", "a", "b"], lambda keys: [(index, key.upper()) for index, key in enumerate(keys)]))
    ['B', 'A', 'B']

    Args:
        keys: What is asked.
        compute: Turns different keys into pairs of index and result, in any order.
    """
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    different = list(places)
    blocks = (different[start : start + BLOCK] for start in range(0, len(different), BLOCK))
    stream = (result for block in blocks for result in answer_in_order(compute(block), len(block)))
    known: list[T] = []
    for key in keys:
        if places[key] == len(known):
            known.append(next(stream))
        yield known[places[key]]


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error means that memory ran out, on a GPU or on the CPU."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(sign in text for sign in _OUT_OF_MEMORY)


def release_memory() -> None:
    """Give back what failed work holds."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
