"""Metric name to what computes a case of it."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.conformance import mt, perplexity, qa, summarization, tagging
from evalkit.conformance.case import Evaluator

EVALUATORS: Mapping[str, Evaluator] = {
    **mt.EVALUATORS,
    **summarization.EVALUATORS,
    **qa.EVALUATORS,
    **tagging.EVALUATORS,
    **perplexity.EVALUATORS,
}
