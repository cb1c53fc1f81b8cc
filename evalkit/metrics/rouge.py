"""ROUGE-N, ROUGE-L and ROUGE-Lsum with the values of rouge-score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from evalkit.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from evalkit.languages import NON_LATIN, language_code
from evalkit.metrics.base import Metric, Ratio, Statistics, check_texts

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray

ROUGE_TYPES: tuple[str, ...] = (*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum")
TOKENIZERS: tuple[str, ...] = ("default", "cjk_char")
_CJK_LANGUAGES = frozenset({"zh", "ja", "ko"})
_MOST = 0.5
_VERSION = "0.1.2"


@dataclass(frozen=True, kw_only=True)
class Rouge(Metric[str, str]):
    """Overlap of a summary with its references: n-grams, longest common subsequence, its union over sentences.

    Each type gives F1 under the type's name, and precision and recall beside it, as means over examples. Of several
    references an example keeps, for each type, the one with the highest F1.

    References:
        Lin, C.-Y. (2004). ROUGE: A package for automatic evaluation of summaries.
    """

    name = "rouge"
    kinds = ("mt", "summarization")
    reference = f"rouge-score {_VERSION}"

    rouge_types: tuple[str, ...] = ("rouge1", "rouge2", "rougeL", "rougeLsum")
    """What to compute, out of rouge1 ... rouge9, rougeL and rougeLsum; the first is the main value."""
    use_stemmer: bool = False
    """Whether words longer than three letters are reduced to their Porter stems."""
    split_summaries: bool = False
    """Whether rougeLsum takes its sentences from nltk's sentence model; else each line is a sentence."""
    tokenizer: str = "default"
    """``default`` keeps runs of a-z and 0-9 and drops all else; ``cjk_char`` keeps each Chinese, Japanese or Korean
    character as well."""
    language: str | None = None
    """Language of the texts, if known: languages whose letters the tokenizer would throw away are refused."""

    def __post_init__(self) -> None:
        if isinstance(self.rouge_types, str):
            raise InvalidTypeError(f"rouge_types is the string {self.rouge_types!r}; expected a tuple of types")
        object.__setattr__(self, "rouge_types", tuple(self.rouge_types))
        if not self.rouge_types:
            raise InvalidInputError(f"rouge_types is empty; expected some of {', '.join(ROUGE_TYPES)}")
        for rouge_type in self.rouge_types:
            if rouge_type not in ROUGE_TYPES:
                raise UnknownNameError("rouge type", str(rouge_type), ROUGE_TYPES)
        if len(set(self.rouge_types)) < len(self.rouge_types):
            raise InvalidInputError(f"rouge_types names a type twice: {', '.join(self.rouge_types)}")
        if self.tokenizer not in TOKENIZERS:
            raise UnknownNameError("ROUGE tokenizer", str(self.tokenizer), TOKENIZERS)
        self._check_language()

    def _check_language(self) -> None:
        code = None if self.language is None else language_code(self.language)
        if code in _CJK_LANGUAGES and self.tokenizer == "default":
            raise InvalidInputError(
                f"the default ROUGE tokenizer drops all text of language {self.language!r} but Latin letters and digits;"
                " use tokenizer='cjk_char'"
            )
        if code in NON_LATIN - _CJK_LANGUAGES:
            raise InvalidInputError(
                f"the ROUGE tokenizer {self.tokenizer!r} drops the letters of language {self.language!r};"
                " use a metric that reads them, such as chrf"
            )

    @property
    def headline(self) -> tuple[str, ...]:
        """The F1 of each type."""
        return self.rouge_types

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*chain.from_iterable(_measures(rouge_type) for rouge_type in self.rouge_types), "n")

    def statistics(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        """Compute precision, recall and F1 of each type against the best reference, and 1 to count the example.

        Raises:
            InvalidInputError: Lengths differ, the corpus is empty, or an example has no reference.
            InvalidTypeError: A prediction or reference is not a string.
            MissingResourceError: `split_summaries` without nltk's sentence model.
        """
        import numpy as np

        scores = self._scores(predictions, references)
        rows = np.concatenate([scores.reshape(len(scores), -1), np.ones((len(scores), 1))], axis=1)
        return Statistics(self._columns, rows)

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Means over examples: F1 of all types first, then precision and recall of each."""
        names = [*self.rouge_types, *chain.from_iterable(_measures(name)[:2] for name in self.rouge_types)]
        return {name: Ratio({name: 1.0}, {"n": 1.0}) for name in names}

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name stemming, tokenizer, sentence splitting, the rule for several references, and rouge-score's version.

        The types are left out: a type's value does not depend on which others are computed.
        """
        stem = "porter" if self.use_stemmer else "no"
        split = "punkt" if self.split_summaries else "newline"
        return (
            f"metric:rouge|stem:{stem}|tok:{self.tokenizer}|lsum:{split}|multi:best-f1|agg:mean|rouge-score:{_VERSION}"
        )

    def warnings(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """Say that the tokenizer drops most letters, and how many texts it drops entirely; empty when neither is so."""
        from evalkit.metrics.letters import both_sides, lost_letters
        from evalkit.metrics.rouge_tokens import has_token

        def unread(texts: Iterable[str]) -> int:
            return sum(1 for text in texts if text.strip() and not has_token(text, self.tokenizer))

        share = lost_letters(both_sides(predictions, references), lambda letter: has_token(letter, self.tokenizer))
        lost = unread(predictions), unread(chain.from_iterable(references))
        found = []
        if share > _MOST:
            found.append(
                f"the tokenizer {self.tokenizer!r} drops {share:.0%} of the letters of predictions and references, so the"
                " values say little about these texts"
            )
        if any(lost):
            count = sum(map(len, references))
            found.append(
                f"{lost[0]} of {len(predictions)} predictions and {lost[1]} of {count} references have text but no"
                f" token for the tokenizer {self.tokenizer!r}, and score 0"
            )
        return (f"rouge: {'; '.join(found)}; {self._advice()}",) if found else ()

    def _advice(self) -> str:
        other = "for text in letters other than a-z take a metric that reads them, such as chrf"
        if self.tokenizer == "default":
            return f"use tokenizer='cjk_char' for Chinese, Japanese or Korean; {other}"
        return other

    def bootstrap(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        *,
        seed: int,
        n_samples: int = 1000,
        confidence: float = 0.95,
    ) -> dict[str, dict[str, list[float]]]:
        """Resample the examples as rouge-score's `BootstrapAggregator` does after `numpy.random.seed(seed)`.

        Use it to compare with published numbers that are the aggregator's ``mid``, a median of resampled means; the score
        of this metric is the mean itself.

        Args:
            predictions: One text an example.
            references: One list of texts an example.
            seed: Seed of numpy's legacy generator.
            n_samples: How many resamples a type.
            confidence: Share of the resampled means between ``low`` and ``high``.

        Returns:
            For each type ``low``, ``mid`` and ``high``, each as [precision, recall, F1].
        """
        from evalkit.metrics.rouge_bootstrap import resampled_percentiles

        scores = self._scores(predictions, references)
        bounds = resampled_percentiles(scores, seed=seed, n_samples=n_samples, confidence=confidence)
        return {
            rouge_type: dict(zip(("low", "mid", "high"), of_type.tolist(), strict=True))
            for rouge_type, of_type in zip(self.rouge_types, bounds, strict=True)
        }

    def _scores(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> FloatArray:
        """Precision, recall and F1 of each example and type, shape (E, T, 3)."""
        from evalkit.metrics.rouge_counts import best_reference, score_pairs
        from evalkit.metrics.rouge_tokens import Tokenizer

        check_texts(predictions, references)
        tokenizer = Tokenizer(self.tokenizer, use_stemmer=self.use_stemmer, split_summaries=self.split_summaries)
        counts = [len(group) for group in references]
        repeated = [text for text, count in zip(predictions, counts, strict=True) for _ in range(count)]
        pairs = score_pairs(repeated, list(chain.from_iterable(references)), self.rouge_types, tokenizer)
        return best_reference(pairs, counts)


def _measures(rouge_type: str) -> tuple[str, str, str]:
    return f"{rouge_type}_precision", f"{rouge_type}_recall", rouge_type
