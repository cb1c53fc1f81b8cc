"""From sequences of different lengths to rectangles of token ids: padding, and texts that share a row.

Letters in shapes: B rows, T tokens of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evalkit.adapters.encoder.passages import Passage
from evalkit.training.objective import Batch

IGNORED = -100
"""Target of a position at which nothing is learnt; what torch's cross-entropy leaves out."""

PADDING_DOCUMENT = -1
"""Number of the document that padding is, in rows of several texts."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens of one text that are read at once, and what is to be learnt at each of them."""

    inputs: Tensor
    """Token ids, `(n,)`."""
    targets: Tensor
    """What each position shall predict, `(n,)`; `IGNORED` where nothing is learnt."""

    def __len__(self) -> int:
        return len(self.inputs)


def padded(rows: Sequence[Sequence[int] | Tensor], value: int) -> Tensor:
    """Put rows below one another, `(B, T)`, filled up on the right."""
    width = max(map(len, rows))
    block = torch.full((len(rows), width), value, dtype=torch.long)
    for index, row in enumerate(rows):
        block[index, : len(row)] = torch.as_tensor(row, dtype=torch.long)
    return block


def padding_masks(lengths: Sequence[int], name: str = "attention_mask") -> dict[str, Tensor]:
    """Make the mask of rows of these lengths, 1 for tokens; nothing where no row is padded, which is read faster."""
    width = max(lengths)
    if min(lengths) == width:
        return {}
    return {name: (torch.arange(width)[None, :] < torch.tensor(lengths)[:, None]).long()}


def shared_rows(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Share texts out over as few rows as first-fit decreasing finds.

    >>> shared_rows([3, 5, 2, 4], capacity=7)
    [[1, 2], [3, 0]]

    Args:
        lengths: Tokens of each text.
        capacity: Tokens of a row; a longer text has a row of its own.

    Returns:
        The places of the texts of each row.
    """
    rows: list[list[int]] = []
    room: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        row = next((row for row, left in enumerate(room) if left >= lengths[place]), len(rows))
        if row == len(rows):
            rows.append([])
            room.append(capacity)
        rows[row].append(place)
        room[row] -= lengths[place]
    return rows


def piece_batch(pieces: Sequence[Piece], capacity: int | None) -> Batch:
    """Make a batch of pieces.

    Args:
        pieces: One or more.
        capacity: Tokens of a row that pieces share without seeing one another; None for a row a piece.

    Returns:
        A batch with `ids` and, where rows are shared, `documents`, both `(B, T)`; and `places` and `labels` of `with_labels`.
        Padding stands on the right, where no token that is read from left to right sees it.
    """
    lengths = [len(piece) for piece in pieces]
    rows = shared_rows(lengths, capacity) if capacity is not None else [[place] for place in range(len(pieces))]
    width = max(sum(lengths[place] for place in row) for row in rows)
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    targets = torch.full((len(rows), width), IGNORED, dtype=torch.long)
    documents = torch.full((len(rows), width), PADDING_DOCUMENT, dtype=torch.long)
    for index, row in enumerate(rows):
        start = 0
        for number, place in enumerate(row):
            end = start + lengths[place]
            ids[index, start:end] = pieces[place].inputs
            targets[index, start:end] = pieces[place].targets
            documents[index, start:end] = number
            start = end
    tensors = {"ids": ids, **with_labels(targets)}
    if any(len(row) > 1 for row in rows):
        tensors["documents"] = documents
    return Batch(tensors, sum(lengths))


def with_labels(targets: Tensor) -> dict[str, Tensor]:
    """Say where in a batch something is learnt, and what; found while the batch is on the CPU, or a GPU would have to wait.

    Args:
        targets: `(B, T)`, `IGNORED` where nothing is learnt.

    Returns:
        `labels` `(M,)`, and `places` `(M,)` in the flattened batch; the latter is left out where it would be all of them.
    """
    flat = targets.flatten()
    is_wanted = flat != IGNORED
    if bool(is_wanted.all()):
        return {"labels": flat}
    return {"labels": flat[is_wanted], "places": torch.nonzero(is_wanted)[:, 0]}


def wanted_states(hidden: Tensor, tensors: Mapping[str, Tensor]) -> Tensor:
    """Take the hidden states `(B, T, D)` at which something is learnt, `(M, D)`."""
    flat = hidden.flatten(0, 1)
    return flat[tensors["places"]] if "places" in tensors else flat


def passage_batch(passages: Sequence[Passage], pad: int, more: Mapping[str, Tensor]) -> Batch:
    """Make a batch of what an encoder reads.

    Args:
        passages: As evaluation reads them.
        pad: The token behind shorter ones.
        more: Further tensors.

    Returns:
        A batch with `ids` `(B, T)`, `attention_mask` and `segments` where they are needed, and `places`, those of the wanted
        tokens in the flattened batch, `(M,)`.
    """
    lengths = [passage.length for passage in passages]
    ids = padded([passage.ids for passage in passages], pad)
    width = ids.shape[1]
    places = [index * width + place for index, passage in enumerate(passages) for place in passage.wanted]
    tensors = {"ids": ids, "places": torch.tensor(places), **padding_masks(lengths), **more}
    if any(passage.second_from is not None for passage in passages):
        starts = torch.tensor([width if passage.second_from is None else passage.second_from for passage in passages])
        tensors["segments"] = (torch.arange(width)[None, :] >= starts[:, None]).long()
    return Batch(tensors, sum(lengths))
