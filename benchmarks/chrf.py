"""chrF and chrF++ statistics and score against sacrebleu, and the memory they take.

    python benchmarks/chrf.py [--n 15000] [--rounds 3]

Prints one JSON line a row. Memory is the growth of the peak of a process of its own, measured on Linux only.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path

from sacrebleu.metrics import CHRF

sys.path.insert(0, str(Path(__file__).parent))

from corpus import pairs

from evalkit.metrics.chrf import Chrf

ROWS = (("chrf", 0, 8), ("chrf++", 2, 6))
LEAST_MEMORY_RATIO = 5


def seconds(work, *arguments):
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


def ours(word_order, predictions, references):
    metric = Chrf(word_order=word_order)
    statistics = metric.statistics(predictions, [[text] for text in references])
    return statistics.rows, float(metric.score(statistics.total(), statistics.columns)["chrf"])


def original(word_order, predictions, references):
    scorer = CHRF(word_order=word_order)
    rows = scorer._extract_corpus_statistics(predictions, [references])
    return rows, scorer._aggregate_and_compute(rows).score


def growth_mb(work, n):
    """Measure how far chrF++ of n pairs raises the peak memory of this process; a small run comes first."""
    texts = pairs(n, seed=1)
    work(2, texts[0][:50], texts[1][:50])
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = peak_mb()
    work(2, *texts)
    return peak_mb() - before


def peak_mb():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def growth_elsewhere_mb(name, n):
    command = [sys.executable, __file__, "--n", str(n), "--growth-of", name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def same(got, wanted):
    return got[0].tolist() == wanted[0] and math.isclose(got[1], wanted[1], rel_tol=1e-14)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--n", type=int, default=15_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument(
        "--growth-of", choices=("evalkit", "sacrebleu"), help="print the memory one of them takes, in MB"
    )
    given = options.parse_args()
    if given.growth_of:
        print(growth_mb(ours if given.growth_of == "evalkit" else original, given.n))
        return
    texts = pairs(given.n, seed=1)
    for row, word_order, target in ROWS:
        best, best_peer = math.inf, math.inf
        for _ in range(given.rounds):
            duration, got = seconds(ours, word_order, *texts)
            peer_duration, wanted = seconds(original, word_order, *texts)
            best, best_peer = min(best, duration), min(best_peer, peer_duration)
        line = {"benchmark": row, "n": given.n, "evalkit_s": round(best, 3), "peer": "sacrebleu"}
        line |= {"peer_s": round(best_peer, 3), "ratio": round(best_peer / best, 2)}
        print(json.dumps(line | {"target": target, "equal": same(got, wanted)}), flush=True)
    if not sys.platform.startswith("linux"):
        return
    own, peers = (growth_elsewhere_mb(name, given.n) for name in ("evalkit", "sacrebleu"))
    line = {"benchmark": "chrf++ memory", "n": given.n, "evalkit_mb": round(own), "peer": "sacrebleu"}
    line |= {"peer_mb": round(peers), "ratio": round(peers / own, 2), "target": LEAST_MEMORY_RATIO}
    print(json.dumps(line))


if __name__ == "__main__":
    main()
