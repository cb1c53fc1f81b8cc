"""ROUGE against rouge-score, and against rouge-score-rs where that is installed.

    python benchmarks/rouge.py [--n 10000] [--rounds 3]

Prints one JSON line a row. Every round starts without remembered stems, as a new process would.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from corpus import pairs

from evalkit.metrics.porter import porter_stems
from evalkit.metrics.rouge import Rouge

TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
ROWS = (
    ("rouge, stemmer", {"use_stemmer": True}, False, 20),
    ("rouge, no stemmer", {}, False, 8),
    ("rouge, stemmer, several lines", {"use_stemmer": True}, True, 8),
)


def seconds(work, *arguments):
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


def ours(settings, predictions, references):
    porter_stems().clear()
    rows = Rouge(rouge_types=TYPES, **settings).statistics(predictions, [[text] for text in references]).rows
    return rows[:, :-1].reshape(len(rows), len(TYPES), 3)


def original(settings, predictions, references):
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(TYPES), **settings)
    return measures(scorer.score(reference, text) for text, reference in zip(predictions, references, strict=True))


def compiled(settings, predictions, references):
    from rouge_score_rs import RougeScorer

    return measures(RougeScorer(list(TYPES), **settings).score_batch(references, predictions))


def measures(scores):
    return np.array([[score[name] for name in TYPES] for score in scores], dtype=np.float64)


def in_lines(texts):
    """Break texts into sentences of about ten words, one a line."""
    return [
        "\n".join(" ".join(words[start : start + 10]) for start in range(0, len(words), 10))
        for words in map(str.split, texts)
    ]


def peers():
    import importlib.util

    yield "rouge-score", original
    if importlib.util.find_spec("rouge_score_rs"):
        yield "rouge-score-rs", compiled


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--n", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    texts = pairs(given.n, seed=1)
    lines = tuple(map(in_lines, texts))
    porter_stems()
    for row, settings, has_lines, target in ROWS:
        predictions, references = lines if has_lines else texts
        for peer, work in peers():
            best, best_peer = math.inf, math.inf
            for _ in range(given.rounds):
                duration, got = seconds(ours, settings, predictions, references)
                peer_duration, wanted = seconds(work, settings, predictions, references)
                best, best_peer = min(best, duration), min(best_peer, peer_duration)
            line = {"benchmark": row, "n": given.n, "evalkit_s": round(best, 3), "peer": peer}
            line |= {"peer_s": round(best_peer, 3), "ratio": round(best_peer / best, 2)}
            line |= {"target": target if peer == "rouge-score" else None, "equal": bool((got == wanted).all())}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
