"""Pseudo-perplexity of a masked language model, per token and per word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from evalkit.languages import UNSPACED, language_code
from evalkit.metrics.base import Metric, Statistics
from evalkit.metrics.perplexity import check_scored_texts, exponential, negative_log_likelihood
from evalkit.requests import RollingResponse

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray

MaskedLogProbabilities: TypeAlias = Sequence[float | None] | RollingResponse
"""Natural-log probability of each token with only it masked, None for special tokens; or their sum and number."""

_COLUMNS = ("nll_nats", "tokens", "words")


@dataclass(frozen=True, kw_only=True)
class PseudoPerplexity(Metric[MaskedLogProbabilities, str]):
    """Pseudo-perplexity from summed pseudo-log-likelihoods; the text is each example's one reference.

    Special tokens are neither scored nor counted. Words are the pieces between single spaces. Not comparable with the
    perplexity of a causal model, since each token is predicted from both sides.

    References:
        Salazar et al. 2020, "Masked Language Model Scoring", section 2.3.
    """

    name = "pseudo_perplexity"
    kinds = ("lm",)
    higher_is_better = False
    range = (0.0, None)
    reference = "awslabs/mlm-scoring a8fd29f (formulas)"

    language: str | None = None
    """Language of the texts, if known: tables show no values by words where none are separated; changes no value."""

    def __post_init__(self) -> None:
        if self.language is not None:
            language_code(self.language)

    @property
    def headline(self) -> tuple[str, ...]:
        """Per token first; per word, where spaces separate them, models with different tokens can be compared."""
        is_unspaced = self.language is not None and language_code(self.language) in UNSPACED
        return ("token_pseudo_perplexity",) if is_unspaced else ("token_pseudo_perplexity", "word_pseudo_perplexity")

    def statistics(
        self, predictions: Sequence[MaskedLogProbabilities], references: Sequence[Sequence[str]]
    ) -> Statistics:
        """Sum the pseudo-log-likelihoods and count the tokens and words of each text.

        Raises:
            InvalidInputError: As for `Perplexity`.
            InvalidTypeError: As for `Perplexity`.
        """
        import numpy as np

        texts = check_scored_texts(predictions, references)
        rows = [
            (*negative_log_likelihood(without_special(predictions[index]), index), len(text.split(" ")))
            for index, text in enumerate(texts)
        ]
        return Statistics(_COLUMNS, np.array(rows, dtype=np.float64))

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Turn sums into the two values; NaN where no float holds a value."""
        return {f"{unit}_pseudo_perplexity": exponential(sums, columns, f"{unit}s") for unit in ("token", "word")}

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name how words are counted."""
        return "metric:pseudo_perplexity|mask:one-token|words:single-spaces"

    def report(
        self,
        predictions: Sequence[MaskedLogProbabilities],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """The values, with each text's pseudo-log-likelihood and the counts that they come from."""
        statistics = statistics or self.statistics(predictions, references)
        _, tokens, words = statistics.total().tolist()
        return {
            "pll": [-nll_nats for nll_nats in statistics.rows[:, 0].tolist()],
            "tokens": int(tokens),
            "words": int(words),
            **super().report(predictions, references, statistics),
        }


def without_special(prediction: MaskedLogProbabilities) -> Sequence[float] | RollingResponse:
    """Drop the entries of special tokens."""
    if isinstance(prediction, RollingResponse) or not isinstance(prediction, Iterable):
        return prediction
    return [logprob for logprob in prediction if logprob is not None]
