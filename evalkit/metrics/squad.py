"""SQuAD 1.1 and 2.0: exact match and F1 as the two official scripts compute them."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from evalkit.errors import InvalidInputError
from evalkit.metrics.base import Ratio, Statistics, check_corpus, none_if_nan
from evalkit.metrics.qa import (
    AnswerMetric,
    Compare,
    Normalized,
    Prediction,
    answer_texts,
    bag_comparison,
    bag_f1,
    best,
    check_references,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")

_HAS_ANSWER = ("has_answer_exact_match", "has_answer_f1", "has_answer_questions")
_NO_ANSWER = ("no_answer_exact_match", "no_answer_f1", "no_answer_questions")


def normalize(text: str) -> Normalized:
    """Lowercase, delete ASCII punctuation, cut English articles, and split on whitespace, in this order.

    >>> normalize("The York-based A-Team").text
    'yorkbased ateam'
    """
    tokens = without_articles(text.lower().translate(_PUNCTUATION)).split()
    return Normalized(" ".join(tokens), tokens, frozenset(tokens))


def without_articles(text: str) -> str:
    """Put a space in the place of each English article; expects lower case."""
    return _ARTICLES.sub(" ", text)


@dataclass(frozen=True, kw_only=True)
class SquadV1(AnswerMetric):
    """Exact match and F1 of SQuAD 1.1, in percent.

    References:
        Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text", section 6.1.
    """

    name = "squad_v1"
    kinds = ("qa",)
    reference = "SQuAD evaluate-v1.1.py"

    def comparison(self) -> Compare:
        """Compare normalised texts, and bags of their words."""
        return bag_comparison(normalize)

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name the script; it has no settings."""
        return "metric:squad_v1|script:evaluate-v1.1"


