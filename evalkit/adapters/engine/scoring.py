"""Log-probabilities of given tokens, with the head applied only where a token is scored.

Letters in shapes: M positions that are scored, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from evalkit.adapters.engine.batching import Budget, run_batches
from evalkit.adapters.engine.choosing import most_probable
from evalkit.adapters.engine.packing import IntArray, Tree, joined_ranges, pack
from evalkit.adapters.engine.stack import CausalStack

_CHUNK_LOGITS = 1 << 21
"""Logits that exist at a time, and, of those, which are turned into log-probabilities at a time: they stay in the caches."""
_LEAST_ROWS = 128
_BLOCK_LOGITS = 1 << 19
_ACCELERATOR_LOGITS = 1 << 26
_TREE_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Question:
    """Token sequences to score, each after the same context."""

    context: tuple[int, ...]
    """At least one token."""
    targets: tuple[tuple[int, ...], ...]
    """At least one; each with at least one token."""

    @property
    def tree(self) -> Tree:
        """What the model has to read: the last token of a target is never an input."""
        return Tree(self.context, tuple(target[:-1] for target in self.targets))


@dataclass(frozen=True, slots=True)
class Scored:
    """What a model thinks of one token sequence."""

    logprob_nats: float
    """Sum of the natural-log probabilities of its tokens."""
    is_greedy: bool
    """Whether each token is the most probable one at its place; False where nobody asked."""


class Scorer:
    """Scores token sequences.

    Args:
        stack: The model.
        budget: How much is computed at once.
    """

    def __init__(self, stack: CausalStack, budget: Budget) -> None:
        self._stack, self._budget = stack, budget

    def score(self, questions: Sequence[Question], *, is_ranked: bool = True) -> Iterator[tuple[int, list[Scored]]]:
        """Score the targets of every question, longest questions first.

        Args:
            questions: What to score.
            is_ranked: Whether to find out too which tokens are the most probable ones.

        Yields:
            Index of the question, and one result for each of its targets.

        Raises:
            EvalkitError: Memory does not suffice for one question, or for the batch size that was asked for.
        """
        parts = [
            (index, places, Question(question.context, tuple(question.targets[place] for place in places)))
            for index, question in enumerate(questions)
            for places in self._parts(question)
        ]
        missing = [len(question.targets) for question in questions]
        results: list[list[Scored | None]] = [[None] * count for count in missing]
        lengths = [part.tree.length for _, _, part in parts]
        for number, scored in run_batches(
            lengths, self._budget, lambda batch: self._batch([parts[number][2] for number in batch], is_ranked)
        ):
            index, places, _ = parts[number]
            for place, result in zip(places, scored, strict=True):
                results[index][place] = result
            missing[index] -= len(places)
            if not missing[index]:
                yield index, [result for result in results[index] if result is not None]
                results[index] = []

    def _parts(self, question: Question) -> Iterator[list[int]]:
        """Share out targets over forward passes: attention in one takes room by the square of its tokens."""
        most = max(_TREE_TOKENS, 2 * len(question.context)) if self._stack.shares_context else 0
        part: list[int] = []
        length = len(question.context)
        for place, target in enumerate(question.targets):
            length += len(target) - 1
            if part and length > most:
                yield part
                part, length = [], len(question.context) + len(target) - 1
            part.append(place)
        yield part

    @torch.inference_mode()
    def _batch(self, questions: Sequence[Question], is_ranked: bool) -> list[list[Scored]]:
        """Score questions in one forward pass."""
        trees = [question.tree for question in questions]
        # The last context token predicts the first token of all targets, and each branch token the one after it.
        wanted = [range(len(tree.trunk) - 1, tree.length) for tree in trees]
        hidden = self._stack.read(pack(trees, wanted, self._stack.device))
        targets = [target for question in questions for target in question.targets]
        sizes = np.array([len(target) for target in targets])
        tokens = np.fromiter(chain.from_iterable(targets), np.int64, int(sizes.sum()))
        logprobs, is_best = self._token_logprobs(hidden, _rows(trees), tokens, is_ranked)
        starts = sizes.cumsum() - sizes
        sums = np.add.reduceat(logprobs, starts).tolist()
        are_best = np.logical_and.reduceat(is_best, starts).tolist()
        scored = iter(map(Scored, sums, are_best))
        return [list(islice(scored, len(question.targets))) for question in questions]

    def _token_logprobs(
        self, hidden: Tensor, rows: IntArray, targets: IntArray, is_ranked: bool
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Look up the log-probability of each target at its row of hidden states `(M, D)`, and whether it is the best.

        Logits exist for some rows at a time only: all of them would take V / D times the room of the hidden states.
        """
        order = rows.argsort(kind="stable")
        chunk, block = self._sizes(hidden.device)
        bounds = [*range(0, len(hidden), block), len(hidden)]
        cuts = np.searchsorted(rows[order], bounds).tolist()
        at, token = (torch.from_numpy(column[order]).to(hidden.device) for column in (rows, targets))
        found, best = [], []
        logits, first_row = hidden.new_zeros(0), 0
        for (low, high), (first, last) in zip(pairwise(bounds), pairwise(cuts), strict=True):
            if low % chunk == 0:
                logits, first_row = self._stack.logits(hidden[low : low + chunk]), low
            some = logits[low - first_row : high - first_row]
            at_rows, tokens = at[first:last] - low, token[first:last]
            found.append(some.log_softmax(-1)[at_rows, tokens])
            best.append(most_probable(some)[at_rows] == tokens if is_ranked else torch.zeros_like(tokens))
        logprobs, is_best = np.empty(len(rows)), np.empty(len(rows), dtype=np.bool_)
        logprobs[order] = torch.cat(found).double().cpu().numpy()
        is_best[order] = torch.cat(best).bool().cpu().numpy()
        return logprobs, is_best

    def _sizes(self, device: torch.device) -> tuple[int, int]:
        """Rows whose logits are computed together, and how many of them go through the softmax together."""
        vocabulary = self._stack.vocab_size
        if device.type != "cpu":
            rows = max(1, _ACCELERATOR_LOGITS // vocabulary)
            return rows, rows
        block = max(1, _BLOCK_LOGITS // vocabulary)
        return max(1, max(_LEAST_ROWS, _CHUNK_LOGITS // vocabulary) // block) * block, block


def _rows(trees: Sequence[Tree]) -> IntArray:
    """Say which wanted token of all trees predicts each target token: for each branch the root, then the branch's own."""
    firsts: list[int] = []
    sizes: list[int] = []
    root = 0
    for tree in trees:
        next_row = root + 1
        for branch in tree.branches:
            firsts += (root, next_row)
            sizes += (1, len(branch))
            next_row += len(branch)
        root = next_row
    return joined_ranges(firsts, sizes)
