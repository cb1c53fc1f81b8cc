"""Time entity F1 with all its averages against seqeval's report.

    python benchmarks/span_f1.py [--n SENTENCES] [--rounds N]

Sentences have about 25 tokens and 1.6 entities of six types; predictions are the gold tags with one in twenty changed.
"""

import argparse
import json
import math
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

from seqeval.metrics import classification_report
from seqeval.scheme import IOB2

from evalkit.metrics.seqeval import Seqeval

TYPES = ("PER", "LOC", "ORG", "WORK", "EVENT", "PRODUCT")
WEIGHTS = (8, 6, 5, 2, 1, 1)
TARGET = 15.0


def corpus(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Draw n sentences of IOB2 tags and a tagger's output."""
    source = random.Random(seed)
    golds, preds = [], []
    tags = ["O", *(f"{prefix}-{name}" for name in TYPES for prefix in "BI")]
    for _ in range(n):
        gold: list[str] = []
        for _ in range(source.randint(9, 23)):
            if source.random() < 0.1:
                name = source.choices(TYPES, WEIGHTS)[0]
                gold += [f"B-{name}", *[f"I-{name}"] * source.choices((0, 1, 2, 3), (5, 4, 2, 1))[0]]
            else:
                gold += ["O"] * source.randint(1, 2)
        golds.append(gold)
        preds.append([source.choice(tags) if source.random() < 0.05 else tag for tag in gold])
    return golds, preds


def seconds(work: Callable[[], dict[str, Any]]) -> tuple[float, dict[str, Any]]:
    """Measure the processor time of one call."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def is_equal(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether all averages and all types have the same values."""
    tables = {f"{kind} avg": ours[kind] for kind in ("micro", "macro", "weighted")} | ours["per_type"]
    return tables.keys() == theirs.keys() and all(
        math.isclose(table[measure], theirs[name][key], abs_tol=1e-12)
        for name, table in tables.items()
        for measure, key in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score"))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    golds, preds = corpus(given.n, seed=1)
    references = [[gold] for gold in golds]
    rows: list[tuple[str, Seqeval, dict[str, Any]]] = [
        ("span F1, all averages, default mode", Seqeval(), {}),
        (
            "span F1, all averages, strict IOB2",
            Seqeval(mode="strict", scheme="IOB2"),
            {"mode": "strict", "scheme": IOB2},
        ),
    ]
    for name, metric, options in rows:
        metric.report(preds[:10], references[:10])
        best, best_peer = math.inf, math.inf
        for _ in range(given.rounds):
            duration, ours = seconds(lambda metric=metric: metric.report(preds, references))
            peer_duration, theirs = seconds(
                lambda options=options: classification_report(
                    golds, preds, output_dict=True, zero_division=0, **options
                )
            )
            best, best_peer = min(best, duration), min(best_peer, peer_duration)
        line = {
            "benchmark": name,
            "n": given.n,
            "evalkit_s": round(best, 4),
            "peer": "seqeval classification_report",
            "peer_s": round(best_peer, 4),
            "ratio": round(best_peer / best, 1),
            "target": TARGET,
            "equal": is_equal(ours, theirs),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
