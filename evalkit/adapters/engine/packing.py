"""Sequences of many lengths as one run of tokens: linear layers see no padding, only attention does.

Letters in shapes: B sequences, T tokens of the longest, N tokens of all, M wanted tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import torch
from torch import Tensor


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
    lengths = [tree.length for tree in trees]
    starts = accumulate(lengths, initial=0)
    width = max(lengths)
    rows = [range(index * width, index * width + length) for index, length in enumerate(lengths)]
    is_dense = min(lengths) == width

    def tensor(values: chain[int] | list[int]) -> Tensor:
        return torch.tensor(list(values), device=device)

    return Packed(
        ids=tensor(chain.from_iterable(chain(tree.trunk, *tree.branches) for tree in trees)),
        positions=tensor(chain.from_iterable(map(_positions, trees))),
        owners=torch.repeat_interleave(torch.tensor(lengths)).to(device),
        places=None if is_dense else tensor(chain.from_iterable(rows)),
        mask=_mask(trees, width).to(device) if any(map(_has_choice, trees)) else None,
        wanted=tensor([start + place for start, places in zip(starts, wanted, strict=False) for place in places]),
        batch=len(trees),
        width=width,
    )


def _has_choice(tree: Tree) -> bool:
    return sum(map(bool, tree.branches)) > 1


def _positions(tree: Tree) -> chain[int]:
    trunk = len(tree.trunk)
    return chain(range(trunk), *(range(trunk, trunk + len(branch)) for branch in tree.branches))


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
