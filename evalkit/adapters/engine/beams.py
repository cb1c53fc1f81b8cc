"""Beam search: the most probable continuations of a prompt side by side, each in its own row of the batch.

Letters in shapes: g prompts, K beams, V vocabulary.

References:
    Wu et al. (2016), "Google's Neural Machine Translation System", section 7: the length penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from evalkit.adapters.engine.choosing import Prompt, Running, penalised, seen_tokens, text_end
from evalkit.adapters.engine.stops import Generated, TextEnd, TextTokenizer
from evalkit.requests import Decoding

_IMPOSSIBLE = float("-inf")


@dataclass(slots=True)
class Hypothesis:
    """A continuation that came to its end."""

    score: float
    """Log-probability in nats, divided by the length penalty."""
    answer: Generated


@dataclass(slots=True)
class Beams:
    """A prompt that is continued in several rows."""

    index: int
    prompt: Prompt
    answer: Generated | None
    tokens: list[list[int]]
    """New tokens of each beam."""
    scores: list[float]
    """Log-probability of each beam in nats, best first."""
    finished: list[Hypothesis] = field(default_factory=list)
    """The best complete continuations, best first, at most one a beam."""
    seen: Tensor | None = None
    """Booleans `(K, V)`: the tokens of prompt and beam, where the repetition penalty needs them."""


def length_penalty(length: int, alpha: float) -> float:
    """Compute what a log-probability is divided by (Wu et al., 2016, equation 14).

    Args:
        length: New tokens, the end token included.
        alpha: 0 for no penalty.
    """
    return float(((5 + length) / 6) ** alpha)


class BeamChooser:
    """Keeps the best continuations of each prompt.

    The K best of all continuations by one token go on. One that ends, by end token, stop string or limit, is complete if
    it is among the K best of its step; the search ends when no running one can still become better than the K complete
    ones.

    Args:
        decoding: How many beams, and the length penalty.
        tokenizer: Turns tokens into text, and knows the end token.
    """

    def __init__(self, decoding: Decoding, tokenizer: TextTokenizer) -> None:
        self.rows = decoding.beams
        self._alpha, self._penalty = decoding.length_penalty, decoding.repetition_penalty
        self._tokenizer = tokenizer
        self._ends: dict[tuple[str, ...], TextEnd] = {}

    def begin(self, index: int, prompt: Prompt) -> Beams:
        """Take a prompt."""
        # All beams begin as the same: only one of them may be continued.
        scores = [0.0] + [_IMPOSSIBLE] * (self.rows - 1)
        return Beams(index, prompt, None, [[] for _ in range(self.rows)], scores)

    def choose(self, running: Sequence[Running], logits: Tensor) -> tuple[list[int], list[int]]:
        """Continue every beam by one token; see `Chooser.choose`."""
        groups = [one for one in running if isinstance(one, Beams)]
        size = logits.shape[-1]
        logprobs = logits.log_softmax(-1)
        if self._penalty != 1.0:
            logprobs = penalised(logprobs, self._seen(groups, logits), self._penalty)
        held = torch.tensor([one.scores for one in groups], dtype=logprobs.dtype, device=logprobs.device)
        totals = (logprobs.view(len(groups), self.rows, size) + held[:, :, None]).flatten(1)  # (g, K * V)
        # At most one of a beam's continuations is the end token: twice as many as beams leave enough that go on.
        best, places = totals.topk(min(2 * self.rows, totals.shape[1]), dim=-1)
        tokens: list[int] = []
        parents: list[int] = []
        for group, one in enumerate(groups):
            found = [(score, *divmod(place, size)) for score, place in zip(*_lists(best, places, group), strict=True)]
            for parent, token in self._advance(one, found):
                tokens.append(token)
                parents.append(group * self.rows + parent)
        return tokens, parents

    def _advance(self, one: Beams, found: list[tuple[float, int, int]]) -> list[tuple[int, int]]:
        """Sort a prompt's best continuations, given as score, beam and token, into those that end and that go on.

        Returns:
            Beam and token of each that goes on, K of them.
        """
        kept: list[tuple[float, int, int]] = []
        for rank, (score, parent, token) in enumerate(found):
            answer = self._ended([*one.tokens[parent], token], one.prompt) if score > _IMPOSSIBLE else None
            if answer is None:
                kept.append((score, parent, token))
            elif rank < self.rows:
                length = len(one.tokens[parent]) + 1
                one.finished.append(Hypothesis(score / length_penalty(length, self._alpha), answer))
        kept = (kept + [(_IMPOSSIBLE, 0, 0)] * self.rows)[: self.rows]
        one.tokens = [[*one.tokens[parent], token] for _, parent, token in kept]
        one.scores = [score for score, _, _ in kept]
        if one.seen is not None:
            one.seen = one.seen[[parent for _, parent, _ in kept]]
            one.seen[range(self.rows), [token for _, _, token in kept]] = True
        one.finished = sorted(one.finished, key=lambda hypothesis: -hypothesis.score)[: self.rows]
        if self._is_over(one):
            one.answer = one.finished[0].answer
        return [(parent, token) for _, parent, token in kept]

    def _ended(self, tokens: list[int], prompt: Prompt) -> Generated | None:
        """Read a continuation that has come to its end."""
        if tokens[-1] == self._tokenizer.eos_id:
            return Generated(self._tokenizer.decode(tokens[:-1]), len(tokens) - 1, is_complete=True)
        if prompt.stop:
            text = text_end(self._ends, self._tokenizer, prompt.stop).cut(tokens)
            if text is not None:
                return Generated(text, len(tokens), is_complete=True)
        if len(tokens) == prompt.limit:
            return Generated(self._tokenizer.decode(tokens), len(tokens), is_complete=False)
        return None

    def _is_over(self, one: Beams) -> bool:
        """Tell whether no running beam can still become better than the complete ones."""
        if one.scores[0] == _IMPOSSIBLE:
            return True
        if len(one.finished) < self.rows:
            return False
        # A log-probability only falls; the penalty that helps most is that of the longest or of the next length.
        lengths = (len(one.tokens[0]) + 1, one.prompt.limit)
        hope = max(one.scores[0] / length_penalty(length, self._alpha) for length in lengths)
        return one.finished[-1].score >= hope

    def _seen(self, groups: Sequence[Beams], logits: Tensor) -> Tensor:
        for one in groups:
            if one.seen is None:
                one.seen = seen_tokens(one.prompt.ids, logits).repeat(self.rows, 1)
        return torch.cat([one.seen for one in groups if one.seen is not None])


def _lists(best: Tensor, places: Tensor, group: int) -> tuple[list[float], list[int]]:
    return best[group].tolist(), places[group].tolist()
