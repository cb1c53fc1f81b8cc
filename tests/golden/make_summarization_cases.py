"""Write the conformance cases of ROUGE and METEOR by running rouge-score and nltk.

    python tests/golden/make_summarization_cases.py

nltk must find WordNet 3.0 and punkt_tab (docs/wordnet.md says how).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from nltk import word_tokenize
from nltk.corpus import wordnet
from nltk.translate import meteor_score as nltk_meteor
from rouge_score import rouge_scorer, scoring, tokenizers

sys.path.insert(0, str(Path(__file__).parent))

import summarization_inputs as inputs

CASES = Path(__file__).resolve().parents[2] / "evalkit" / "conformance" / "cases"
DEFAULT_TYPES = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
# What the tokenizer cjk_char is defined to keep besides runs of a-z and 0-9.
CHARACTERS = [
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x3040, 0x30FF),
    (0xAC00, 0xD7AF),
    (0x20000, 0x2FA1F),
]

Texts = Sequence[str]
Groups = Sequence[Texts]


class CharacterTokenizer(tokenizers.Tokenizer):
    """Passes runs of a-z and 0-9 to rouge-score's own tokenizer and keeps single characters."""

    def __init__(self, use_stemmer: bool) -> None:
        self._words = tokenizers.DefaultTokenizer(use_stemmer)

    def tokenize(self, text: str) -> list[str]:
        tokens = []
        for part in re.findall(r"[a-z0-9]+|[^a-z0-9]", text.lower()):
            if any(low <= ord(part[0]) <= high for low, high in CHARACTERS):
                tokens.append(part)
            else:
                tokens += self._words.tokenize(part)
        return tokens


def rouge(params: dict[str, Any], predictions: Texts, references: Groups) -> dict[str, Any]:
    types = params.get("rouge_types", DEFAULT_TYPES)
    use_stemmer = params.get("use_stemmer", False)
    tokenizer = CharacterTokenizer(use_stemmer) if params.get("tokenizer") == "cjk_char" else None
    scorer = rouge_scorer.RougeScorer(types, use_stemmer, params.get("split_summaries", False), tokenizer=tokenizer)
    scores = [scorer.score_multi(group, text) for text, group in zip(predictions, references, strict=True)]
    per_example = {name: [[float(value) for value in score[name]] for score in scores] for name in types}
    expected: dict[str, Any] = {
        "per_example": per_example,
        "mean": {name: np.mean(values, axis=0).tolist() for name, values in per_example.items()},
    }
    if "bootstrap" in params:
        aggregator = scoring.BootstrapAggregator(n_samples=params["bootstrap"]["n_samples"])
        for score in scores:
            aggregator.add_scores(score)
        np.random.seed(params["bootstrap"]["seed"])
        bounds = aggregator.aggregate()
        expected["bootstrap"] = {
            name: {bound: [float(value) for value in score] for bound, score in bounds[name]._asdict().items()}
            for name in types
        }
    return expected


def meteor(params: dict[str, Any], predictions: Texts, references: Groups) -> dict[str, Any]:
    weights = {name: params[name] for name in ("alpha", "beta", "gamma") if name in params}
    split: Callable[[str], list[str]] = word_tokenize if "tokenize" in params else str.split
    scores, counts = [], []
    for prediction, group in zip(predictions, references, strict=True):
        hypothesis, words = split(prediction), [split(text) for text in group]
        scores.append(nltk_meteor.meteor_score(words, hypothesis, **weights))
        matches, _, _ = nltk_meteor.align_words(hypothesis, words[0])
        counts.append([len(matches), nltk_meteor._count_chunks(matches) if matches else 0])
    return {"scores": scores, "mean": float(np.mean(scores)), "matches_chunks_first_reference": counts}


def cases(
    metric: str, scorer: Callable[..., dict[str, Any]], source: str, valid: Sequence[tuple], bad: Sequence[tuple]
) -> Iterator[dict[str, Any]]:
    """Yield the cases of one metric, in the order of the format's ten fields."""
    computed = [(*case[:3], scorer(*case[:3]), 1e-9, source, case[3].split(), case[4]) for case in valid]
    refused = [(*case[:3], {"error": case[3]}, 0, "policy", ["error"], case[4]) for case in bad]
    names = ("params", "predictions", "references", "expected", "tolerance", "source", "tags", "note")
    for number, case in enumerate([*computed, *refused], start=1):
        yield {"id": f"{metric}-e{number:03}", "metric": metric, **dict(zip(names, case, strict=True))}


def main() -> None:
    rouge_source = f"rouge-score {version('rouge-score')} RougeScorer"
    meteor_source = f"nltk {version('nltk')} meteor_score, WordNet {wordnet.get_version()}"
    for metric, made in {
        "rouge": cases("rouge", rouge, rouge_source, inputs.ROUGE, inputs.ROUGE_ERRORS),
        "meteor": cases("meteor", meteor, meteor_source, inputs.METEOR, inputs.METEOR_ERRORS),
    }.items():
        lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in made]
        (CASES / f"{metric}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{metric}: {len(lines)} cases")


if __name__ == "__main__":
    main()
