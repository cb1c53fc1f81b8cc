"""Token accuracy: the share of tokens with the right label, and of sentences without a wrong one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evalkit.errors import InvalidTypeError
from evalkit.metrics.base import Metric, Ratio, Statistics
from evalkit.metrics.sequences import paired_sequences


@dataclass(frozen=True, kw_only=True)
class TokenAccuracy(Metric[Sequence[Hashable], Sequence[Hashable]]):
    """Right labels over all labels, over the whole corpus: not the mean of the sentences' accuracies.

    References:
        scikit-learn ``accuracy_score`` on the tokens that are kept.
    """

    name: ClassVar[str] = "token_accuracy"
    kinds: ClassVar[tuple[str, ...]] = ("ner",)
    reference: ClassVar[str] = "scikit-learn 1.9.1 accuracy_score"

    ignore: tuple[str | int, ...] = ()
    """Gold labels whose tokens are left out, e.g. -100 or ``O``."""

    def __post_init__(self) -> None:
        if isinstance(self.ignore, str):
            raise InvalidTypeError(f"ignore is the bare string {self.ignore!r}; expected a tuple of labels")

    @property
    def headline(self) -> tuple[str, ...]:
        """Accuracy of tokens, then of sentences."""
        return ("accuracy", "sentence_accuracy")

    def statistics(
        self, predictions: Sequence[Sequence[Hashable]], references: Sequence[Sequence[Sequence[Hashable]]]
    ) -> Statistics:
        """Count right and kept tokens, and sentences; a sentence without a kept token does not count.

        Args:
            predictions: One sequence of labels an example, strings or integers.
            references: One sequence of labels an example, in a list.

        Returns:
            Columns ``correct``, ``total``, ``correct_sentences`` and ``sentences``.

        Raises:
            InvalidInputError: The numbers of labels differ in an example.
            InvalidTypeError: An example is not a list, or a label neither a string nor a whole number.
        """
        import numpy as np

        predicted, golds = paired_sequences(predictions, references, "labels")
        ignored = frozenset(self.ignore)
        rows = np.zeros((len(golds), 4))
        labels: set[Any] = set()
        for row, gold, pred in zip(rows, golds, predicted, strict=True):
            kept = [(g, p) for g, p in zip(gold, pred, strict=True) if g not in ignored]
            correct = sum(g == p for g, p in kept)
            row[:] = correct, len(kept), bool(kept) and correct == len(kept), bool(kept)
            labels.update(gold, pred)
        for label in labels:
            if not isinstance(label, str) and not hasattr(label, "__index__"):
                raise InvalidTypeError(f"label {label!r} is neither a string nor a whole number")
        return Statistics(("correct", "total", "correct_sentences", "sentences"), rows)

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Both accuracies; 0 where nothing is kept."""
        return {
            "accuracy": Ratio({"correct": 1.0}, {"total": 1.0}, when_zero=0.0),
            "sentence_accuracy": Ratio({"correct_sentences": 1.0}, {"sentences": 1.0}, when_zero=0.0),
        }

    def signature(self, references: Sequence[Sequence[Sequence[Hashable]]] | None = None) -> str:
        """The labels that are left out."""
        return f"{self.name}|ignore:{','.join(sorted(map(str, self.ignore))) or 'none'}"

    def report(
        self,
        predictions: Sequence[Sequence[Hashable]],
        references: Sequence[Sequence[Sequence[Hashable]]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """Both accuracies with the counts of right and kept tokens."""
        statistics = statistics or self.statistics(predictions, references)
        total = dict(zip(statistics.columns, map(int, statistics.total()), strict=True))
        values = {name: float(value) for name, value in self.score(statistics.total(), statistics.columns).items()}
        return {**values, "correct": total["correct"], "total": total["total"]}
