"""Pseudo-log-likelihood: every token of a text is hidden once and guessed from the others.

Letters in shapes: G texts of a batch, D model width, V vocabulary.

References:
    Salazar et al. (2020), "Masked Language Model Scoring", section 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import torch

from evalkit.adapters.encoder.fitting import overlapping_windows, share_out
from evalkit.adapters.encoder.passages import MaskedTokenizer, Passage, read_each
from evalkit.adapters.encoder.stack import BertStack
from evalkit.adapters.engine.batching import Budget
from evalkit.errors import InvalidInputError
from evalkit.requests import RollingRequest, RollingResponse
from evalkit_models.bert_heads import BertForMaskedLm

_CHUNK_LOGITS = 1 << 22
_GAPS_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True)
class Gap:
    """A text with one token to be hidden; it is hidden only when it is read, so that a text's gaps share its tokens."""

    ids: tuple[int, ...]
    """All tokens, special ones included."""
    place: int
    """Which one is hidden."""

    @property
    def length(self) -> int:
        """Number of tokens."""
        return len(self.ids)


class GapScorer:
    """Answers rolling requests; texts longer than the model go through overlapping windows.

    Args:
        model: Guesses hidden tokens.
        tokenizer: The model's.
        budget: How much is read at once.

    Raises:
        InvalidInputError: The tokenizer has no mask token.
    """

    kind: ClassVar[str] = RollingRequest.kind

    def __init__(self, model: BertForMaskedLm, tokenizer: MaskedTokenizer, budget: Budget) -> None:
        if tokenizer.mask_id is None:
            raise InvalidInputError("the tokenizer has no mask token; a masked language model hides tokens by it")
        self._model, self._mask_id = model, tokenizer.mask_id
        self.stack = BertStack(model.bert)
        self._tokenizer, self._budget = tokenizer, budget

    def answer(self, requests: Sequence[RollingRequest]) -> Iterator[RollingResponse]:
        """Sum the log-probabilities of the tokens of every request, in order; special tokens are not counted."""
        texts = self._tokenizer.ids_of_each([request.text for request in requests])

        def respond() -> Iterator[RollingResponse]:
            named = zip(requests, texts, strict=True)
            for portion in _portions(texts):
                gaps = [gap for ids in portion for gap in self._gaps(ids)]
                stream = read_each(gaps, self._budget, self._read)
                for request, ids in islice(named, len(portion)):
                    yield RollingResponse(
                        example_id=request.example_id,
                        logprob_nats=math.fsum(islice(stream, len(ids))),
                        token_count=len(ids),
                        is_pseudo=True,
                    )

        return respond()

    def _gaps(self, ids: Sequence[int]) -> Iterator[Gap]:
        frame = self._tokenizer.frame
        room = self.stack.max_length - len(frame.single(()))
        windows = overlapping_windows(len(ids), room, max(1, room // 2))
        for window, share in zip(windows, share_out(range(len(ids)), windows), strict=True):
            shown = tuple(frame.single(ids[window.start : window.stop]))
            for place in share:
                yield Gap(shown, len(frame.before) + place - window.start)

    @torch.inference_mode()
    def _read(self, gaps: list[Gap]) -> list[float]:
        hidden = self.stack.read([self._hide(gap) for gap in gaps])  # (G, D)
        tokens = torch.tensor([gap.ids[gap.place] for gap in gaps], device=hidden.device)
        size = max(1, _CHUNK_LOGITS // self._model.config.vocab_size)
        logprobs: list[float] = []
        for some, token in zip(torch.split(hidden, size), torch.split(tokens, size), strict=True):
            spread = self._model.head(some).float().log_softmax(-1)  # (G, V)
            logprobs += spread.gather(-1, token[:, None])[:, 0].tolist()
        return logprobs

    def _hide(self, gap: Gap) -> Passage:
        ids = (*gap.ids[: gap.place], self._mask_id, *gap.ids[gap.place + 1 :])
        return Passage(ids, (gap.place,))


def _portions(texts: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """Cut texts into runs, so that not all tokens of a corpus have a gap in memory; a long text stands alone."""
    portion: list[list[int]] = []
    count = 0
    for ids in texts:
        if portion and count + len(ids) > _GAPS_AT_ONCE:
            yield portion
            portion, count = [], 0
        portion.append(ids)
        count += len(ids)
    if portion:
        yield portion
