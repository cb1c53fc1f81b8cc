"""Accuracy and F1 of single-label classification, as scikit-learn computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.base import Metric, Ratio, Statistics, check_texts, none_if_nan
from evalkit.metrics.prf import MEASURES, averaged, micro_ratios, type_ratios, type_statistics, types_in
from evalkit.metrics.sequences import single_references

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray


@dataclass(frozen=True, kw_only=True)
class Classification(Metric[str, str]):
    """Accuracy, and F1, precision and recall by class and averaged over classes.

    Without `labels` the averages run over the classes seen in gold or prediction, as ``f1_score(gold, predicted)``; a class that
    vanishes from a resample then leaves the average of that resample. With `labels` they run over exactly these, seen or not, as
    ``f1_score(gold, predicted, labels=labels)``; other answers are wrong but are no class of their own. Accuracy counts all
    examples either way. Divisions by zero give 0.

    References:
        scikit-learn ``accuracy_score`` and ``precision_recall_fscore_support`` with ``zero_division=0``.
    """

    name: ClassVar[str] = "classification"
    kinds: ClassVar[tuple[str, ...]] = ("classification",)
    reference: ClassVar[str] = "scikit-learn 1.9.1"

    labels: tuple[str, ...] = ()
    """Classes to average over; empty means those seen."""

    def __post_init__(self) -> None:
        if isinstance(self.labels, str):
            raise InvalidTypeError(f"labels are the bare string {self.labels!r}; expected a tuple of classes")
        if len(set(self.labels)) != len(self.labels):
            raise InvalidInputError(f"labels {self.labels!r} name a class twice; expected each once")

    @property
    def headline(self) -> tuple[str, ...]:
        """Accuracy, then macro F1."""
        return ("accuracy", "macro_f1")

    def statistics(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        """Count right, predicted and gold examples of each class.

        Args:
            predictions: One class an example.
            references: One class an example, in a list.

        Returns:
            Columns ``tp[CLASS]``, ``pred[CLASS]``, ``gold[CLASS]`` for each class that occurs, ``correct`` and ``total``.

        Raises:
            InvalidInputError: Lengths differ, the corpus is empty, or an example has not exactly one reference.
            InvalidTypeError: A prediction or reference is not a string.
        """
        import numpy as np

        check_texts(predictions, references)
        golds = single_references(predictions, references)
        names = tuple(dict.fromkeys((*golds, *predictions)))
        place = {name: index for index, name in enumerate(names)}
        gold = np.array([place[name] for name in golds])
        pred = np.array([place[name] for name in predictions])
        right = gold == pred
        counts = np.zeros((len(golds), len(names), 3), dtype=np.int64)
        rows = np.arange(len(golds))
        counts[rows[right], gold[right], 0] = 1
        counts[rows, pred, 1] = 1
        counts[rows, gold, 2] = 1
        return type_statistics(names, counts, {"correct": right.astype(np.int64), "total": np.ones_like(gold)})

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Accuracy, the micro averages and the values by class."""
        seen = types_in(columns)
        wanted = [name for name in seen if name in self.labels] if self.labels else seen
        micro = {f"micro_{measure}": ratio for measure, ratio in micro_ratios(wanted).items()}
        return {"accuracy": Ratio({"correct": 1.0}, {"total": 1.0}), **micro, **type_ratios(wanted)}

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Accuracy, macro, micro and weighted averages, and the values by class."""
        plain = super().score(sums, columns)
        accuracy = plain.pop("accuracy")
        averages = averaged(sums, columns, fixed=self.labels)
        macro = {f"macro_{measure}": averages.pop(f"macro_{measure}") for measure in MEASURES}
        micro = {f"micro_{measure}": plain.pop(f"micro_{measure}") for measure in MEASURES}
        return {"accuracy": accuracy, **macro, **micro, **averages, **plain}

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """The classes that averages run over."""
        return f"{self.name}|labels:{','.join(sorted(self.labels)) or 'seen'}"

    def report(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """As scikit-learn's report: ``accuracy``, ``macro``, ``micro``, ``weighted`` and ``per_class`` with support."""
        statistics = statistics or self.statistics(predictions, references)
        total = dict(zip(statistics.columns, statistics.total(), strict=True))
        values = {
            name: none_if_nan(float(value))
            for name, value in self.score(statistics.total(), statistics.columns).items()
        }
        return {
            "accuracy": values["accuracy"],
            **{
                kind: {measure: values[f"{kind}_{measure}"] for measure in MEASURES}
                for kind in ("macro", "micro", "weighted")
            },
            "per_class": {
                name: {measure: values.get(f"{measure}[{name}]", 0.0) for measure in MEASURES}
                | {"support": int(total.get(f"gold[{name}]", 0))}
                for name in self.labels or types_in(statistics.columns)
            },
        }
