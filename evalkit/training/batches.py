"""Which examples make which batch: seeded epochs, a budget of tokens, examples of like length together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalkit.training.recipe import BatchSection
from evalkit.training.seeds import derive_seed


@dataclass(frozen=True, slots=True)
class Position:
    """Where in the data a training stands: the next batch."""

    epoch: int
    """Number of whole passes before it."""
    index: int
    """Batches of this pass before it."""


class Batches:
    """The endless sequence of batches of one recipe on one set of examples.

    Every epoch holds every example once. Its examples are shuffled and cut into pools; a pool is sorted by length and cut into
    batches, so that little is padded; the batches of all pools are shuffled. Only seed and epoch decide the outcome.

    Args:
        lengths: Tokens of each example.
        section: Budget of a batch, and how many batches a pool is worth.
        seed: The recipe's seed.
    """

    def __init__(self, lengths: Sequence[int], section: BatchSection, seed: int) -> None:
        self._lengths = np.asarray(lengths, dtype=np.int64)
        self._section = section
        self._seed = seed
        self._epoch = -1
        self._batches: list[list[int]] = []

    @property
    def per_epoch(self) -> int:
        """Batches of the first epoch; others may have a few more or fewer."""
        return len(self.epoch(0))

    def epoch(self, number: int) -> list[list[int]]:
        """Make the batches of one epoch: places of examples."""
        if number != self._epoch:
            random = np.random.default_rng(derive_seed(self._seed, "order", number))
            order = random.permutation(len(self._lengths))
            batches = [batch for pool in self._pools(order) for batch in self._cut(pool)]
            self._batches = [batches[place] for place in random.permutation(len(batches))]
            self._epoch = number
        return self._batches

    def starting_at(self, position: Position) -> Iterator[tuple[list[int], Position]]:
        """Give all batches from a position on, each with the position after it."""
        epoch, index = position.epoch, position.index
        while True:
            batches = self.epoch(epoch)
            while index < len(batches):
                index += 1
                after = Position(epoch, index) if index < len(batches) else Position(epoch + 1, 0)
                yield batches[index - 1], after
            epoch, index = epoch + 1, 0

    def _pools(self, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        if self._section.examples is not None:
            size = self._section.examples * self._section.buckets
            return [order[start : start + size] for start in range(0, len(order), size)]
        assert self._section.tokens is not None
        ends = np.cumsum(self._lengths[order])
        pool_of_each = (ends - 1) // (self._section.tokens * self._section.buckets)
        return np.split(order, np.flatnonzero(np.diff(pool_of_each)) + 1)

    def _cut(self, pool: NDArray[np.int64]) -> Iterator[list[int]]:
        """Cut a pool into batches that keep to the budget, padding counted; one example always has room."""
        if self._section.buckets > 1:
            pool = pool[np.argsort(self._lengths[pool], kind="stable")]
        if self._section.examples is not None:
            size = self._section.examples
            yield from (pool[start : start + size].tolist() for start in range(0, len(pool), size))
            return
        assert self._section.tokens is not None
        batch: list[int] = []
        longest = 0
        for place, length in zip(pool.tolist(), self._lengths[pool].tolist(), strict=True):
            longest = max(longest, length)
            if batch and longest * (len(batch) + 1) > self._section.tokens:
                yield batch
                batch, longest = [], length
            batch.append(place)
        if batch:
            yield batch


def pieces(places: Sequence[int], count: int) -> list[Sequence[int]]:
    """Share a batch out over accumulation steps and processes: every `count`-th example, so that lengths are alike.

    Pieces are empty where the batch has fewer examples.
    """
    return [places[start::count] for start in range(count)]


def piece_count(accumulate: int, processes: int) -> int:
    """Count the pieces of a batch: at least `accumulate`, and as many for each process.

    >>> piece_count(1, 1), piece_count(1, 2), piece_count(3, 2)
    (1, 2, 4)
    """
    return -(-accumulate // processes) * processes
