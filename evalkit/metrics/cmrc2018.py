"""CMRC 2018: exact match, and F1 over the longest run of tokens that two answers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evalkit.metrics.base import Ratio, Statistics
from evalkit.metrics.qa import AnswerMetric, Compare, Prediction, answer_texts, f1_score

# The official list also has an entry of two characters, "……", which no single character equals: an ellipsis stays.
_MARKS = dict.fromkeys(map(ord, "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"))
_PIECE = re.compile(r"[\u4e00-\u9fa5]|[^\u4e00-\u9fa5]+")
_DIGITS = re.compile(r"[0-9]+")
# The sentence model is asked about a mark only where whitespace and more text, or closing punctuation, follow it.
_POSSIBLE_SENTENCE_END = re.compile(r"[.?!](?![\w.]|\Z)")


@dataclass(frozen=True, kw_only=True)
class Cmrc2018(AnswerMetric):
    """Exact match, F1 and their average of CMRC 2018, in percent.

    Chinese characters are tokens of their own; what lies between them is split by nltk's `word_tokenize`. Texts where
    that depends on its English sentence model need the model installed; no other text does.

    References:
        Cui et al. 2019, "A Span-Extraction Dataset for Chinese Machine Reading Comprehension", section 4.1.
    """

    name = "cmrc2018"
    kinds = ("qa",)
    reference = "CMRC 2018 cmrc2018_evaluate.py v6 with nltk word_tokenize"

    @property
    def headline(self) -> tuple[str, ...]:
        """Exact match, F1 and their average."""
        return ("exact_match", "f1", "average")

    def comparison(self) -> Compare:
        """Compare texts without their marks, and the longest run of tokens in common.

        The comparison raises `MissingResourceError` where a text needs nltk's sentence model and there is none.
        """
        stripped = cache(without_marks)
        tokens = cache(tokenize)

        def compare(prediction: str, reference: str) -> tuple[float, float]:
            left, right = stripped(prediction), stripped(reference)
            if left == right:
                return 1.0, float(bool(left) and not left.isspace())
            run = longest_common_run(tokens(left), tokens(right))
            return 0.0, f1_score(run, len(tokens(left)), len(tokens(right))) if run else 0.0

        return compare

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Means over all questions, in percent."""
        average = Ratio({"exact_match": 1, "f1": 1}, {"questions": 2}, self.scale)
        return {**super().ratios(columns), "average": average}

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name the script and what splits words; it has no settings."""
        return "metric:cmrc2018|script:cmrc2018_evaluate-v6|words:nltk"

    def report(
        self,
        predictions: Sequence[Prediction],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """The script's five values, its names in lower case."""
        values = super().report(predictions, references, statistics)
        return {
            "average": values["average"],
            "f1": values["f1"],
            "em": values["exact_match"],
            "total": len(predictions),
            "skip": answer_texts(predictions).count(None),
        }


def without_marks(text: str) -> str:
    """Lowercase, trim, and delete the script's list of marks; spaces inside stay.

    >>> without_marks(" “约翰·史密斯”, 3-5 ")
    '约翰史密斯, 35'
    """
    return text.lower().strip().translate(_MARKS)


def tokenize(text: str) -> list[str]:
    """Split a text without marks into Chinese characters and the words between them.

    >>> tokenize("在1998年")
    ['在', '1998', '年']

    Raises:
        MissingResourceError: Words depend on nltk's English sentence model, and it is not installed.
    """
    tokens: list[str] = []
    for piece in _PIECE.findall(text):
        if "\u4e00" <= piece <= "\u9fa5" or _DIGITS.fullmatch(piece):
            tokens.append(piece)
        else:
            tokens.extend(_words(piece))
    return tokens


@cache
def _split_sentence() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    split: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return split


def _words(text: str) -> list[str]:
    """Split as nltk's `word_tokenize`, which is its sentence splitter followed by the tokenizer used here.

    Without a possible sentence end the splitter gives the text back as one sentence, less its trailing whitespace.
    """
    if _POSSIBLE_SENTENCE_END.search(text):
        from evalkit.punkt import word_tokenize

        return word_tokenize(text)
    return _split_sentence()(text.rstrip())


def longest_common_run(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest run of neighbouring tokens that both sequences have.

    >>> longest_common_run("红色谷仓", "红谷仓")
    2
    """
    places: dict[str, list[int]] = {}
    for place, token in enumerate(right):
        places.setdefault(token, []).append(place)
    longest = 0
    ending: dict[int, int] = {}
    for token in left:
        ending = {place: ending.get(place - 1, 0) + 1 for place in places.get(token, ())}
        if ending:
            longest = max(longest, max(ending.values()))
    return longest
