"""Evaluates the conformance cases of perplexity: log-probabilities, windows, and a toy language model in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.conformance.case import Case, Evaluator
from evalkit.errors import UnknownNameError
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.pseudo_perplexity import PseudoPerplexity
from evalkit.windows import StridedWindow, rolling_windows, strided_windows


def _from_logprobs(case: Case) -> Mapping[str, Any]:
    metric = Perplexity()
    report = metric.report(case.predictions, case.references)
    rows = metric.statistics(case.predictions, case.references)
    sequences = rows.rows[:, rows.columns.index("sequence_perplexity")]
    return {**report, "sequence_perplexities": sequences.tolist()}


def _mlm_pseudo(case: Case) -> Mapping[str, Any]:
    return PseudoPerplexity().report(case.predictions, case.references)


def _rolling_windows(case: Case) -> Mapping[str, Any]:
    params = case.params
    windows = rolling_windows(
        case.predictions[0], params["prefix_token"], params["max_length"], params["context_length"]
    )
    return {"windows": [[list(window.context), list(window.targets)] for window in windows]}


def _strided_windows(case: Case) -> Mapping[str, Any]:
    windows = strided_windows(len(case.predictions[0]), case.params["max_length"], case.params["stride"])
    return {
        "windows": [
            {
                "begin": window.begin,
                "end": window.end,
                "target_len": window.new,
                "scored_positions": list(window.scored),
                "doc_weight": _guide_weight(window),
            }
            for window in windows
        ]
    }


def _guide_weight(window: StridedWindow) -> int:
    """What the Hugging Face guide multiplies a window's mean loss by: one too few where windows overlap."""
    return window.new - 1


def toy_logprob(context: Sequence[int], token: int, vocab_size: int) -> float:
    """Natural-log probability of a token after a context in a language model without parameters.

    Args:
        context: Visible tokens, oldest first; the j-th last one, v, adds (v + 1) / j to the hidden state h.
        token: The token to score.
        vocab_size: Number of tokens; the logit of token v is cos(0.7 v + 0.3 h).
    """
    hidden = sum((visible + 1) / distance for distance, visible in enumerate(reversed(context), start=1))
    logits = [math.cos(0.7 * candidate + 0.3 * hidden) for candidate in range(vocab_size)]
    return logits[token] - math.log(math.fsum(map(math.exp, logits)))


def _toy_lm(case: Case) -> Mapping[str, Any]:
    ids: list[int] = case.predictions[0]
    params = case.params
    prefix, size = params["prefix_token"], params["vocab_size"]
    full = [toy_logprob([prefix, *ids[:place]], token, size) for place, token in enumerate(ids)]
    rolling = [
        toy_logprob([*window.context, *window.targets[:place]], token, size)
        for window in rolling_windows(ids, prefix, params["max_length"])
        for place, token in enumerate(window.targets)
    ]
    windows = strided_windows(len(ids), params["max_length"], params["stride"])
    strided = [[toy_logprob(ids[window.begin : at], ids[at], size) for at in window.scored] for window in windows]
    weighted = [
        (math.fsum(scored) / len(scored) * _guide_weight(window), _guide_weight(window))
        for window, scored in zip(windows, strided, strict=True)
        if scored
    ]
    return {
        "full_context_perplexity": _token_perplexity(full),
        "rolling_perplexity": _token_perplexity(rolling),
        "rolling_sum_logprob": math.fsum(rolling),
        "strided_perplexity": _token_perplexity([logprob for scored in strided for logprob in scored]),
        "strided_scored_tokens": sum(map(len, strided)),
        "strided_hf_doc_perplexity": math.exp(-sum(loss for loss, _ in weighted) / sum(n for _, n in weighted)),
    }


def _token_perplexity(logprobs: Sequence[float]) -> float:
    report = Perplexity().report([logprobs], [[""]])
    value: float = report["token_perplexity"]
    return value


_KINDS: Mapping[str, Evaluator] = {
    "from_logprobs": _from_logprobs,
    "rolling_windows": _rolling_windows,
    "strided_windows": _strided_windows,
    "toy_lm": _toy_lm,
    "mlm_pseudo": _mlm_pseudo,
}


def _perplexity(case: Case) -> Mapping[str, Any]:
    kind = case.params["kind"]
    if kind not in _KINDS:
        raise UnknownNameError("kind of perplexity case", kind, _KINDS)
    return _KINDS[kind](case)


EVALUATORS: Mapping[str, Evaluator] = {"perplexity": _perplexity, "pseudo_perplexity": _mlm_pseudo}
"""How each metric's cases are evaluated."""
