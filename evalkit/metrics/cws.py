"""Chinese word segmentation: word F1, and recall of words in and out of the training vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

from evalkit.errors import InvalidInputError, InvalidTypeError, MissingResourceError, UnknownNameError
from evalkit.metrics.base import Metric, Ratio, Statistics, check_texts, none_if_nan
from evalkit.metrics.sequences import single_references

VARIANTS = ("span", "sighan")
_COLUMNS = ("correct", "gold", "pred", "iv_correct", "iv", "oov_correct", "oov")
# The bakeoff script knows ASCII white space and the full-width space; other Unicode spaces are characters of words to it.
_WORD = re.compile("[^ \t\n\r\f\v\u3000]+")


@dataclass(frozen=True, kw_only=True)
class Cws(Metric[str, str]):
    """F1, precision and recall of words, with recall of known (IV) and unknown (OOV) words where training words are given.

    The ``span`` variant calls a word right when a gold word covers the same characters. The ``sighan`` variant counts what the
    bakeoff's script counts, words on the alignment that diff finds between the two word lists: for tables beside published
    figures. Three accidents of the script are not copied: literal ``|``, ``<`` and ``>`` count as missed, a full-width space
    in front adds an empty word, and words over some 60 columns are cut before they are looked up.

    References:
        Emerson (2005), The second international Chinese word segmentation bakeoff; its ``score`` script with GNU diff 3.8.
    """

    name: ClassVar[str] = "cws"
    kinds: ClassVar[tuple[str, ...]] = ("cws",)
    reference: ClassVar[str] = "SIGHAN bakeoff 2005 score (variant sighan); character spans (variant span)"

    variant: str = "span"
    """``span`` or ``sighan``."""
    train_words: frozenset[str] | None = None
    """Words of the training data; None leaves IV and OOV values undefined."""

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise UnknownNameError("cws variant", self.variant, VARIANTS)
        if isinstance(self.train_words, str):
            raise InvalidTypeError(f"train_words are the bare string {self.train_words!r}; expected a set of words")
        if self.train_words is not None:
            object.__setattr__(self, "train_words", frozenset(self.train_words))

    @property
    def label(self) -> str:
        """``cws`` for spans, ``cws-sighan`` for the script's counts."""
        return self.name if self.variant == "span" else f"{self.name}-{self.variant}"

    @property
    def headline(self) -> tuple[str, ...]:
        """F1, precision and recall, then recall of unknown and known words."""
        return ("f1", "precision", "recall", "oov_recall", "iv_recall")

    def statistics(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        """Count words.

        Args:
            predictions: One segmented line an example.
            references: One segmented line an example, in a list; an empty one counts nothing.

        Returns:
            Columns ``correct``, ``gold``, ``pred``, and without training words zeros in ``iv_correct``, ``iv``, ``oov_correct``,
            ``oov``.

        Raises:
            InvalidInputError: Prediction and reference spell different characters (variant ``span``), or only one is empty.
            InvalidTypeError: A prediction or reference is not a string.
        """
        import numpy as np

        check_texts(predictions, references)
        golds = single_references(predictions, references)
        counts = [
            self._counts(_WORD.findall(gold), _WORD.findall(prediction), index)
            for index, (prediction, gold) in enumerate(zip(predictions, golds, strict=True))
        ]
        return Statistics(_COLUMNS, np.array(counts, dtype=np.float64))

    def _counts(self, gold: list[str], pred: list[str], index: int) -> tuple[int, ...]:
        if gold == pred:
            right = gold
        elif self.variant == "span":
            _check_same_characters(gold, pred, index)
            right = _words_on_spans(gold, pred)
        else:
            if not gold:
                raise InvalidInputError(
                    f"example {index}: words are predicted for an empty reference; are the lines aligned?"
                )
            from evalkit.metrics.word_alignment import aligned_positions

            right = [gold[position] for position in aligned_positions(gold, pred)]
        counts = (len(right), len(gold), len(pred))
        if self.train_words is None:
            return (*counts, 0, 0, 0, 0)
        known = sum(map(self.train_words.__contains__, gold))
        known_right = sum(map(self.train_words.__contains__, right))
        return (*counts, known_right, known, len(right) - known_right, len(gold) - known)

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Word values; those of known and unknown words are NaN where there are none."""
        return {
            "f1": Ratio({"correct": 2.0}, {"gold": 1.0, "pred": 1.0}, when_zero=0.0),
            "precision": Ratio({"correct": 1.0}, {"pred": 1.0}, when_zero=0.0),
            "recall": Ratio({"correct": 1.0}, {"gold": 1.0}, when_zero=0.0),
            "oov_recall": Ratio({"oov_correct": 1.0}, {"oov": 1.0}),
            "iv_recall": Ratio({"iv_correct": 1.0}, {"iv": 1.0}),
            "oov_rate": Ratio({"oov": 1.0}, {"iv": 1.0, "oov": 1.0}),
        }

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Variant and training words, the latter as their number and a digest."""
        import hashlib

        words = "none"
        if self.train_words is not None:
            digest = hashlib.sha256("\n".join(sorted(self.train_words)).encode()).hexdigest()
            words = f"{len(self.train_words)}:{digest[:12]}"
        return f"{self.name}|variant:{self.variant}|train_words:{words}"

    def report(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """Counts and values; for ``sighan`` also ``printed``: the script's three decimals, None where the script dies."""
        statistics = statistics or self.statistics(predictions, references)
        total = dict(zip(_COLUMNS, map(int, statistics.total()), strict=True))
        values = {name: none_if_nan(float(value)) for name, value in self.score(statistics.total(), _COLUMNS).items()}
        report: dict[str, Any] = {"true_words": total["gold"], "test_words": total["pred"], **values}
        if self.variant == "span":
            return {**report, "matched": total["correct"]}
        silent = bool(((statistics.rows[:, 1] > 0) & (statistics.rows[:, 2] == 0)).any())
        return {
            **report,
            "matched_recall": total["correct"],
            "matched_precision": total["correct"],
            "printed": None if silent or not total["correct"] else _printed(total),
        }

    def with_lexicon(self, lexicon: Callable[[], frozenset[str]]) -> Cws:
        """Bind the task's training words, unless words are given already; a task without any leaves them undefined."""
        if self.train_words is not None:
            return self
        try:
            return replace(self, train_words=frozenset(lexicon()))
        except MissingResourceError:
            return self


def _check_same_characters(gold: Sequence[str], pred: Sequence[str], index: int) -> None:
    expected, found = "".join(gold), "".join(pred)
    if expected == found:
        return
    place = next(
        (i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), min(len(expected), len(found))
    )
    raise InvalidInputError(
        f"example {index}: the prediction spells {found[place : place + 1] or 'nothing'!r} where the reference has"
        f" {expected[place : place + 1] or 'nothing'!r}, at character {place}; a segmentation may only set spaces"
    )


def _words_on_spans(gold: Sequence[str], pred: Sequence[str]) -> list[str]:
    """Gold words that cover the same characters as a predicted word, in no particular order."""
    words = dict(zip(_spans(gold), gold, strict=True))
    return [words[span] for span in words.keys() & set(_spans(pred))]


def _spans(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    ends = list(accumulate(map(len, words)))
    return zip([0, *ends], ends, strict=False)


def _printed(total: Mapping[str, int]) -> dict[str, str]:
    """Round as the script does, from its own order of operations."""
    recall, precision = total["correct"] / total["gold"], total["correct"] / total["pred"]
    return {
        "recall": f"{recall:.3f}",
        "precision": f"{precision:.3f}",
        "f1": f"{2 * precision * recall / (precision + recall):.3f}",
        "oov_rate": f"{total['oov'] / total['gold']:.3f}",
        "oov_recall": _printed_recall(total["oov_correct"], total["oov"]),
        "iv_recall": _printed_recall(total["iv_correct"], total["iv"]),
    }


def _printed_recall(right: int, words: int) -> str:
    return f"{1 - (words - right) / words:.3f}" if words else "--"
