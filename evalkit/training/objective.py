"""What the training loop asks of an objective: examples by number, batches by numbers, a loss as a sum and a count.

The loop never sees text and an objective never sees the optimiser. Whatever is drawn at random while a batch is made (masks,
spans) comes from the generator that the loop seeds from the recipe's seed and the batch's place, so the place alone tells
what a batch holds: a run that was stopped goes on with the very same batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Batch:
    """Tensors of one forward pass."""

    tensors: Mapping[str, Tensor]
    """By name, as the objective's own `loss` expects them; on the CPU until the loop moves them."""
    token_count: int
    """Tokens that go through the model, padding not counted: what D of a scaling law counts."""

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        moved = {name: tensor.to(device, non_blocking=True) for name, tensor in self.tensors.items()}
        return Batch(moved, self.token_count)


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss that can be added up over batches, accumulation steps and processes before it is divided."""

    total: Tensor
    """Sum over the targets in nats, scalar, with its graph; label smoothing included."""
    target_count: int
    """Number of targets that `total` sums over."""


class Objective(Protocol):
    """Training examples, how they become batches, and what a model loses on them."""

    name: ClassVar[str]

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each example, which batches in tokens and length buckets are made by."""
        ...

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Make one batch of the examples at these places, drawing only from the generator."""
        ...

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Run the model on a batch."""
        ...
