"""Evaluates the conformance cases of tagging, spans and word segmentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalkit.conformance.case import Case, Evaluator
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.conlleval import Conlleval
from evalkit.metrics.cws import Cws
from evalkit.metrics.nervaluate import Nervaluate
from evalkit.metrics.seqeval import Seqeval
from evalkit.metrics.span_f1 import SpanF1
from evalkit.metrics.token_accuracy import TokenAccuracy


def _evaluator(metric: Callable[..., AnyMetric]) -> Evaluator:
    def evaluate(case: Case) -> Mapping[str, Any]:
        settings = {name: tuple(value) if isinstance(value, list) else value for name, value in case.params.items()}
        return metric(**settings).report(case.predictions, case.references)

    return evaluate


EVALUATORS: Mapping[str, Evaluator] = {
    "seqeval": _evaluator(Seqeval),
    "conlleval": _evaluator(Conlleval),
    "nervaluate": _evaluator(Nervaluate),
    "span_f1": _evaluator(SpanF1),
    "token_accuracy": _evaluator(TokenAccuracy),
    "cws": _evaluator(Cws),
}
"""How each metric's cases are evaluated."""
