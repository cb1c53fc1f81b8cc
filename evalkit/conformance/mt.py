"""Evaluates the conformance cases of BLEU, chrF and TER."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.conformance.case import Case, Evaluator
from evalkit.errors import UnknownNameError
from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf
from evalkit.metrics.ter import Ter


def _bleu(case: Case) -> Mapping[str, Any]:
    """Corpus: what sacrebleu prints; sentences: scores, with effective order unless the case says otherwise, and bps."""
    is_corpus, settings = _settings(case)
    if is_corpus:
        return _unversioned(Bleu(**settings).report(case.predictions, case.references))
    metric = Bleu(**{"effective_order": True, **settings})
    statistics = metric.statistics(case.predictions, case.references)
    parts = metric.parts(statistics.rows, statistics.columns)
    return {"scores": parts["score"].tolist(), "bps": parts["bp"].tolist()}


def _chrf(case: Case) -> Mapping[str, Any]:
    """Corpus: score and signature; sentences: scores."""
    is_corpus, settings = _settings(case)
    metric = Chrf(**settings)
    if is_corpus:
        return _unversioned(metric.report(case.predictions, case.references))
    return {"scores": metric.sentence_scores(case.predictions, case.references).tolist()}


def _ter(case: Case) -> Mapping[str, Any]:
    """Corpus: what sacrebleu prints; sentences: scores, edits and mean reference lengths."""
    is_corpus, settings = _settings(case)
    metric = Ter(**settings)
    if is_corpus:
        return _unversioned(metric.report(case.predictions, case.references))
    statistics = metric.statistics(case.predictions, case.references)
    edits, lengths = statistics.rows.T.tolist()
    scores = metric.score(statistics.rows, statistics.columns)["ter"].tolist()
    return {"scores": scores, "num_edits": [int(count) for count in edits], "ref_lengths": lengths}


def _settings(case: Case) -> tuple[bool, dict[str, Any]]:
    """Separate the level from the metric's settings; gives whether the case is about the corpus."""
    settings = dict(case.params)
    level = settings.pop("level", "corpus")
    if level not in ("corpus", "sentence"):
        raise UnknownNameError("level", str(level), ("corpus", "sentence"))
    return level == "corpus", settings


def _unversioned(report: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the version of sacrebleu out of the signature: cases hold for all versions."""
    parts = [part for part in report["signature"].split("|") if not part.startswith("version:")]
    return {**report, "signature": "|".join(parts)}


EVALUATORS: Mapping[str, Evaluator] = {"bleu": _bleu, "chrf": _chrf, "ter": _ter}
"""How each metric's cases are evaluated."""
