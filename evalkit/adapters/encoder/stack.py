"""A BERT over packed passages: one run of tokens in the linear layers, attention by groups of equal length.

No padding exists anywhere, so no mask is needed, and the kernels that allow none can be used.

Letters in shapes: N tokens of all passages, M wanted tokens, G passages of one length, T tokens of each, H heads,
W width of one head, D model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from evalkit.adapters.encoder.passages import Passage
from evalkit.adapters.engine.compiling import region
from evalkit.adapters.engine.linear import FastLinear
from evalkit.adapters.engine.packing import IntArray, joined_ranges
from evalkit_models.bert import Bert, BertBlock


class BertStack:
    """Runs a trunk.

    Args:
        bert: The trunk; its weights are used as they are, laid out anew on a CPU.
    """

    def __init__(self, bert: Bert) -> None:
        config = bert.config
        self.max_length = config.max_length
        self.device = bert.tokens.weight.device
        self._heads, self._offset, self._has_segments = config.heads, config.position_offset, config.segments > 1
        self._bert = bert
        self._blocks = [_FastBlock(block) for block in bert.blocks if isinstance(block, BertBlock)]
        self._finish = _FastBlock.finish

    def compile(self) -> None:
        """Let torch's compiler fuse what is around attention."""
        self._blocks = [_FastBlock(block, is_plain=True) for block in self._bert.blocks if isinstance(block, BertBlock)]
        self._finish = region(_FastBlock.finish, is_compiled=True)

    @torch.inference_mode()
    def read(self, passages: Sequence[Passage]) -> Tensor:
        """Compute the hidden states of the wanted tokens, `(M, D)`, passage by passage.

        Args:
            passages: In any order; sorted by length they are read fastest.
        """
        lengths = [passage.length for passage in passages]
        x = self._embed(passages, lengths)  # (N, D)
        groups = [(len(list(group)), length) for length, group in groupby(lengths)]
        for block in self._blocks[:-1]:
            x = self._finish(block, x, self._attend(block.qkv(x), groups))
        last, wanted = self._blocks[-1], self._wanted(passages, lengths)
        # Attention is the last to read the other tokens.
        return self._finish(last, x[wanted], self._attend(last.qkv(x), groups)[wanted])

    def _embed(self, passages: Sequence[Passage], lengths: Sequence[int]) -> Tensor:
        tokens = chain.from_iterable(passage.ids for passage in passages)
        ids = self._tensor(np.fromiter(tokens, np.int64, sum(lengths)))
        positions = self._tensor(joined_ranges([self._offset] * len(lengths), lengths))
        segments = torch.zeros_like(ids)
        if self._has_segments and any(passage.second_from is not None for passage in passages):
            segments = self._tensor(np.concatenate(list(map(_segments, passages))))
        bert = self._bert
        embedded: Tensor = bert.norm(bert.tokens(ids) + bert.positions(positions) + bert.segments(segments))
        return embedded

    def _wanted(self, passages: Sequence[Passage], lengths: Sequence[int]) -> Tensor:
        counts = [len(passage.wanted) for passage in passages]
        places = np.fromiter(chain.from_iterable(passage.wanted for passage in passages), np.int64, sum(counts))
        return self._tensor(places + np.repeat(np.cumsum([0, *lengths[:-1]]), counts))

    def _attend(self, qkv: Tensor, groups: Sequence[tuple[int, int]]) -> Tensor:
        """Mix the tokens of each passage, `(N, 3 D)` to `(N, D)`."""
        mixed = []
        for part, (count, length) in zip(torch.split(qkv, [g * t for g, t in groups]), groups, strict=True):
            apart = part.view(count, length, 3, self._heads, -1).permute(2, 0, 3, 1, 4)  # (3, G, H, T, W)
            joined = functional.scaled_dot_product_attention(apart[0], apart[1], apart[2])
            mixed.append(joined.transpose(1, 2).reshape(count * length, -1))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)

    def _tensor(self, values: IntArray) -> Tensor:
        return torch.from_numpy(values).to(self.device)


class _FastBlock:
    """The layers of one block."""

    def __init__(self, block: BertBlock, *, is_plain: bool = False) -> None:
        attention, mlp = block.attention, block.mlp
        self.qkv = FastLinear(attention.qkv.weight, attention.qkv.bias, is_plain=is_plain)
        self._out = FastLinear(attention.out.weight, attention.out.bias, is_plain=is_plain)
        self._up = FastLinear(mlp.up.weight, mlp.up.bias, gelu=True, is_exact=True, is_plain=is_plain)
        self._down = FastLinear(mlp.down.weight, mlp.down.bias, is_plain=is_plain)
        self._norm1, self._norm2 = block.norm1, block.norm2

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """Add what attention gave, and the feed-forward branch, to `x`; all `(N, D)`."""
        x = self._norm1(self._out(mixed).add_(x))
        added: Tensor = self._norm2(self._down(self._up(x)).add_(x))
        return added


def _segments(passage: Passage) -> IntArray:
    first = passage.length if passage.second_from is None else passage.second_from
    return np.repeat([0, 1], [first, passage.length - first])
