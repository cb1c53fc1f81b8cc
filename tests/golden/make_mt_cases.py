"""Write the conformance cases of BLEU, chrF and TER by running sacrebleu.

python tests/golden/make_mt_cases.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU, CHRF, TER

sys.path.insert(0, str(Path(__file__).parent))

import mt_inputs as inputs

CASES = Path(__file__).resolve().parents[2] / "evalkit" / "conformance" / "cases"

Texts = Sequence[str]


def streams(references: Sequence[Texts]) -> list[list[str | None]]:
    """Turn references by example into sacrebleu's streams, None where an example has fewer."""
    most = max(map(len, references))
    return [[texts[index] if index < len(texts) else None for texts in references] for index in range(most)]


def signature(scorer: Any) -> str:
    """Give the signature without sacrebleu's version."""
    return "|".join(part for part in scorer.get_signature().format().split("|") if not part.startswith("version"))


def bleu(params: dict[str, Any], predictions: Texts, references: Sequence[Texts]) -> dict[str, Any]:
    settings = dict(params)
    if settings.pop("level", "corpus") == "sentence":
        scorer = BLEU(**{"effective_order": True, **settings})
        scores = [scorer.sentence_score(*pair) for pair in zip(predictions, references, strict=True)]
        return {"scores": [score.score for score in scores], "bps": [score.bp for score in scores]}
    scorer = BLEU(force=True, **settings)
    score = scorer.corpus_score(predictions, streams(references))
    names = ("score", "precisions", "counts", "totals", "bp", "sys_len", "ref_len")
    return {**{name: getattr(score, name) for name in names}, "signature": signature(scorer)}


def chrf(params: dict[str, Any], predictions: Texts, references: Sequence[Texts]) -> dict[str, Any]:
    settings = dict(params)
    level = settings.pop("level", "corpus")
    scorer = CHRF(**settings)
    if level == "sentence":
        pairs = zip(predictions, references, strict=True)
        return {"scores": [scorer.sentence_score(*pair).score for pair in pairs]}
    score = scorer.corpus_score(predictions, streams(references))
    return {"score": score.score, "signature": signature(scorer)}


def ter(params: dict[str, Any], predictions: Texts, references: Sequence[Texts]) -> dict[str, Any]:
    settings = dict(params)
    level = settings.pop("level", "corpus")
    scorer = TER(**settings)
    if level == "sentence":
        scores = [scorer.sentence_score(*pair) for pair in zip(predictions, references, strict=True)]
        return {
            "scores": [score.score for score in scores],
            "num_edits": [score.num_edits for score in scores],
            "ref_lengths": [score.ref_length for score in scores],
        }
    score = scorer.corpus_score(predictions, streams(references))
    return {
        "score": score.score,
        "num_edits": score.num_edits,
        "ref_length": score.ref_length,
        "signature": signature(scorer),
    }


def cases(
    metric: str, scorer: Callable[..., dict[str, Any]], valid: Sequence[tuple], bad: Sequence[tuple]
) -> Iterator[dict[str, Any]]:
    """Yield the cases of one metric, in the order of the format's ten fields."""
    source = f"sacrebleu {version('sacrebleu')} {metric.upper()}"
    rows = []
    for params, pairs, tags, note in valid:
        predictions, references = ([pair[side] for pair in pairs] for side in (0, 1))
        rows.append(
            (params, predictions, references, scorer(params, predictions, references), 1e-9, source, tags, note)
        )
    for params, predictions, references, error, note in bad:
        rows.append((params, predictions, references, {"error": error}, 0, "policy", "error", note))
    names = ("params", "predictions", "references", "expected", "tolerance", "source", "tags", "note")
    for number, row in enumerate(rows, start=1):
        params, *values = row
        fields = dict(zip(names, ({"level": "corpus", **params}, *values), strict=True))
        yield {"id": f"{metric}-e{number:03}", "metric": metric, **fields, "tags": fields["tags"].split()}


def main() -> None:
    for metric, made in {
        "bleu": cases("bleu", bleu, inputs.BLEU, inputs.BLEU_ERRORS),
        "chrf": cases("chrf", chrf, inputs.CHRF, inputs.CHRF_ERRORS),
        "ter": cases("ter", ter, inputs.TER, inputs.TER_ERRORS),
    }.items():
        lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in made]
        (CASES / f"{metric}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{metric}: {len(lines)} cases")


if __name__ == "__main__":
    main()
