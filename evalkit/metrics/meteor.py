"""METEOR with the values of nltk's meteor_score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalkit.errors import InvalidInputError, MissingResourceError, UnknownNameError
from evalkit.languages import UNSPACED, language_code
from evalkit.metrics.base import Metric, Ratio, Statistics, check_texts
from evalkit.wordnet import VERSION as WORDNET_VERSION
from evalkit.wordnet import installed_nltk, locate, nltk_release, synonyms

if TYPE_CHECKING:
    from evalkit.metrics.meteor_alignment import Aligner

VARIANTS: tuple[str, ...] = ("nltk",)
TOKENIZERS: tuple[str, ...] = ("whitespace", "nltk_word_tokenize")
_OLDEST_NLTK = (3, 8)


@dataclass(frozen=True, kw_only=True)
class Meteor(Metric[str, str]):
    """Harmonic mean of unigram precision and recall over an alignment by word, stem and synonym, less for scattered matches.

    The score of an example is the best over its references; that of a corpus is the mean over examples. These are not the
    values of METEOR 1.5, which has paraphrases, tuned weights and a corpus score of its own.

    References:
        Lavie, A. and Agarwal, A. (2007). METEOR: An automatic metric for MT evaluation with high levels of correlation
        with human judgments. Section 2.
    """

    name = "meteor"
    kinds = ("mt", "summarization")
    reference = "nltk.translate.meteor_score, WordNet 3.0"

    alpha: float = 0.9
    """Weight of recall against precision in their mean, from 0 to 1."""
    beta: float = 3.0
    """Exponent of the penalty, 0 or more."""
    gamma: float = 0.5
    """Largest penalty, from 0 to 1."""
    tokenize: str = "whitespace"
    """``whitespace`` splits at whitespace only, so ``word,`` is not ``word``; ``nltk_word_tokenize`` splits marks off."""
    variant: str = "nltk"
    """Whose METEOR this is; ``nltk`` is the only one here."""
    language: str | None = None
    """Language of the texts, if known: languages without spaces between words are refused unless `segmented`."""
    segmented: bool = False
    """Whether predictions and references come with spaces between words, as another program put them there."""

    def __post_init__(self) -> None:
        for setting, value, highest in (("alpha", self.alpha, 1), ("gamma", self.gamma, 1), ("beta", self.beta, None)):
            if not (value >= 0 and (highest is None or value <= highest)):
                bound = "0 or more" if highest is None else f"from 0 to {highest}"
                raise InvalidInputError(f"METEOR's {setting} is {value}; expected a number {bound}")
        if self.tokenize not in TOKENIZERS:
            raise UnknownNameError("METEOR tokenizer", str(self.tokenize), TOKENIZERS)
        if self.variant == "1.5":
            raise MissingResourceError(
                "METEOR 1.5 is a Java program that evalkit does not bundle; its values are not those of variant 'nltk'"
            )
        if self.variant not in VARIANTS:
            raise UnknownNameError("METEOR variant", str(self.variant), VARIANTS)
        self._check_language()

    def _check_language(self) -> None:
        if self.language is None or self.segmented or language_code(self.language) not in UNSPACED:
            return
        raise InvalidInputError(
            f"METEOR counts words between spaces, and language {self.language!r} has none; use a metric such as chrf, or put"
            " spaces between the words of predictions and references and set segmented = true"
        )

    @property
    def headline(self) -> tuple[str, ...]:
        """The one value."""
        return ("meteor",)

    def statistics(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        """Compute the score of each example, and 1 to count it.

        Raises:
            InvalidInputError: Lengths differ, the corpus is empty, or an example has no reference.
            InvalidTypeError: A prediction or reference is not a string.
            MissingResourceError: WordNet 3.0 or the tokenizer's model is not installed, or nltk is older than 3.8.
        """
        import numpy as np

        from evalkit.metrics.meteor_alignment import count_matches_and_chunks

        check_texts(predictions, references)
        aligner, split = self._aligner(), self._splitter()
        rows = np.ones((len(predictions), 2))
        for row, (prediction, group) in enumerate(zip(predictions, references, strict=True)):
            hypothesis = split(prediction)
            best = 0.0
            for text in group:
                words = split(text)
                matches, chunks = count_matches_and_chunks(aligner.align(hypothesis, words))
                best = max(best, self.sentence_score(matches, chunks, len(hypothesis), len(words)))
            rows[row, 0] = best
        return Statistics(("meteor", "n"), rows)

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """The mean over examples."""
        return {"meteor": Ratio({"meteor": 1.0}, {"n": 1.0})}

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name the weights, the tokenizer, the rule for several references, and the versions of WordNet and nltk."""
        weights = f"alpha:{float(self.alpha)}|beta:{float(self.beta)}|gamma:{float(self.gamma)}"
        versions = f"wordnet:{WORDNET_VERSION}|nltk:{installed_nltk()}"
        return (
            f"metric:meteor|variant:{self.variant}|tok:{self.tokenize}|case:lower|stem:porter|{weights}"
            f"|multi:best|agg:mean|{versions}"
        )

    def warnings(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """Say how many Chinese, Japanese or Korean texts have no spaces and so count as one word each."""
        from evalkit.metrics.rouge_tokens import has_cjk

        unsegmented = sum(1 for text in predictions if has_cjk(text) and len(text.split()) == 1)
        if not unsegmented:
            return ()
        return (
            f"meteor: {unsegmented} of {len(predictions)} predictions are Chinese, Japanese or Korean without spaces, and count"
            " as one word each; separate words or characters by spaces on both sides",
        )

    def sentence_score(self, matches: int, chunks: int, hypothesis_length: int, reference_length: int) -> float:
        """Turn the counts of one alignment into a score; 0 where nothing matches.

        Args:
            matches: Aligned words.
            chunks: Runs of aligned words.
            hypothesis_length: Words of the prediction.
            reference_length: Words of the reference.
        """
        if not matches:
            return 0.0
        precision = matches / hypothesis_length
        recall = matches / reference_length
        mean = (precision * recall) / (self.alpha * precision + (1 - self.alpha) * recall)
        penalty = self.gamma * (chunks / matches) ** self.beta
        score: float = (1 - penalty) * mean
        return score

    def matches_and_chunks(self, prediction: str, reference: str) -> tuple[int, int]:
        """Count the aligned words of a pair and the runs they form, for those who want to see behind a score."""
        from evalkit.metrics.meteor_alignment import count_matches_and_chunks

        split = self._splitter()
        return count_matches_and_chunks(self._aligner().align(split(prediction), split(reference)))

    def _aligner(self) -> Aligner:
        from evalkit.metrics.meteor_alignment import Aligner
        from evalkit.metrics.porter import porter_stems

        if nltk_release() < _OLDEST_NLTK:
            raise MissingResourceError(
                f"nltk {installed_nltk()} is installed; METEOR needs 3.8 or later: pip install -U nltk"
            )
        return Aligner(porter_stems(), synonyms(locate()))

    def _splitter(self) -> Callable[[str], list[str]]:
        """Lowercased words of a text."""
        if self.tokenize == "whitespace":
            return lambda text: text.lower().split()
        from evalkit.punkt import word_tokenize

        return lambda text: [word.lower() for word in word_tokenize(text)]
