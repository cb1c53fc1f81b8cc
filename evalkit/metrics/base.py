"""What a metric is: additive statistics for each example, and a formula over their sum.

    statistics(predictions, references) -> (n, k) numbers       additive over examples
    score(sums, columns)                -> named values         sums: (..., k) -> arrays of shape (...)

A metric is a frozen dataclass of its settings. From these two methods follow the corpus score, `score(rows.sum(0))`, every
bootstrap resample, `score(counts @ rows)`, clusters, slices, paired tests and the merging of shards; none of them reads text
again. Modules of metrics import numpy inside functions, so that listing tasks stays instant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from evalkit.errors import InvalidInputError, InvalidTypeError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray: TypeAlias = npt.NDArray[np.float64]

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Statistics:
    """The additive statistics of n examples.

    Attributes:
        columns: Names of the k statistics.
        rows: Shape (n, k), float64. Counts are stored as floats; they are exact up to 2**53.
    """

    columns: tuple[str, ...]
    rows: FloatArray

    def total(self) -> FloatArray:
        """Sum over examples, shape (k,)."""
        sums: FloatArray = self.rows.sum(axis=0)
        return sums

    @staticmethod
    def merge(parts: Sequence[Statistics]) -> Statistics:
        """Stack the rows of several shards; a column that a shard lacks is 0 there.

        Columns keep the order in which they are first seen, except that sorted extra columns of open metrics (one set a
        label) may end up in another order than a single pass would give; scores do not depend on it.
        """
        import numpy as np

        if not parts:
            raise InvalidInputError("nothing to merge: expected the statistics of at least one shard")
        columns = tuple(dict.fromkeys(name for part in parts for name in part.columns))
        if all(part.columns == columns for part in parts):
            return Statistics(columns, np.concatenate([part.rows for part in parts]))
        place = {name: index for index, name in enumerate(columns)}
        blocks = []
        for part in parts:
            block = np.zeros((len(part.rows), len(columns)))
            block[:, [place[name] for name in part.columns]] = part.rows
            blocks.append(block)
        return Statistics(columns, np.concatenate(blocks))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A value that is one weighted sum of columns over another: scale * sum(w * s) / sum(v * s).

    Means (value over count), precision, recall, F1 and error rates are ratios. Ratios have a closed-form standard error.
    """

    numerator: Mapping[str, float]
    denominator: Mapping[str, float]
    scale: float = 1.0
    when_zero: float = float("nan")
    """The value where the denominator is 0, on the final scale; NaN means undefined."""

    def value(self, sums: FloatArray, columns: Sequence[str]) -> FloatArray:
        """Evaluate on sums of shape (..., k); returns shape (...)."""
        import numpy as np

        top = sums @ weights(self.numerator, columns)
        bottom = sums @ weights(self.denominator, columns)
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = self.scale * (top / bottom)
        result: FloatArray = np.where(bottom == 0, self.when_zero, quotient)
        return result


def weights(named: Mapping[str, float], columns: Sequence[str]) -> FloatArray:
    """Spread named weights over the columns; returns shape (k,)."""
    import numpy as np

    vector = np.zeros(len(columns))
    place = {name: index for index, name in enumerate(columns)}
    for name, weight in named.items():
        vector[place[name]] = weight
    return vector


