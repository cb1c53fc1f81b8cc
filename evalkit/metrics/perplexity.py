"""Perplexity of a language model, per token, word and byte, and its bits per byte and per character."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from evalkit.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from evalkit.languages import UNSPACED, language_code
from evalkit.metrics.base import Metric, Ratio, Statistics, check_corpus, weights

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray
    from evalkit.requests import RollingResponse

LogProbabilities: TypeAlias = "Sequence[float] | RollingResponse"
"""Natural-log probabilities of a text's scored tokens, or their sum and number."""

_COLUMNS = ("nll_nats", "tokens", "words", "characters", "bytes", "sequence_perplexity", "sequences")
_HEADLINE = ("token_perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")
_HEADLINE_UNSPACED = ("token_perplexity", "byte_perplexity", "bits_per_byte", "bits_per_char")
_VALUES = (*_HEADLINE, "bits_per_char", "mean_sequence_perplexity")
_WHITESPACE = re.compile(r"\s+")


@dataclass(frozen=True, kw_only=True)
class Perplexity(Metric[LogProbabilities, str]):
    """Perplexity and bits from summed log-probabilities over summed units; the text is each example's one reference.

    Words are counted as lm-evaluation-harness does: the pieces between runs of whitespace, empty ones at the ends
    included. Bytes are those of UTF-8. A perplexity that no float can hold, as that of a long text with a single word,
    is NaN.

    References:
        Gao et al., lm-evaluation-harness, ``weighted_perplexity`` and ``bits_per_byte``.
    """

    name = "perplexity"
    kinds = ("lm",)
    higher_is_better = False
    range = (0.0, None)
    reference = "lm-evaluation-harness 4e7e0d4"

    main: str = "bits_per_byte"
    """Which of the values tables and gates show first; changes no value."""
    language: str | None = None
    """Language of the texts, if known: tables show no word perplexity of those without spaces; changes no value."""

    def __post_init__(self) -> None:
        if self.main not in _VALUES:
            raise UnknownNameError("perplexity value", self.main, _VALUES)
        if self.language is not None:
            language_code(self.language)

    @property
    def headline(self) -> tuple[str, ...]:
        """The main value, then perplexities and bits, by words only where spaces separate them."""
        is_unspaced = self.language is not None and language_code(self.language) in UNSPACED
        shown = _HEADLINE_UNSPACED if is_unspaced else _HEADLINE
        return (self.main, *(name for name in shown if name != self.main))

    def statistics(self, predictions: Sequence[LogProbabilities], references: Sequence[Sequence[str]]) -> Statistics:
        """Sum the log-probabilities and count the units of each text.

        Raises:
            InvalidInputError: Lengths differ, the corpus is empty, a text has not exactly one reference or no scored
                token, or a log-probability is positive, not finite, or one of a masked model.
            InvalidTypeError: A reference is not a string, or a prediction is not numbers.
        """
        import numpy as np

        texts = check_scored_texts(predictions, references)
        if any(getattr(prediction, "is_pseudo", False) for prediction in predictions):
            raise InvalidInputError(
                "perplexity is not defined by pseudo-log-likelihoods; use the metric pseudo_perplexity"
            )
        rows = []
        for index, text in enumerate(texts):
            nll_nats, tokens = negative_log_likelihood(predictions[index], index)
            words = len(_WHITESPACE.split(text))
            rows.append(
                (nll_nats, tokens, words, len(text), len(text.encode()), _own_perplexity(nll_nats, tokens, index), 1)
            )
        return Statistics(_COLUMNS, np.array(rows, dtype=np.float64))

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """The values that are ratios; the perplexities are exponentials of ratios."""
        bits = 1 / math.log(2)
        return {
            "bits_per_byte": Ratio({"nll_nats": 1}, {"bytes": 1}, bits),
            "bits_per_char": Ratio({"nll_nats": 1}, {"characters": 1}, bits),
            "mean_sequence_perplexity": Ratio({"sequence_perplexity": 1}, {"sequences": 1}),
        }

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Turn sums into all values, the headline's first; NaN where there is no unit or no float holds the value."""
        found = {
            f"{unit}_perplexity": exponential(sums, columns, f"{unit}s") for unit in ("token", "word", "byte")
        } | super().score(sums, columns)
        return {name: found[name] for name in dict.fromkeys((*self.headline, *_VALUES))}

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name how words, characters and bytes are counted."""
        return "metric:perplexity|words:lm-eval|chars:code-points|bytes:utf-8"

    def report(
        self,
        predictions: Sequence[LogProbabilities],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """The values, with the summed log-probability and the counts that they come from."""
        statistics = statistics or self.statistics(predictions, references)
        totals = dict(zip(statistics.columns, statistics.total().tolist(), strict=True))
        return {
            "sum_logprob": -totals["nll_nats"],
            "tokens": int(totals["tokens"]),
            "words": int(totals["words"]),
            "bytes": int(totals["bytes"]),
            "chars": int(totals["characters"]),
            **super().report(predictions, references, statistics),
        }


def check_scored_texts(predictions: Sequence[object], references: Sequence[Sequence[str]]) -> list[str]:
    """Take the one text of each example.

    Raises:
        InvalidInputError: Lengths differ, the corpus is empty, or a text has not exactly one reference.
        InvalidTypeError: A reference is not a string.
    """
    check_corpus(predictions, references)
    for index, several in enumerate(references):
        if len(several) != 1:
            raise InvalidInputError(f"example {index} has {len(several)} references; expected one, the scored text")
        if not isinstance(several[0], str):
            raise InvalidTypeError(f"example {index}: reference {several[0]!r:.40} is not a string")
    return [several[0] for several in references]


def negative_log_likelihood(prediction: LogProbabilities, index: int) -> tuple[float, int]:
    """Sum a text's log-probabilities and count them.

    Args:
        prediction: What the model gave.
        index: Number of the example, for messages.

    Returns:
        Negative log-likelihood in nats, and number of scored tokens.

    Raises:
        InvalidInputError: There is no scored token, or a log-probability is positive or not finite.
        InvalidTypeError: The prediction is not numbers.
    """
    from evalkit.requests import RollingResponse

    if isinstance(prediction, RollingResponse):
        logprobs, tokens = [prediction.logprob_nats], prediction.token_count
    else:
        try:
            logprobs = [float(logprob) for logprob in prediction]
        except (TypeError, ValueError) as error:
            raise InvalidTypeError(
                f"prediction {index} is {prediction!r:.40}; expected log-probabilities or a RollingResponse"
            ) from error
        tokens = len(logprobs)
    if tokens < 1:
        raise InvalidInputError(f"example {index} has no scored token; expected at least one")
    for logprob in logprobs:
        if not -math.inf < logprob <= 0:
            raise InvalidInputError(
                f"example {index}: log-probability {logprob!r}; expected a finite number of nats, 0 or below"
            )
    # 0.0 - x, since the negative of a sum of zeros would print as -0.0.
    return 0.0 - math.fsum(logprobs), tokens


def exponential(sums: FloatArray, columns: Sequence[str], unit: str) -> FloatArray:
    """Compute exp(nll / units) on sums of shape (..., k); NaN where there is no unit or no float holds the value."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = np.exp((sums @ weights({"nll_nats": 1}, columns)) / (sums @ weights({unit: 1}, columns)))
    result: FloatArray = np.where(np.isfinite(values), values, np.nan)
    return result


def _own_perplexity(nll_nats: float, tokens: int, index: int) -> float:
    try:
        return math.exp(nll_nats / tokens)
    except OverflowError as error:
        raise InvalidInputError(
            f"example {index}: {nll_nats / tokens:.0f} nats a token give a perplexity that no float can hold;"
            " expected log-probabilities in nats of a model that knows these tokens"
        ) from error
