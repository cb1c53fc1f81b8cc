"""Evaluates the conformance cases of question answering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalkit.conformance.case import Case, Evaluator
from evalkit.errors import InvalidInputError
from evalkit.metrics.cmrc2018 import Cmrc2018
from evalkit.metrics.drcd import Drcd
from evalkit.metrics.mlqa import Mlqa
from evalkit.metrics.qa import AnswerMetric, Prediction, answer_texts
from evalkit.metrics.squad import SquadV1, SquadV2
from evalkit.requests import Answer


def _evaluator(metric: Callable[..., AnswerMetric]) -> Evaluator:
    def evaluate(case: Case) -> Mapping[str, Any]:
        return _evaluate(metric(**case.params), case.predictions, case.references)

    return evaluate


def _squad_v2(case: Case) -> Mapping[str, Any]:
    settings = dict(case.params)
    probabilities = settings.pop("no_answer_probs", None)
    predictions = case.predictions
    if probabilities is not None:
        if len(probabilities) != len(predictions):
            raise InvalidInputError(
                f"{len(probabilities)} no-answer probabilities for {len(predictions)} predictions; expected one for each"
            )
        predictions = [Answer(text, probability) for text, probability in zip(predictions, probabilities, strict=True)]
    return _evaluate(SquadV2(**settings), predictions, case.references)


def _evaluate(
    metric: AnswerMetric, predictions: Sequence[Prediction], references: Sequence[Sequence[str]]
) -> Mapping[str, Any]:
    report = metric.report(predictions, references)
    rows = metric.statistics(predictions, references).rows
    # SQuAD 2.0 has one triple of columns for each sort of question, and zeros in the other one.
    values = rows[:, 0:2] if rows.shape[1] == 3 else rows[:, 0:2] + rows[:, 3:5]
    per_example = [
        None if text is None else row for text, row in zip(answer_texts(predictions), values.tolist(), strict=True)
    ]
    return {**report, "per_example": per_example}


EVALUATORS: Mapping[str, Evaluator] = {
    "squad_v1": _evaluator(SquadV1),
    "squad_v2": _squad_v2,
    "cmrc2018": _evaluator(Cmrc2018),
    "drcd": _evaluator(Drcd),
    "mlqa": _evaluator(Mlqa),
}
"""How each metric's cases are evaluated."""