class Metric(ABC, Generic[P, R]):
    """Base of all metrics: a frozen dataclass of settings with statistics and a score.

    A metric may give several named values from one set of statistics (ROUGE-1, 2 and L; precision, recall and F1). The
    first name in `headline` is the metric's main value. Values that are ratios of sums are declared by `ratios` and need no
    `score` of their own.
    """

    name: ClassVar[str]
    """The metric's name in tasks, records and `METRICS`."""
    kinds: ClassVar[tuple[str, ...]]
    """The task kinds whose predictions and references it takes."""
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float, float | None]] = (0.0, 1.0)
    """Lowest and highest possible value; None where there is no bound."""
    scale: ClassVar[float] = 1.0
    """100 where the official scorer prints percent, else 1."""
    reference: ClassVar[str]
    """The official scorer and version that the values equal."""

    @property
    def label(self) -> str:
        """Name of this variant in records; differs from `name` where one task holds two variants of a metric."""
        return self.name

    @property
    @abstractmethod
    def headline(self) -> tuple[str, ...]:
        """Names of the values that tables show, main value first."""

    @abstractmethod
    def statistics(self, predictions: Sequence[P], references: Sequence[Sequence[R]]) -> Statistics:
        """Compute the statistics of each example.

        Args:
            predictions: One prediction an example.
            references: One list of references an example.

        Raises:
            InvalidInputError: Lengths differ, the corpus is empty, or an example has no reference.
            InvalidTypeError: A prediction or reference has the wrong type.
        """

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """The values that are ratios of sums; the default is none."""
        return {}

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Turn sums into named values, headline values first.

        Args:
            sums: Summed statistics, shape (..., k).
            columns: Names of the k statistics.

        Returns:
            Name to array of shape (...). NaN where a value is undefined.
        """
        return {name: ratio.value(sums, columns) for name, ratio in self.ratios(columns).items()}

    @abstractmethod
    def signature(self, references: Sequence[Sequence[R]] | None = None) -> str:
        """Every setting that changes the value, in one string; as sacrebleu, ``key:value`` joined by ``|``.

        Args:
            references: The references scored against, for metrics whose signature counts them; None when unknown.
        """

    def report(
        self,
        predictions: Sequence[P],
        references: Sequence[Sequence[R]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """All that the official scorer prints, under its own names; may hold values that are not additive.

        The default is the named values of `score`, NaN as None. What is here and not in `score` gets no interval.

        Args:
            predictions: As for `statistics`.
            references: As for `statistics`.
            statistics: What `statistics` gave for them, if it is known already; computed if None.
        """
        statistics = statistics or self.statistics(predictions, references)
        values = self.score(statistics.total(), statistics.columns)
        return {name: none_if_nan(float(value)) for name, value in values.items()}

    def warnings(self, predictions: Sequence[P], references: Sequence[Sequence[R]]) -> tuple[str, ...]:
        """What a reader of the values should know about how this corpus was read; the default is nothing."""
        return ()

    def with_lexicon(self, lexicon: Callable[[], frozenset[str]]) -> Metric[P, R]:
        """Bind the task's training words; metrics that need none return themselves."""
        return self


AnyMetric: TypeAlias = Metric[Any, Any]


def none_if_nan(value: float) -> float | None:
    """Undefined values are None outside of arrays."""
    return None if value != value else value


def check_corpus(
    predictions: Sequence[object],
    references: Sequence[Sequence[object]],
    *,
    may_lack_references: bool = False,
) -> None:
    """Refuse corpora that reference scorers would cut, crash on or score in silence.

    Raises:
        InvalidInputError: Lengths differ, the corpus is empty, or an example has no reference.
        InvalidTypeError: A bare string stands where a list of references belongs.
    """
    if isinstance(predictions, str | bytes):
        raise InvalidTypeError("predictions are one string; expected a list with one prediction an example")
    if len(predictions) != len(references):
        raise InvalidInputError(
            f"{len(predictions)} predictions but references for {len(references)} examples;"
            " expected one list of references for each prediction"
        )
    if not predictions:
        raise InvalidInputError("empty corpus: expected at least one example")
    for index, refs in enumerate(references):
        if isinstance(refs, str | bytes):
            raise InvalidTypeError(
                f"example {index}: the references are the bare string {_short(refs)};"
                " expected a list of references, such as [reference]"
            )
        if not refs and not may_lack_references:
            raise InvalidInputError(f"example {index} has no reference; expected at least one")


def check_texts(predictions: Sequence[object], references: Sequence[Sequence[object]]) -> None:
    """As `check_corpus`, and every prediction and reference must be a string.

    Raises:
        InvalidInputError: As `check_corpus`.
        InvalidTypeError: A prediction or reference is not a string.
    """
    check_corpus(predictions, references)
    for index, prediction in enumerate(predictions):
        if not isinstance(prediction, str):
            raise InvalidTypeError(
                f"prediction {index} is {_short(prediction)}; expected a string ('' for an empty output)"
            )
        for reference in references[index]:
            if not isinstance(reference, str):
                raise InvalidTypeError(f"example {index}: reference {_short(reference)} is not a string")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
