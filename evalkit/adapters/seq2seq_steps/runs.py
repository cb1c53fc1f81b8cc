"""Sequences of many lengths as one run of tokens, and what the encoder and the decoder each read of a packed batch.

Letters in shapes: B sequences, T tokens of the longest, N tokens of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from evalkit.adapters.engine.packing import Packed


@dataclass(frozen=True, slots=True)
class Run:
    """The tokens of several sequences, one after the other."""

    ids: Tensor
    """`(N,)`."""
    owners: Tensor
    """`(N,)`, index of each token's sequence."""
    offsets: Tensor
    """`(N,)`, place of each token in its sequence."""
    lengths: tuple[int, ...]
    """Tokens of each sequence, at least one."""

    @property
    def width(self) -> int:
        """T."""
        return max(self.lengths)

    @property
    def is_dense(self) -> bool:
        """Whether all sequences have the same length."""
        return min(self.lengths) == self.width

    def apart(self, x: Tensor) -> Tensor:
        """Lay the sequences apart, `(N, ...)` to `(B, T, ...)`, with zeros behind the shorter ones."""
        shape = (len(self.lengths), self.width, *x.shape[1:])
        if self.is_dense:
            return x.view(shape)
        padded = x.new_zeros(shape)
        padded[self.owners, self.offsets] = x
        return padded

    def joined(self, x: Tensor) -> Tensor:
        """Undo `apart`."""
        return x.flatten(0, 1) if self.is_dense else x[self.owners, self.offsets]

    def is_token(self) -> Tensor | None:
        """Tell tokens from padding, `(B, T)`; None where there is no padding."""
        if self.is_dense:
            return None
        steps = torch.arange(self.width, device=self.ids.device)
        return steps < torch.tensor(self.lengths, device=self.ids.device)[:, None]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sources with what is told of their targets."""

    sources: Run
    """What the encoder reads."""
    targets: Run
    """What the decoder reads: the start token, and the branches that follow it without seeing each other."""
    positions: Tensor
    """`(N,)`, each target token's, counted within its own branch; the start token has 0."""
    mask: Tensor | None
    """`(B, T, T)`, True where a target token may see another; None where it sees all before it."""


def split_pairs(packed: Packed, start_id: int) -> Pairs:
    """Take a packed batch apart: each tree's trunk is a source, and its branches are targets after the start token.

    Args:
        packed: Its wanted tokens are, in each tree, the last one of the trunk and all that follow it.
        start_id: What the decoder reads in the place of the trunk's last token.
    """
    device = packed.ids.device
    of_target = packed.owners[packed.wanted]
    counts = torch.bincount(of_target, minlength=packed.batch)
    totals = torch.bincount(packed.owners, minlength=packed.batch)
    lengths = totals - counts + 1
    places = torch.arange(len(packed.ids), device=device) - (totals.cumsum(0) - totals)[packed.owners]
    is_source = places < lengths[packed.owners]
    sources = Run(packed.ids[is_source], packed.owners[is_source], places[is_source], tuple(lengths.tolist()))
    starts = counts.cumsum(0) - counts
    ids = packed.ids[packed.wanted].index_fill(0, starts, start_id)
    offsets = torch.arange(len(ids), device=device) - starts[of_target]
    targets = Run(ids, of_target, offsets, tuple(counts.tolist()))
    positions = packed.positions[packed.wanted] - (lengths - 1)[of_target]
    mask = None if packed.mask is None else _branch_mask(packed.mask[:, 0], lengths - 1, targets.width)
    return Pairs(sources, targets, positions, mask)


def _branch_mask(mask: Tensor, roots: Tensor, width: int) -> Tensor:
    """Cut what follows each tree's root, `(B,)`, out of the trees' masks, `(B, T, T)`."""
    steps = torch.arange(width, device=mask.device)
    places = (roots[:, None] + steps).clamp(max=mask.shape[1] - 1)  # (B, width)
    rows = mask.gather(1, places[:, :, None].expand(-1, -1, mask.shape[2]))
    cut = rows.gather(2, places[:, None, :].expand(-1, width, -1))
    # Places beyond the batch's longest tree are its last token again, which no real token may see twice.
    return cut & (steps[None, :] <= steps[:, None])
