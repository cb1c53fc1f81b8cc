"""Sequences of many lengths as one run of tokens: linear layers see no padding, only attention does.

Letters in shapes: B sequences, T tokens of the longest, N tokens of all, M wanted tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

IntArray: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tree:
    """A sequence whose end may be told in several ways: tokens that all share, and branches that do not see each other."""

    trunk: tuple[int, ...]
    """The shared tokens, at least one."""
    branches: tuple[tuple[int, ...], ...] = ()
    """What follows them."""

    @property
    def length(self) -> int:
        """Number of tokens to compute."""
        return len(self.trunk) + sum(map(len, self.branches))


@dataclass(frozen=True, slots=True)
class Packed:
    """The tokens of several trees, one after the other."""

    ids: Tensor
    """`(N,)`."""
    positions: Tensor
    """`(N,)`, each counted within its own trunk and branch."""
    owners: Tensor
    """`(N,)`, index of each token's tree."""
    places: Tensor | None
    """`(N,)`, where each token stands among `B * T` padded ones; None where all trees have the same length."""
    mask: Tensor | None
    """`(B, 1, T, T)`, True where a token may see another; None where it sees all before it."""
    wanted: Tensor
    """`(M,)`, the tokens whose hidden states are asked for."""
    batch: int
    """B."""
    width: int
    """T."""


def pack(trees: Sequence[Tree], wanted: Sequence[Sequence[int]], device: torch.device) -> Packed:
    """Lay trees one after the other.

    Args:
        trees: What to compute.
        wanted: For each tree, the tokens whose hidden states are asked for, counted within the tree: first its trunk, then
            its branches.
        device: Where the tensors go.
    """
    lengths = np.array([tree.length for tree in trees])
    starts = lengths.cumsum() - lengths
    width, count = int(lengths.max()), int(lengths.sum())
    owners = np.repeat(np.arange(len(trees)), lengths)
    is_dense = count == width * len(trees)
    places = None if is_dense else owners * width + np.arange(count) - starts[owners]
    tokens = chain.from_iterable(chain(tree.trunk, *tree.branches) for tree in trees)
    sizes = [len(chosen) for chosen in wanted]
    chosen = np.fromiter(chain.from_iterable(wanted), np.int64, sum(sizes)) + np.repeat(starts, sizes)

    def tensor(values: IntArray) -> Tensor:
        return torch.from_numpy(values).to(device)

    return Packed(
        ids=tensor(np.fromiter(tokens, np.int64, count)),
        positions=tensor(_positions(trees)),
        owners=tensor(owners),
        places=None if places is None else tensor(places),
        mask=_mask(trees, width).to(device) if any(map(_has_choice, trees)) else None,
        wanted=tensor(chosen),
        batch=len(trees),
        width=width,
    )


def joined_ranges(firsts: Sequence[int], sizes: Sequence[int]) -> IntArray:
    """Join ranges of whole numbers.

    >>> joined_ranges([5, 0], [2, 3]).tolist()
    [5, 6, 0, 1, 2]

    Args:
        firsts: The first number of each.
        sizes: How many numbers each has.
    """
    counts = np.array(sizes, dtype=np.int64)
    ends = counts.cumsum()
    numbers: IntArray = np.arange(counts.sum()) - np.repeat(ends - counts - np.array(firsts, dtype=np.int64), counts)
    return numbers


def _has_choice(tree: Tree) -> bool:
    return sum(map(bool, tree.branches)) > 1


def _positions(trees: Sequence[Tree]) -> IntArray:
    firsts: list[int] = []
    sizes: list[int] = []
    for tree in trees:
        firsts += [0, *[len(tree.trunk)] * len(tree.branches)]
        sizes += [len(tree.trunk), *map(len, tree.branches)]
    return joined_ranges(firsts, sizes)


def _mask(trees: Sequence[Tree], width: int) -> Tensor:
    """Say who sees whom: everybody the trunk and the own branch, up to himself.

    Padding stands on the right, so that no token sees it; it sees something, or its softmax would be NaN.
    """
    branch = torch.zeros(len(trees), width, dtype=torch.long)  # 0 is the trunk
    for row, tree in enumerate(trees):
        sizes = torch.tensor([len(tree.trunk), *map(len, tree.branches)])
        branch[row, : tree.length] = torch.repeat_interleave(sizes)
    is_shared = (branch == 0)[:, None, :] | (branch[:, :, None] == branch[:, None, :])  # (B, T, T)
    return (is_shared & torch.ones(width, width, dtype=torch.bool).tril())[:, None]
