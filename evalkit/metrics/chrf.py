"""chrF and chrF++ as sacrebleu computes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.errors import InvalidInputError
from evalkit.metrics.base import Metric, Statistics, check_texts
from evalkit.metrics.sacrebleu_scorers import sign

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray
    from evalkit.metrics.ngram_counts import IntArray, TextBlock
    from evalkit.metrics.token_numbers import TokenNumbers

_BLOCK_CHARACTERS = 1 << 16
_EPSILON = 1e-16


@dataclass(frozen=True, kw_only=True)
class Chrf(Metric[str, str]):
    """Character n-gram F-score, optionally with word n-grams, as sacrebleu's chrF2.

    References:
        Popović (2015), "chrF: character n-gram F-score for automatic MT evaluation".
    """

    name: ClassVar[str] = "chrf"
    kinds: ClassVar[tuple[str, ...]] = ("mt", "summarization")
    range: ClassVar[tuple[float, float | None]] = (0.0, 100.0)
    scale: ClassVar[float] = 100.0
    reference: ClassVar[str] = "sacrebleu 2.6.0, metrics.CHRF"

    char_order: int = 6
    """Highest order of character n-grams."""
    word_order: int = 0
    """Highest order of word n-grams; 0 leaves words out."""
    beta: float = 2
    """How many times as important recall is as precision."""
    lowercase: bool = False
    whitespace: bool = False
    """Whether white space counts as characters."""
    eps_smoothing: bool = False
    """Whether F is averaged over all orders with a tiny value for those without n-grams, as in chrF++.py, Moses and NLTK."""

    def __post_init__(self) -> None:
        """Refuse orders and weights that have no meaning."""
        for name, least in (("char_order", 1), ("word_order", 0)):
            order = getattr(self, name)
            if not isinstance(order, int) or order < least:
                raise InvalidInputError(f"{name} {order!r}: expected an integer of {least} or more")
        if not 0 < self.beta < math.inf:
            raise InvalidInputError(f"beta {self.beta!r}: expected a number above 0")

    @property
    def headline(self) -> tuple[str, ...]:
        """The F-score alone."""
        return (self.name,)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the statistics: for each order the n-grams of prediction and reference and their matches."""
        orders = [f"char_{order}" for order in range(1, self.char_order + 1)]
        orders += [f"word_{order}" for order in range(1, self.word_order + 1)]
        return tuple(f"{order}_{count}" for order in orders for count in ("hyp", "ref", "match"))

    def statistics(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        """Count n-grams and matches of each order against the reference that scores best, the first of equals."""
        import numpy as np

        from evalkit.metrics.ngram_counts import text_blocks
        from evalkit.metrics.token_numbers import TokenNumbers, WordsAndMarks

        check_texts(predictions, references)
        words = TokenNumbers(WordsAndMarks())
        blocks = text_blocks(predictions, references, _BLOCK_CHARACTERS)
        return Statistics(self.columns, np.concatenate([self._block(*block, words) for block in blocks]))

    def _block(self, texts: Sequence[str], counts: IntArray, words: TokenNumbers) -> FloatArray:
        """Compute the rows of one block of examples."""
        import numpy as np

        from evalkit.metrics.ngram_counts import TextBlock
        from evalkit.metrics.token_numbers import characters

        if self.lowercase:
            texts = [text.lower() for text in texts]
        spelled = texts if self.whitespace else ["".join(text.split()) for text in texts]
        parts = [_counts(TextBlock(*characters(spelled), counts), self.char_order)]
        if self.word_order:
            parts.append(_counts(TextBlock(*words(texts), counts), self.word_order))
        rows = np.concatenate(parts, axis=1).astype(np.float64)
        rows = rows.reshape(len(rows), -1)
        if len(rows) == len(counts):
            return rows
        scores = self._f_score(rows)
        starts = np.cumsum(counts) - counts
        is_best = scores == np.repeat(np.maximum.reduceat(scores, starts), counts)
        places = np.where(is_best, np.arange(len(rows)), len(rows))
        return rows[np.minimum.reduceat(places, starts)]

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Turn sums into the F-score."""
        return {self.name: self._f_score(sums[..., [columns.index(name) for name in self.columns]])}

    def _f_score(self, sums: FloatArray) -> FloatArray:
        """Compute the score from sums of shape (..., 3 * orders), in sacrebleu's order of operations."""
        import numpy as np

        factor = self.beta**2
        precision_sum, recall_sum, orders, score = (np.zeros(sums.shape[:-1]) for _ in range(4))
        with np.errstate(divide="ignore", invalid="ignore"):
            for start in range(0, sums.shape[-1], 3):
                hyp, ref, match = sums[..., start], sums[..., start + 1], sums[..., start + 2]
                precision = np.where(hyp > 0, match / hyp, _EPSILON)
                recall = np.where(ref > 0, match / ref, _EPSILON)
                weighted = factor * precision + recall
                score += np.where(weighted > 0, (1 + factor) * precision * recall / weighted, _EPSILON)
                is_effective = (hyp > 0) & (ref > 0)
                precision_sum += np.where(is_effective, precision, 0.0)
                recall_sum += np.where(is_effective, recall, 0.0)
                orders += is_effective
            if self.eps_smoothing:
                return 100 * score / (self.char_order + self.word_order)
            precision, recall = precision_sum / orders, recall_sum / orders
            mean = (1 + factor) * precision * recall / (factor * precision + recall)
        return np.where(precision_sum + recall_sum > 0, 100 * mean, 0.0)

    def sentence_scores(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> FloatArray:
        """Score each example alone; shape (n,)."""
        return self._f_score(self.statistics(predictions, references).rows)

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Give sacrebleu's signature, with beta added where it is not 2: sacrebleu keeps it in the metric's name."""
        return sign(self._scorer(), references, {} if self.beta == 2 else {"beta": self.beta})

    def _scorer(self) -> Any:  # noqa: ANN401 - sacrebleu's scorers have no common type here
        from sacrebleu.metrics import CHRF

        return CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )

    def report(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """Give what sacrebleu prints: the score and its signature."""
        statistics = statistics or self.statistics(predictions, references)
        score = self.score(statistics.total(), statistics.columns)[self.name]
        return {"score": float(score), "signature": sign(self._scorer(), references)}


@dataclass(frozen=True, kw_only=True)
class ChrfPlusPlus(Chrf):
    """Character and word n-gram F-score, as sacrebleu's chrF2++.

    References:
        Popović (2017), "chrF++: words helping character n-grams".
    """

    name: ClassVar[str] = "chrf++"
    kinds: ClassVar[tuple[str, ...]] = ("mt", "summarization")

    word_order: int = 2
    """Highest order of word n-grams."""


def _counts(block: TextBlock, max_order: int) -> IntArray:
    """Count n-grams and matches of each reference; shape (references, max_order, 3).

    As in sacrebleu, the prediction's n-grams count only where the reference has n-grams of that order.
    """
    import numpy as np

    from evalkit.metrics.ngram_counts import ngram_totals, shared_ngrams

    predictions = block.predictions
    totals = ngram_totals(block.lengths, max_order)
    is_reference = np.ones(len(totals), dtype=np.bool_)
    is_reference[predictions] = False
    of_prediction = np.repeat(totals[predictions], block.reference_counts, axis=0)
    of_reference = totals[is_reference]
    matches = np.zeros((len(totals), max_order), dtype=np.int64)
    for index, shared in enumerate(shared_ngrams(block, max_order)):
        texts = predictions[shared.examples] + shared.references
        matches[:, index] = np.bincount(texts, weights=shared.counts, minlength=len(totals))
    return np.stack((np.where(of_reference > 0, of_prediction, 0), of_reference, matches[is_reference]), axis=-1)
