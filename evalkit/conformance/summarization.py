"""Evaluates the conformance cases of ROUGE and METEOR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.conformance.case import Case, Evaluator
from evalkit.metrics.meteor import Meteor
from evalkit.metrics.rouge import Rouge


def _rouge(case: Case) -> Mapping[str, Any]:
    """Values of each example and their means, [precision, recall, F1] for each type; a seeded bootstrap on request."""
    settings = dict(case.params)
    bootstrap = settings.pop("bootstrap", None)
    metric = Rouge(**settings)
    statistics = metric.statistics(case.predictions, case.references)
    values = metric.score(statistics.total(), statistics.columns)
    computed: dict[str, Any] = {"per_example": {}, "mean": {}}
    for rouge_type in metric.rouge_types:
        measures = (f"{rouge_type}_precision", f"{rouge_type}_recall", rouge_type)
        own = [statistics.columns.index(name) for name in measures]
        computed["per_example"][rouge_type] = statistics.rows[:, own].tolist()
        computed["mean"][rouge_type] = [float(values[name]) for name in measures]
    if bootstrap is not None:
        computed["bootstrap"] = metric.bootstrap(case.predictions, case.references, **bootstrap)
    return computed


def _meteor(case: Case) -> Mapping[str, Any]:
    """Score of each example, their mean, and what the alignment with the first reference gave."""
    metric = Meteor(**case.params)
    statistics = metric.statistics(case.predictions, case.references)
    mean = metric.score(statistics.total(), statistics.columns)["meteor"]
    first = [
        list(metric.matches_and_chunks(prediction, references[0]))
        for prediction, references in zip(case.predictions, case.references, strict=True)
    ]
    scores = statistics.rows[:, 0].tolist()
    return {"scores": scores, "mean": float(mean), "matches_chunks_first_reference": first}


def _meteor15(case: Case) -> Mapping[str, Any]:
    """Nothing: asking for METEOR 1.5 says why it is not here, which skips its informational cases."""
    Meteor(variant=case.params["variant"])
    return {}


EVALUATORS: Mapping[str, Evaluator] = {"rouge": _rouge, "meteor": _meteor, "meteor15": _meteor15}
"""How each metric's cases are evaluated."""