@dataclass(frozen=True, kw_only=True)
class SquadV2(AnswerMetric):
    """Exact match and F1 of SQuAD 2.0, in percent, over all questions, answerable ones and unanswerable ones.

    An unanswerable question has an empty list of references; '' is the prediction that there is no answer.

    References:
        Rajpurkar et al. 2018, "Know What You Don't Know: Unanswerable Questions for SQuAD".
    """

    name = "squad_v2"
    kinds = ("qa",)
    reference = "SQuAD evaluate-v2.0.py"

    no_answer_threshold: float = 1.0
    """A prediction counts as "no answer" where its no-answer probability is above this; at 1, the default, never."""

    def __post_init__(self) -> None:
        if not 0 <= self.no_answer_threshold <= 1:
            raise InvalidInputError(
                f"no_answer_threshold is {self.no_answer_threshold!r}; expected a probability from 0 to 1"
            )

    def comparison(self) -> Compare:
        """Compare as SQuAD 1.1 does, but two answers without any word agree fully."""
        normalized = cache(normalize)

        def compare(prediction: str, reference: str) -> tuple[float, float]:
            left, right = normalized(prediction), normalized(reference)
            return (1.0, 1.0) if left.text == right.text else (0.0, bag_f1(left, right))

        return compare

    def statistics(self, predictions: Sequence[Prediction], references: Sequence[Sequence[str]]) -> Statistics:
        """Compute exact match and F1, 0 to 1, of each question, in the columns of its sort.

        Raises:
            InvalidInputError: As for SQuAD 1.1, except that references may be empty; a prediction is missing; only some
                predictions have a no-answer probability, or one is not a probability.
            InvalidTypeError: A prediction is not a string or `Answer`, or a reference is not a string.
        """
        import numpy as np

        values = self._values(predictions, references)
        probabilities = _no_answer_probabilities(predictions)
        rows = np.zeros((len(values), len(_HAS_ANSWER) + len(_NO_ANSWER)))
        has_answer = np.array([bool(several) for several in references])
        if probabilities is not None:
            values[np.array(probabilities) > self.no_answer_threshold] = 0
            values[(np.array(probabilities) > self.no_answer_threshold) & ~has_answer] = 1
        rows[has_answer, :2] = values[has_answer]
        rows[has_answer, 2] = 1
        rows[~has_answer, 3:5] = values[~has_answer]
        rows[~has_answer, 5] = 1
        return Statistics(_HAS_ANSWER + _NO_ANSWER, rows)

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Means over all questions and over each sort; NaN where there is no question of a sort."""
        questions = {"has_answer_questions": 1.0, "no_answer_questions": 1.0}
        both = {
            name: Ratio({f"has_answer_{name}": 1, f"no_answer_{name}": 1}, questions, self.scale)
            for name in ("exact_match", "f1")
        }
        each = {
            f"{sort}_{name}": Ratio({f"{sort}_{name}": 1}, {f"{sort}_questions": 1}, self.scale)
            for sort in ("has_answer", "no_answer")
            for name in ("exact_match", "f1")
        }
        return both | each

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name the script and the threshold."""
        return f"metric:squad_v2|script:evaluate-v2.0|no_answer_threshold:{float(self.no_answer_threshold)}"

    def report(
        self,
        predictions: Sequence[Prediction],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """All keys of the official script.

        ``HasAns_*`` and ``NoAns_*`` are there where there are such questions, ``best_*`` where there are probabilities.
        """
        statistics = statistics or self.statistics(predictions, references)
        values = {name: float(value) for name, value in self.score(statistics.total(), statistics.columns).items()}
        totals = dict(zip(statistics.columns, statistics.total(), strict=True))
        shown: dict[str, Any] = {}
        sorts = {"": "", "HasAns_": "has_answer_", "NoAns_": "no_answer_"}
        for prefix, sort in sorts.items():
            total = int(totals[f"{sort}questions"]) if sort else len(predictions)
            if total:
                shown[f"{prefix}exact"] = none_if_nan(values[f"{sort}exact_match"])
                shown[f"{prefix}f1"] = none_if_nan(values[f"{sort}f1"])
                shown[f"{prefix}total"] = total
        probabilities = _no_answer_probabilities(predictions)
        if probabilities is not None:
            raw = self._values(predictions, references)
            for place, name in enumerate(("exact", "f1")):
                score, threshold = _best_threshold(raw[:, place].tolist(), probabilities, predictions, references)
                shown[f"best_{name}"] = score
                shown[f"best_{name}_thresh"] = threshold
        return shown

    def _values(
        self, predictions: Sequence[Prediction], references: Sequence[Sequence[str]]
    ) -> npt.NDArray[np.float64]:
        """Exact match and F1 before the threshold, shape (n, 2)."""
        import numpy as np

        check_corpus(predictions, references, may_lack_references=True)
        texts = _given_texts(predictions)
        check_references(references)
        compare = self.comparison()
        golds = ([reference for reference in several if normalize(reference).text] or [""] for several in references)
        return np.array([best(compare, text, gold) for text, gold in zip(texts, golds, strict=True)])


def _given_texts(predictions: Sequence[Prediction]) -> list[str]:
    texts = answer_texts(predictions)
    missing = [str(index) for index, text in enumerate(texts) if text is None]
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise InvalidInputError(
            f"{len(missing)} of {len(texts)} questions have no prediction (examples {shown}); SQuAD 2.0 needs one for"
            " each, '' where there is no answer"
        )
    return [text for text in texts if text is not None]


def _no_answer_probabilities(predictions: Sequence[Prediction]) -> list[float] | None:
    from evalkit.requests import Answer

    found = [prediction.no_answer_probability if isinstance(prediction, Answer) else None for prediction in predictions]
    given = [probability for probability in found if probability is not None]
    if not given:
        return None
    if len(given) < len(found):
        raise InvalidInputError(
            f"{len(given)} of {len(found)} predictions have a no-answer probability; expected all of them or none"
        )
    for index, probability in enumerate(given):
        if not 0 <= probability <= 1:
            raise InvalidInputError(f"prediction {index}: no-answer probability {probability!r} is not from 0 to 1")
    return given


def _best_threshold(
    scores: Sequence[float],
    probabilities: Sequence[float],
    predictions: Sequence[Prediction],
    references: Sequence[Sequence[str]],
) -> tuple[float, float]:
    """Find the threshold with the highest score, in percent, the way the official script does.

    It admits questions by rising probability, ties in data order, and keeps the first maximum. Whether an unanswerable
    question was answered is read off the raw text: '.' counts as an answer here, though not in exact match.
    """
    texts = answer_texts(predictions)
    current = float(sum(not several for several in references))
    highest, threshold = current, 0.0
    for index in sorted(range(len(scores)), key=probabilities.__getitem__):
        if references[index]:
            current += scores[index]
        elif texts[index]:
            current -= 1
        if current > highest:
            highest, threshold = current, probabilities[index]
    return 100.0 * highest / len(scores), threshold
