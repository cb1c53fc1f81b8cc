"""What the metrics of extractive question answering share: several references, missing answers, memoised comparison.

Every official scorer takes the best reference for exact match and for F1 separately and averages over all questions.
They differ in what they delete from a text before comparing, and in what F1 counts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from evalkit.errors import InvalidTypeError
from evalkit.metrics.base import Metric, Ratio, Statistics, check_corpus

if TYPE_CHECKING:
    from evalkit.requests import Answer

Prediction: TypeAlias = "str | Answer | None"
"""An answer, '' where the system says that there is none; None where it said nothing."""

Compare: TypeAlias = Callable[[str, str], tuple[float, float]]
"""Exact match and F1, both 0 to 1, of a prediction against one reference."""

_COLUMNS = ("exact_match", "f1", "questions")


class Normalized(NamedTuple):
    """An answer as a scorer compares it."""

    text: str
    """What exact match compares; '' exactly where there are no tokens."""
    tokens: Sequence[str]
    """What F1 counts, as often as it occurs."""
    types: frozenset[str]
    """The different tokens."""


class AnswerMetric(Metric[Prediction, str]):
    """Exact match and F1 in percent; a question without a prediction scores 0 and stays in the denominator."""

    scale = 100.0
    range = (0.0, 100.0)

    @property
    def headline(self) -> tuple[str, ...]:
        """Exact match first, as the official scripts print it."""
        return ("exact_match", "f1")

    @abstractmethod
    def comparison(self) -> Compare:
        """Make a function that scores a prediction against a reference and remembers the texts it has seen."""

    def statistics(self, predictions: Sequence[Prediction], references: Sequence[Sequence[str]]) -> Statistics:
        """Compute exact match and F1, 0 to 1, of each question.

        Raises:
            InvalidInputError: Lengths differ, the corpus is empty, or a question has no reference.
            InvalidTypeError: A prediction is not a string, `Answer` or None, or a reference is not a string.
        """
        import numpy as np

        check_corpus(predictions, references)
        texts = answer_texts(predictions)
        check_references(references)
        compare = self.comparison()
        rows = [
            (0.0, 0.0, 1.0) if text is None else (*best(compare, text, several), 1.0)
            for text, several in zip(texts, references, strict=True)
        ]
        return Statistics(_COLUMNS, np.array(rows))

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Means over all questions, in percent."""
        return {name: Ratio({name: 1}, {"questions": 1}, self.scale) for name in ("exact_match", "f1")}


def answer_texts(predictions: Sequence[Prediction]) -> list[str | None]:
    """Take the texts out of predictions.

    Raises:
        InvalidTypeError: A prediction is not a string, `Answer` or None.
    """
    from evalkit.requests import Answer

    texts = [prediction.text if isinstance(prediction, Answer) else prediction for prediction in predictions]
    for index, text in enumerate(texts):
        if text is not None and not isinstance(text, str):
            raise InvalidTypeError(
                f"prediction {index} is {text!r:.40}; expected a string, an Answer, or None where there is none"
            )
    return texts


def check_references(references: Sequence[Sequence[str]]) -> None:
    """Refuse references that are not strings.

    Raises:
        InvalidTypeError: A reference is not a string.
    """
    for index, several in enumerate(references):
        for reference in several:
            if not isinstance(reference, str):
                raise InvalidTypeError(f"example {index}: reference {reference!r:.40} is not a string")


def best(compare: Compare, text: str, references: Sequence[str]) -> tuple[float, float]:
    """Take the best exact match and the best F1 over the references, each for itself."""
    exact_match = f1 = 0.0
    for reference in references:
        this_exact_match, this_f1 = compare(text, reference)
        if this_f1 > f1:
            f1 = this_f1
        if this_exact_match > exact_match:
            exact_match = this_exact_match
            if f1 == 1:
                break
    return exact_match, f1


def bag_comparison(normalize: Callable[[str], Normalized]) -> Compare:
    """Make the comparison of SQuAD v1.1: equal texts, and F1 over bags of tokens; without any token F1 is 0."""
    normalized = cache(normalize)

    def compare(prediction: str, reference: str) -> tuple[float, float]:
        left, right = normalized(prediction), normalized(reference)
        if left.text == right.text:
            return 1.0, float(bool(left.tokens))
        return 0.0, bag_f1(left, right)

    return compare


def bag_f1(prediction: Normalized, reference: Normalized) -> float:
    """Compute F1 of two bags of tokens; 0 where they share none."""
    common = prediction.types & reference.types
    if not common:
        return 0.0
    shared = len(common)
    if len(prediction.types) < len(prediction.tokens) and len(reference.types) < len(reference.tokens):
        shared = (Counter(prediction.tokens) & Counter(reference.tokens)).total()
    return f1_score(shared, len(prediction.tokens), len(reference.tokens))


def f1_score(shared: int, predicted: int, expected: int) -> float:
    """Compute F1 from counts, rounded the way the official scripts round: through precision and recall."""
    precision = shared / predicted
    recall = shared / expected
    return (2 * precision * recall) / (precision + recall)
