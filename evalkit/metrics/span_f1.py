"""Span F1: sets of labelled spans, compared example by example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.base import Metric, Ratio, Statistics
from evalkit.metrics.prf import MEASURES, micro_ratios, type_ratios, type_statistics, types_in
from evalkit.metrics.sequences import check_same_lengths, sequence_pairs

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ANY_TYPE = "*"
"""Name of the one type that all spans have where labels do not count."""


@dataclass(frozen=True, kw_only=True)
class SpanF1(Metric[Sequence[Any], Sequence[Any]]):
    """Micro F1, precision and recall over spans, and the same by type.

    Examples are lists of ``[start, end, label]`` with an exclusive end, or lists of tags, one a token, read by seqeval's default
    rules. Spans of an example are a set: duplicates count once, and spans may overlap or nest. From one tag sequence an example
    the values equal seqeval's micro averages.

    References:
        Set intersection; checked against seqeval 1.2.2.
    """

    name: ClassVar[str] = "span_f1"
    kinds: ClassVar[tuple[str, ...]] = ("ner",)
    reference: ClassVar[str] = "set intersection; seqeval 1.2.2 for tags"

    labelled: bool = True
    """Whether labels must agree; otherwise only boundaries count."""

    @property
    def headline(self) -> tuple[str, ...]:
        """F1, precision and recall."""
        return MEASURES

    def statistics(
        self, predictions: Sequence[Sequence[Any]], references: Sequence[Sequence[Sequence[Any]]]
    ) -> Statistics:
        """Count spans.

        Args:
            predictions: Spans or tags of each example.
            references: The same for the gold standard, one in a list for each example.

        Returns:
            Columns ``tp[TYPE]``, ``pred[TYPE]``, ``gold[TYPE]`` for each type that occurs; without labels the only type is ``*``.

        Raises:
            InvalidInputError: A span is empty or ends before it starts, or numbers of tags differ.
            InvalidTypeError: An example is neither a list of spans nor of tags.
        """
        golds = sequence_pairs(predictions, references, "spans or tags")
        both = [*predictions, *golds]
        if any(map(_is_tagged, both)):
            if not all(_is_tagged(example) or not example for example in both):
                raise InvalidTypeError("some examples are lists of tags, others of spans; expected one form throughout")
            check_same_lengths(predictions, golds, "tags")
            types, counts = self._count_tags(predictions, golds)
        else:
            types, counts = self._count_spans(predictions, golds)
        return type_statistics(types, counts, {})

    def _count_tags(
        self, predictions: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> tuple[Sequence[str], npt.NDArray[np.int64]]:
        from evalkit.metrics import chunking

        pair = chunking.encode(golds, predictions)
        parsed = chunking.parse_all(pair.tags, chunking.ALPHABET, chunking.parse_default(suffix=False))
        gold, pred = (chunking.default_chunks(codes, parsed) for codes in (pair.gold, pair.pred))
        if self.labelled:
            return parsed.names, chunking.count_chunks(pair, gold, pred, len(parsed.names))
        return (ANY_TYPE,), chunking.count_chunks(pair, gold.untyped(), pred.untyped(), 1)

    def _count_spans(
        self, predictions: Sequence[Sequence[Any]], golds: Sequence[Sequence[Any]]
    ) -> tuple[Sequence[str], npt.NDArray[np.int64]]:
        import numpy as np

        gold_spans = [self._spans(example, f"reference {index}") for index, example in enumerate(golds)]
        pred_spans = [self._spans(example, f"prediction {index}") for index, example in enumerate(predictions)]
        places: dict[str, int] = {}
        for spans in (*gold_spans, *pred_spans):
            for _, _, label in spans:
                places.setdefault(label, len(places))
        counts = np.zeros((len(golds), len(places), 3), dtype=np.int64)
        for count, gold, pred in zip(counts, gold_spans, pred_spans, strict=True):
            for column, spans in enumerate((gold & pred, pred, gold)):
                for _, _, label in spans:
                    count[places[label], column] += 1
        return tuple(places), counts

    def _spans(self, example: Sequence[Any], place: str) -> set[tuple[int, int, str]]:
        spans = set()
        for span in example:
            start, end, label = _checked(span, place)
            spans.add((start, end, label if self.labelled else ANY_TYPE))
        return spans

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Micro values, and with labels the values by type."""
        types = types_in(columns)
        return {**micro_ratios(types), **(type_ratios(types) if self.labelled else {})}

    def signature(self, references: Sequence[Sequence[Sequence[Any]]] | None = None) -> str:
        """Whether labels count."""
        return f"{self.name}|labelled:{'yes' if self.labelled else 'no'}"

    def report(
        self,
        predictions: Sequence[Sequence[Any]],
        references: Sequence[Sequence[Sequence[Any]]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """Counts ``tp``, ``gold`` and ``pred`` with the values, and with labels the same ``per_type``."""
        statistics = statistics or self.statistics(predictions, references)
        total = dict(zip(statistics.columns, map(int, statistics.total()), strict=True))
        values = {name: float(value) for name, value in self.score(statistics.total(), statistics.columns).items()}
        types = types_in(statistics.columns)
        counts = {count: sum(total[f"{count}[{name}]"] for name in types) for count in ("tp", "gold", "pred")}
        report: dict[str, Any] = {**counts, **{measure: values[measure] for measure in MEASURES}}
        if self.labelled:
            report["per_type"] = {
                name: {count: total[f"{count}[{name}]"] for count in ("tp", "gold", "pred")}
                | {measure: values[f"{measure}[{name}]"] for measure in MEASURES}
                for name in types
            }
        return report


def _is_tagged(example: Sequence[Any]) -> bool:
    return bool(example) and isinstance(example[0], str)


def _checked(span: object, place: str) -> tuple[int, int, str]:
    if isinstance(span, str) or not isinstance(span, Sequence) or len(span) != 3:
        raise InvalidTypeError(f"{place}: {span!r} is not a span; expected [start, end, label]")
    start, end, label = span
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(label, str):
        raise InvalidTypeError(f"{place}: span {span!r} must have whole numbers start and end and a string label")
    if end <= start:
        raise InvalidInputError(
            f"{place}: a span goes from {start} to {end}; expected an end behind the start, ends are exclusive"
        )
    return start, end, label
