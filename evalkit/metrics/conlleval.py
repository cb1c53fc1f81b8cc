"""Phrase F1 as conlleval.pl, the scorer of the CoNLL shared tasks, computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evalkit.metrics.base import Metric, Ratio, Statistics, none_if_nan
from evalkit.metrics.prf import MEASURES, micro_ratios, type_ratios, type_statistics, types_in
from evalkit.metrics.sequences import different_tags, paired_sequences


@dataclass(frozen=True, kw_only=True)
class Conlleval(Metric[Sequence[str], Sequence[str]]):
    """Precision, recall and F1 over phrases, in percent, and the accuracy of tokens.

    Right for IOB1 and IOB2. For IOBES the script overlooks a phrase of the same type right behind ``E-`` or ``S-``, which lifts
    scores; use seqeval there. Values are unrounded; `report` also gives what the script prints.

    References:
        Tjong Kim Sang and Buchholz (2000), CoNLL-2000 shared task: chunking; conlleval.pl, version of 2004-01-26.
    """

    name: ClassVar[str] = "conlleval"
    kinds: ClassVar[tuple[str, ...]] = ("ner",)
    range: ClassVar[tuple[float, float | None]] = (0.0, 100.0)
    scale: ClassVar[float] = 100.0
    reference: ClassVar[str] = "conlleval.pl 2004-01-26"

    raw: bool = False
    """Whether tags are bare types and each token is a phrase of its own (the script's ``-r``)."""

    @property
    def headline(self) -> tuple[str, ...]:
        """F1, precision and recall."""
        return ("f1", "precision", "recall")

    def statistics(
        self, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
    ) -> Statistics:
        """Count phrases by type, and tokens.

        Args:
            predictions: One sequence of tags an example.
            references: One sequence of tags an example, in a list.

        Returns:
            Columns ``tp[TYPE]``, ``pred[TYPE]``, ``gold[TYPE]`` for each type that occurs, ``correct`` and ``total`` tokens.

        Raises:
            InvalidInputError: The numbers of tags differ in an example, or a tag is empty.
            InvalidTypeError: An example is not a list, or a tag not a string.
        """
        from evalkit.metrics.chunking import encode
        from evalkit.metrics.conll_phrases import count_phrases

        predicted, golds = paired_sequences(predictions, references, "tags")
        pair = encode(golds, predicted)
        phrases = count_phrases(pair, self.raw)
        extra = {"correct": phrases.correct_tokens, "total": pair.by_sentence(pair.inside)}
        return type_statistics(phrases.types, phrases.counts, extra)

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Phrase values, token accuracy and the phrase values by type, in percent."""
        types = types_in(columns)
        return {
            **micro_ratios(types, self.scale),
            "accuracy": Ratio({"correct": 1.0}, {"total": 1.0}, self.scale),
            **type_ratios(types, self.scale),
        }

    def signature(self, references: Sequence[Sequence[Sequence[str]]] | None = None) -> str:
        """Whether tags are raw."""
        return f"{self.name}|raw:{'yes' if self.raw else 'no'}"

    def warnings(
        self, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
    ) -> tuple[str, ...]:
        """Whether the tags look like IOBES, which the script miscounts."""
        if self.raw or not any(tag[:2] in ("E-", "S-") for tag in different_tags(predictions, references)):
            return ()
        return (
            "tags have the prefixes E- or S-: conlleval overlooks a phrase of the same type right behind them;"
            " convert the tags to IOB2 or use seqeval",
        )

    def report(
        self,
        predictions: Sequence[Sequence[str]],
        references: Sequence[Sequence[Sequence[str]]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """What the script prints: counts, values, and values rounded as printed (``accuracy_2dp``, ``per_type_2dp``)."""
        statistics = statistics or self.statistics(predictions, references)
        total = dict(zip(statistics.columns, statistics.total(), strict=True))
        values = {name: float(value) for name, value in self.score(statistics.total(), statistics.columns).items()}
        types = types_in(statistics.columns)
        counts = {
            key: int(sum(total[f"{column}[{name}]"] for name in types))
            for key, column in (("gold_phrases", "gold"), ("found_phrases", "pred"), ("correct_phrases", "tp"))
        }
        return {
            "tokens": int(total["total"]),
            **counts,
            "accuracy": none_if_nan(values["accuracy"]),
            "accuracy_2dp": none_if_nan(_as_printed(values["accuracy"])),
            "precision": values["precision"],
            "recall": values["recall"],
            "f1": values["f1"],
            "per_type_2dp": {
                name: {measure: _as_printed(values[f"{measure}[{name}]"]) for measure in MEASURES}
                | {"found": int(total[f"pred[{name}]"])}
                for name in types
            },
        }


def _as_printed(value: float) -> float:
    return float(f"{value:.2f}")
