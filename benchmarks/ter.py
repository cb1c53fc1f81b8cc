"""TER statistics and score against sacrebleu, both in one thread.

    python benchmarks/ter.py [--n 4000] [--rounds 3]

Prints one JSON line a row: sentences of about 25 words, and of about 60.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

from sacrebleu.metrics import TER
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

sys.path.insert(0, str(Path(__file__).parent))

from corpus import pairs

from evalkit.metrics.ter import Ter

TARGET = 1.8


def seconds(work, *arguments):
    TercomTokenizer.__call__.cache_clear()
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


def ours(predictions, references):
    metric = Ter()
    statistics = metric.statistics(predictions, [[text] for text in references])
    return statistics.rows, float(metric.score(statistics.total(), statistics.columns)["ter"])


def original(predictions, references):
    scorer = TER()
    rows = scorer._extract_corpus_statistics(predictions, [references])
    return rows, scorer._aggregate_and_compute(rows).score


def same(got, wanted):
    return got[0].tolist() == wanted[0] and math.isclose(got[1], wanted[1], rel_tol=1e-14)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--n", type=int, default=4_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    for row, n, words in (("ter", given.n, 25), ("ter, long sentences", max(1, given.n // 10), 60)):
        texts = pairs(n, seed=1, words=words)
        best, best_peer = math.inf, math.inf
        for _ in range(given.rounds):
            duration, got = seconds(ours, *texts)
            peer_duration, wanted = seconds(original, *texts)
            best, best_peer = min(best, duration), min(best_peer, peer_duration)
        line = {"benchmark": row, "n": n, "evalkit_s": round(best, 3), "peer": "sacrebleu"}
        line |= {"peer_s": round(best_peer, 3), "ratio": round(best_peer / best, 2)}
        print(json.dumps(line | {"target": TARGET, "equal": same(got, wanted)}), flush=True)


if __name__ == "__main__":
    main()
