"""BLEU as sacrebleu computes it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.metrics.base import Metric, Statistics, check_texts
from evalkit.metrics.sacrebleu_scorers import TOKENIZERS, default_tokenizer, load_bleu, sign, tokenizer_of

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray
    from evalkit.metrics.ngram_counts import IntArray
    from evalkit.metrics.token_numbers import TokenNumbers

_SMOOTHING: dict[str, float | None] = {"exp": None, "floor": 0.1, "add-k": 1, "none": None}
_WORD_TOKENIZERS = frozenset({"13a", "intl", "none"})
_BLOCK_CHARACTERS = 1 << 18
_LOG_OF_ZERO = -9999999999.0


@dataclass(frozen=True, kw_only=True)
class Bleu(Metric[str, str]):
    """BLEU with sacrebleu's tokenizers, smoothing and signature.

    References:
        Papineni et al. (2002), "BLEU: a method for automatic evaluation of machine translation".
        Post (2018), "A call for clarity in reporting BLEU scores".
    """

    name: ClassVar[str] = "bleu"
    kinds: ClassVar[tuple[str, ...]] = ("mt", "summarization")
    range: ClassVar[tuple[float, float | None]] = (0.0, 100.0)
    scale: ClassVar[float] = 100.0
    reference: ClassVar[str] = "sacrebleu 2.6.0, metrics.BLEU"

    tokenize: str | None = None
    """sacrebleu tokenizer; None takes the one of the language."""
    language: str | None = None
    """Target language, a code of ISO 639: zh, ja and ko have tokenizers of their own, all others take 13a."""
    lowercase: bool = False
    smooth_method: str = "exp"
    """What stands in for a precision of zero: ``exp``, ``floor``, ``add-k`` or ``none``."""
    smooth_value: float | None = None
    """Value of ``floor`` (default 0.1) or of ``add-k`` (default 1)."""
    max_ngram_order: int = 4
    effective_order: bool = False
    """Whether orders for which the prediction has no n-gram are left out, as sentence scores need."""

    def __post_init__(self) -> None:
        """Refuse settings that sacrebleu does not know or would score without sense."""
        if self.tokenize is not None and self.tokenize not in TOKENIZERS:
            raise UnknownNameError("tokenizer", str(self.tokenize), TOKENIZERS)
        default_tokenizer(self.language)
        if self.smooth_method not in _SMOOTHING:
            raise UnknownNameError("smooth_method", str(self.smooth_method), _SMOOTHING)
        if self.smooth_value is not None:
            if _SMOOTHING[self.smooth_method] is None:
                raise InvalidInputError(
                    f"smooth_value {self.smooth_value!r} has no effect with smooth_method {self.smooth_method!r};"
                    " leave it out, or smooth by 'floor' or 'add-k'"
                )
            if not 0 <= self.smooth_value < math.inf:
                raise InvalidInputError(f"smooth_value {self.smooth_value!r}: expected a number that is not negative")
        if not isinstance(self.max_ngram_order, int) or self.max_ngram_order < 1:
            raise InvalidInputError(f"max_ngram_order {self.max_ngram_order!r}: expected an integer of 1 or more")

    @property
    def headline(self) -> tuple[str, ...]:
        """BLEU alone."""
        return ("bleu",)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the statistics: lengths, then matches and totals of each order."""
        orders = range(1, self.max_ngram_order + 1)
        return (
            "sys_len",
            "ref_len",
            *(f"correct_{order}" for order in orders),
            *(f"total_{order}" for order in orders),
        )

    def statistics(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        """Count clipped matches and n-grams of each order, and the lengths, of each example.

        A prediction's n-gram counts at most as often as in the reference that has it most often. The reference length is
        the one closest to the prediction's, the shorter of two that are equally close.
        """
        import numpy as np

        from evalkit.metrics.ngram_counts import text_blocks
        from evalkit.metrics.token_numbers import TokenNumbers, units_of

        check_texts(predictions, references)
        numbers = TokenNumbers(units_of(self.tokenizer, tokenizer_of(self._scorer())))
        blocks = text_blocks(predictions, references, _BLOCK_CHARACTERS)
        return Statistics(self.columns, np.concatenate([self._block(*block, numbers) for block in blocks]))

    def _block(self, texts: Sequence[str], reference_counts: IntArray, numbers: TokenNumbers) -> FloatArray:
        """Compute the rows of one block of examples."""
        import numpy as np

        from evalkit.metrics.ngram_counts import TextBlock, clipped_matches, closest_lengths, ngram_totals

        if self.lowercase:
            texts = [text.lower() for text in texts]
        block = TextBlock(*numbers([text.rstrip() for text in texts]), reference_counts)
        sys_len = block.lengths[block.predictions]
        return np.column_stack(
            (
                sys_len,
                closest_lengths(block),
                clipped_matches(block, self.max_ngram_order),
                ngram_totals(sys_len, self.max_ngram_order),
            )
        ).astype(np.float64)

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Turn sums into BLEU."""
        return {"bleu": self.parts(sums, columns)["score"]}

    def parts(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Compute the score with its brevity penalty and precisions, from sums of shape (..., k).

        As sacrebleu: without any match all is 0 whatever the smoothing, and orders from the first without n-grams on count
        as a precision of 0, unless the order is effective.
        """
        import numpy as np

        orders = self.max_ngram_order
        sums = sums[..., [columns.index(name) for name in self.columns]]
        sys_len, ref_len = sums[..., 0], sums[..., 1]
        correct, total = sums[..., 2 : 2 + orders], sums[..., 2 + orders :]
        is_scored = (correct > 0).any(axis=-1)
        is_open = is_scored
        halvings = np.zeros(sys_len.shape)
        log_sum, effective = np.zeros(sys_len.shape), np.zeros(sys_len.shape)
        precisions = np.zeros(correct.shape)
        for index in range(orders):
            added = self._smooth_value if self.smooth_method == "add-k" and index > 0 else 0
            matches, ngrams = correct[..., index] + added, total[..., index] + added
            is_open = is_open & (ngrams != 0)
            is_zero = is_open & (matches == 0)
            halvings += is_zero
            precision = self._precision(matches, ngrams, is_zero, halvings)
            precisions[..., index] = np.where(is_open, precision, 0.0)
            if self.effective_order:
                log_sum += np.where(is_open, _log(precisions[..., index]), 0.0)
                effective += is_open
            else:
                log_sum += _log(precisions[..., index])
                effective += 1
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = _exp(np.where(is_scored, log_sum / effective, -np.inf))
            shortfall = np.where(sys_len > 0, 1 - ref_len / sys_len, -np.inf)
        penalty = np.where(sys_len < ref_len, _exp(np.minimum(shortfall, 0.0)), 1.0)
        return {"score": penalty * mean, "bp": penalty, "precisions": precisions}

    @property
    def _smooth_value(self) -> float:
        default = _SMOOTHING[self.smooth_method] or 0.0
        return default if self.smooth_value is None else self.smooth_value

    def _precision(
        self, matches: FloatArray, ngrams: FloatArray, is_zero: FloatArray, halvings: FloatArray
    ) -> FloatArray:
        """Compute one order's precision in percent, smoothed where there is no match."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            plain = 100.0 * matches / ngrams
            if self.smooth_method == "exp":
                return np.where(is_zero, 100.0 / (2.0**halvings * ngrams), plain)
            if self.smooth_method == "floor":
                return np.where(is_zero, 100.0 * self._smooth_value / ngrams, plain)
        return plain

    def sentence_scores(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> FloatArray:
        """Score each example alone, with effective order as sacrebleu's sentence BLEU; shape (n,)."""
        metric = dataclasses.replace(self, effective_order=True)
        statistics = metric.statistics(predictions, references)
        return metric.score(statistics.rows, statistics.columns)["bleu"]

    @property
    def tokenizer(self) -> str:
        """Name of the tokenizer in use."""
        return self.tokenize if self.tokenize is not None else default_tokenizer(self.language)

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Give sacrebleu's signature, with the settings added that it leaves out where they are not the defaults."""
        added: dict[str, object] = {}
        if self.max_ngram_order != 4:
            added["order"] = self.max_ngram_order
        if self.smooth_value is not None and round(self.smooth_value, 2) != self.smooth_value:
            added["smooth_value"] = self.smooth_value
        return sign(self._scorer(), references, added)

    def warnings(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """Say that the tokenizer leaves Chinese or Japanese sentences whole, where it does."""
        from evalkit.metrics.letters import is_unsegmented

        if self.tokenizer not in _WORD_TOKENIZERS:
            return ()
        if not is_unsegmented(predictions, references):
            return ()
        return (
            f"bleu: the texts are mostly Chinese or Japanese without spaces, and tokenizer {self.tokenizer!r} leaves whole"
            " clauses as one word; set language = 'zh' or 'ja', or tokenize = 'zh', 'ja-mecab' or 'char'",
        )

    def _scorer(self) -> Any:  # noqa: ANN401 - sacrebleu has no types
        return load_bleu(
            lowercase=self.lowercase,
            tokenize=self.tokenizer,
            smooth_method=self.smooth_method,
            smooth_value=self.smooth_value,
            max_ngram_order=self.max_ngram_order,
            effective_order=self.effective_order,
        )

    def report(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """Give what sacrebleu prints: score, precisions, counts, totals, lengths, brevity penalty and its signature.

        As there, add-k smoothing is part of the counts and totals of the orders from 2 on if anything matches at all.
        """
        statistics = statistics or self.statistics(predictions, references)
        sums = statistics.total()[[statistics.columns.index(name) for name in self.columns]]
        parts = self.parts(sums, self.columns)
        counts: list[float] = [int(count) for count in sums[2 : 2 + self.max_ngram_order]]
        totals: list[float] = [int(count) for count in sums[2 + self.max_ngram_order :]]
        if self.smooth_method == "add-k" and any(counts):
            counts[1:] = [count + self._smooth_value for count in counts[1:]]
            totals[1:] = [count + self._smooth_value for count in totals[1:]]
        return {
            "score": float(parts["score"]),
            "precisions": parts["precisions"].tolist(),
            "counts": counts,
            "totals": totals,
            "bp": float(parts["bp"]),
            "sys_len": int(sums[0]),
            "ref_len": int(sums[1]),
            "signature": sign(self._scorer(), references),
        }


def _log(values: FloatArray) -> FloatArray:
    """Take logarithms as sacrebleu does: by the C library's function, bit for bit, and a large negative number at 0."""
    import numpy as np

    logarithms = np.frompyfunc(math.log, 1, 1)(np.where(values > 0, values, 1.0))
    return np.where(values > 0, np.asarray(logarithms, dtype=np.float64), _LOG_OF_ZERO)


def _exp(values: FloatArray) -> FloatArray:
    """Take exponentials by the C library's function, bit for bit as sacrebleu does."""
    import numpy as np

    return np.asarray(np.frompyfunc(math.exp, 1, 1)(values), dtype=np.float64)
