"""Intervals and paired tests beside sacrebleu's: 1,000 resamples of BLEU and chrF, alone and with the extraction of statistics.

Each row alternates evalkit with sacrebleu in one run, single-threaded CPU time, best of the rounds. Values are compared: corpus
scores must be equal, and intervals must agree as far as two different random draws can.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from corpus import pairs  # noqa: E402
from sacrebleu.metrics import BLEU, CHRF  # noqa: E402
from sacrebleu.significance import PairedTest, _bootstrap_resample, estimate_ci  # noqa: E402

from evalkit.metrics.bleu import Bleu  # noqa: E402
from evalkit.metrics.chrf import Chrf  # noqa: E402
from evalkit.stats import Resampling, estimate, paired_difference, resampled_sums  # noqa: E402

RESAMPLING = Resampling(resamples=1000, seed=1)
METRICS = (Bleu(), Chrf())

Results: TypeAlias = list[tuple[float, float]]
"""A value and the half width of its interval, one pair a metric; 0 where there is none."""


@dataclass(frozen=True)
class Corpus:
    """Two systems' outputs and one reference each."""

    hypotheses: list[str]
    others: list[str]
    references: list[str]

    @property
    def lists(self) -> list[list[str]]:
        """References as evalkit takes them."""
        return [[reference] for reference in self.references]


def make_corpus(n: int) -> Corpus:
    """Draw n sentences; the second system differs from the first in every tenth."""
    hypotheses, references = pairs(n, seed=0)
    changed, _ = pairs(n, seed=1)
    others = [changed[i] if i % 10 == 0 else same for i, same in enumerate(hypotheses)]
    return Corpus(hypotheses, others, references)


def compare(name: str, ours: Callable[[], Results], peer: Callable[[], Results], rounds: int, target: float) -> None:
    """Alternate two calls, check that they agree, print one JSON line."""
    best, results = [math.inf, math.inf], [[], []]
    for _ in range(rounds):
        for side, work in enumerate((ours, peer)):
            started = time.process_time()
            results[side] = work()
            best[side] = min(best[side], time.process_time() - started)
    ratio = best[1] / best[0]
    row = {
        "benchmark": name,
        "evalkit_s": round(best[0], 4),
        "peer": "sacrebleu",
        "peer_s": round(best[1], 4),
        "ratio": round(ratio, 1),
        "target": f">= {target}",
        "met": ratio >= target,
        "equal": agree(*results),
    }
    print(json.dumps(row), flush=True)


def agree(ours: Results, theirs: Results) -> bool:
    """Whether values are equal, and half widths within the noise of 1,000 resamples."""
    return all(
        math.isclose(mine, other, rel_tol=1e-6) and abs(width - other_width) <= 0.2 * other_width
        for (mine, width), (other, other_width) in zip(ours, theirs, strict=True)
    )


def scores_with_intervals(corpus: Corpus) -> tuple[Callable[[], Results], Callable[[], Results]]:
    """BLEU and chrF from text to interval."""

    def ours() -> Results:
        measured = [(metric, metric.statistics(corpus.hypotheses, corpus.lists)) for metric in METRICS]
        return [(rows[0].value, (rows[0].high - rows[0].low) / 2) for rows in estimate(measured, RESAMPLING)]

    def theirs() -> Results:
        scored = [
            metric.corpus_score(corpus.hypotheses, [corpus.references], n_bootstrap=1000) for metric in (BLEU(), CHRF())
        ]
        return [(score.score, score._ci) for score in scored]

    return ours, theirs


def resampling_alone(corpus: Corpus) -> tuple[Callable[[], Results], Callable[[], Results]]:
    """1,000 resampled scores of both metrics from statistics that are there already."""
    tables = [metric.statistics(corpus.hypotheses, corpus.lists) for metric in METRICS]
    peers = [BLEU(references=[corpus.references]), CHRF(references=[corpus.references])]
    segments = [peer._extract_corpus_statistics(corpus.hypotheses, None) for peer in peers]

    def ours() -> Results:
        sums = resampled_sums([table.rows for table in tables], RESAMPLING)
        spreads = [
            metric.score(total, table.columns)[metric.headline[0]]
            for metric, table, total in zip(METRICS, tables, sums, strict=True)
        ]
        return [(1.0, estimate_ci(spread)[1]) for spread in spreads]

    def theirs() -> Results:
        drawn = [_bootstrap_resample(rows, peer, 1000)[1] for rows, peer in zip(segments, peers, strict=True)]
        return [(1.0, estimate_ci([score.score for score in scores])[1]) for scores in drawn]

    return ours, theirs


def paired_test(corpus: Corpus) -> tuple[Callable[[], Results], Callable[[], Results]]:
    """Two systems from text to paired difference."""

    def ours() -> Results:
        results = []
        for metric in METRICS:
            first, second = (metric.statistics(side, corpus.lists) for side in (corpus.hypotheses, corpus.others))
            results.append((paired_difference(metric, first, second, RESAMPLING)[0].value, 0.0))
        return results

    def theirs() -> Results:
        systems = [("first", corpus.hypotheses), ("second", corpus.others)]
        metrics = {"BLEU": BLEU(), "chrF2": CHRF()}
        _, scores = PairedTest(systems, metrics, [corpus.references], test_type="bs", n_samples=1000)()
        return [(pair[1].score - pair[0].score, 0.0) for name, pair in scores.items() if name != "System"]

    return ours, theirs


def main() -> None:
    """Run the three rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    corpus = make_corpus(options.n)
    rows = (
        ("BLEU + chrF with 1,000 resamples", scores_with_intervals, 12),
        ("1,000 resamples alone", resampling_alone, 20),
        ("paired bootstrap of 2 systems", paired_test, 10),
    )
    for name, make, target in rows:
        compare(f"{name}, n={options.n}", *make(corpus), options.rounds, target)


if __name__ == "__main__":
    main()
