"""Translation edit rate as sacrebleu computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.metrics.base import Metric, Ratio, Statistics, check_texts
from evalkit.metrics.sacrebleu_scorers import sign, tokenizer_of

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray


@dataclass(frozen=True, kw_only=True)
class Ter(Metric[str, str]):
    """Edits, moves of phrases among them, per 100 words of the reference; lower is better and above 100 is possible.

    References:
        Snover et al. (2006), "A study of translation edit rate with targeted human annotation".
    """

    name: ClassVar[str] = "ter"
    kinds: ClassVar[tuple[str, ...]] = ("mt", "summarization")
    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float | None]] = (0.0, None)
    scale: ClassVar[float] = 100.0
    reference: ClassVar[str] = "sacrebleu 2.6.0, metrics.TER"

    normalized: bool = False
    """Whether marks are split from words, entities resolved and lines joined."""
    no_punct: bool = False
    """Whether marks are removed."""
    asian_support: bool = False
    """Whether `normalized` and `no_punct` treat Chinese and Japanese characters and marks too; alone it does nothing."""
    case_sensitive: bool = False

    @property
    def headline(self) -> tuple[str, ...]:
        """TER alone."""
        return ("ter",)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the statistics."""
        return ("edits", "ref_length")

    def statistics(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        """Count the edits against the nearest reference, and the words of references on average, of each example."""
        import numpy as np

        from evalkit.metrics.shift_edits import fewest_edits

        check_texts(predictions, references)
        tokenize = tokenizer_of(self._scorer())
        rows = np.empty((len(predictions), 2))
        for index, (prediction, texts) in enumerate(zip(predictions, references, strict=True)):
            hypothesis = tokenize(prediction.rstrip()).split()
            # sacrebleu tokenizes references twice, which matters where `normalized` splits or resolves more the second time.
            targets = [tokenize(tokenize(text.rstrip())).split() for text in texts]
            rows[index] = fewest_edits(hypothesis, targets), sum(map(len, targets)) / len(targets)
        return Statistics(self.columns, rows)

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """TER is edits over reference words."""
        return {"ter": Ratio({"edits": 1.0}, {"ref_length": 1.0}, scale=self.scale, when_zero=0.0)}

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Turn sums into TER: 100 where references without words meet a prediction that has some."""
        import numpy as np

        is_extra = (sums[..., columns.index("ref_length")] == 0) & (sums[..., columns.index("edits")] > 0)
        return {"ter": np.where(is_extra, self.scale, super().score(sums, columns)["ter"])}

    def sentence_scores(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> FloatArray:
        """Score each example alone; shape (n,)."""
        statistics = self.statistics(predictions, references)
        return self.score(statistics.rows, statistics.columns)["ter"]

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Give sacrebleu's signature."""
        return sign(self._scorer(), references)

    def warnings(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """Say that Chinese or Japanese clauses count as one word each, where they do."""
        from evalkit.metrics.letters import is_unsegmented

        if self.normalized and self.asian_support:
            return ()
        if not is_unsegmented(predictions, references):
            return ()
        return (
            "ter: the texts are mostly Chinese or Japanese without spaces, and whole clauses count as one word; set"
            " normalized = true and asian_support = true",
        )

    def _scorer(self) -> Any:  # noqa: ANN401 - sacrebleu's scorers have no common type here
        from sacrebleu.metrics import TER

        return TER(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )

    def report(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """Give what sacrebleu prints: score, edits, reference length and its signature."""
        statistics = statistics or self.statistics(predictions, references)
        sums = statistics.total()
        return {
            "score": float(self.score(sums, statistics.columns)["ter"]),
            "num_edits": int(sums[0]),
            "ref_length": float(sums[1]),
            "signature": sign(self._scorer(), references),
        }
