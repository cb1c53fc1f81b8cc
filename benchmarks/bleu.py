"""BLEU statistics and score against sacrebleu.

    python benchmarks/bleu.py [--n 30000] [--rounds 3]

Prints one JSON line a row. Every round starts without remembered tokens, as a new process would.
"""

import argparse
import json
import math
import random
import sys
import time
from pathlib import Path

from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

sys.path.insert(0, str(Path(__file__).parent))

from corpus import pairs

from evalkit.metrics.bleu import Bleu


def seconds(work, *arguments):
    for tokenizer in (Tokenizer13a, TokenizerRegexp, TokenizerZh):
        tokenizer.__call__.cache_clear()
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


def ours(tokenize, predictions, references):
    metric = Bleu(tokenize=tokenize)
    statistics = metric.statistics(predictions, [[text] for text in references])
    return statistics.rows, float(metric.score(statistics.total(), statistics.columns)["bleu"])


def original(tokenize, predictions, references):
    scorer = BLEU(tokenize=tokenize, force=True)
    rows = scorer._extract_corpus_statistics(predictions, [references])
    return rows, scorer._aggregate_and_compute(rows).score


def in_chinese(texts):
    """Write each word as one or two Chinese characters, the frequent ones as one, and end clauses with full-width marks."""
    source = random.Random(2)
    characters = [chr(code) for code in range(0x4E00, 0x4E00 + 4000)]
    table = {}
    written = []
    for text in texts:
        words = text.rstrip(".").split()
        for word in words:
            table.setdefault(word.rstrip(","), "".join(source.choices(characters, k=1 + (len(table) > 500))))
        written.append("".join(table[word.rstrip(",")] + "，" * word.endswith(",") for word in words) + "。")
    return written


def same(got, wanted):
    return got[0].tolist() == wanted[0] and math.isclose(got[1], wanted[1], rel_tol=1e-14)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--n", type=int, default=30_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    texts = pairs(given.n, seed=1)
    fewer = tuple(side[: max(1, given.n // 10)] for side in texts)
    both = in_chinese([*texts[0], *texts[1]])
    chinese = both[: given.n], both[given.n :]
    rows = (("bleu", "13a", texts, 8), ("bleu, a tenth", "13a", fewer, None), ("bleu, Chinese", "zh", chinese, None))
    for row, tokenize, (predictions, references), target in rows:
        best, best_peer = math.inf, math.inf
        for _ in range(given.rounds):
            duration, got = seconds(ours, tokenize, predictions, references)
            peer_duration, wanted = seconds(original, tokenize, predictions, references)
            best, best_peer = min(best, duration), min(best_peer, peer_duration)
        line = {"benchmark": row, "n": len(predictions), "evalkit_s": round(best, 3), "peer": "sacrebleu"}
        line |= {"peer_s": round(best_peer, 3), "ratio": round(best_peer / best, 2)}
        line |= {"target": target, "equal": same(got, wanted)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
