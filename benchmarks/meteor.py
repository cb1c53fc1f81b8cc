"""METEOR against nltk's meteor_score, and the time until WordNet answers.

    python benchmarks/meteor.py [--n 3000 30000] [--rounds 3]

nltk must find WordNet (docs/wordnet.md says how). Where EVALKIT_DATA_DIR is set, the references are real English text, the
words of SQuAD's paragraphs and of WikiText-2 in runs of 25, and predictions are references with words dropped and
replaced; else both are made up, and most of their words are in no dictionary. Prints one JSON line a row. Every round
starts without remembered stems and synonyms, as a new process would.
"""

import argparse
import gzip
import json
import math
import os
import random
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from corpus import pairs

from evalkit import wordnet
from evalkit.metrics.meteor import Meteor
from evalkit.metrics.porter import porter_stems

WORDS = 25
LOADS = {
    "evalkit": "from evalkit.metrics.meteor import Meteor; Meteor().report(['a quick reply'], [['a fast reply']])",
    "nltk": "from nltk.translate.meteor_score import meteor_score as m; m([['a', 'fast', 'reply']], ['a', 'quick', 'reply'])",
}
TARGETS = {3000: 2.5, 30_000: 5}


def real_words():
    folder = Path(os.environ["EVALKIT_DATA_DIR"])
    for version in ("1.1", "2.0"):
        with gzip.open(folder / f"qa/squad/dev-v{version}.json.gz", "rt", encoding="utf-8") as file:
            for article in json.load(file)["data"]:
                for paragraph in article["paragraphs"]:
                    yield from paragraph["context"].split()
    for split in ("valid", "test"):
        with gzip.open(folder / f"lm/wikitext2/{split}.txt.gz", "rt", encoding="utf-8") as file:
            yield from file.read().split()


def texts(n):
    """Predictions and references, n of each or as many as there is real text for."""
    if "EVALKIT_DATA_DIR" not in os.environ:
        return pairs(n, seed=1)
    source, words = random.Random(1), list(real_words())
    runs = [words[start : start + WORDS] for start in range(0, len(words) - WORDS, WORDS)][:n]
    predictions = [
        [source.choice(words) if source.random() < 0.3 else word for word in run if source.random() > 0.05]
        for run in runs
    ]
    return [" ".join(run) for run in predictions], [" ".join(run) for run in runs]


def seconds(work, *arguments):
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


def ours(predictions, references):
    porter_stems().clear()
    wordnet.synonyms(wordnet.locate()).clear()
    return Meteor().statistics(predictions, [[text] for text in references]).rows[:, 0].tolist()


def original(predictions, references):
    from nltk.translate.meteor_score import meteor_score

    return [meteor_score([text.split()], line.split()) for line, text in zip(predictions, references, strict=True)]


def load(code):
    """Processor time of a fresh process from its start to the first score."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def row(name, n, best, best_peer, target, equal):
    line = {"benchmark": name, "n": n, "evalkit_s": round(best, 3), "peer": "nltk", "peer_s": round(best_peer, 3)}
    print(json.dumps({**line, "ratio": round(best_peer / best, 2), "target": target, "equal": equal}), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--n", type=int, nargs="+", default=list(TARGETS))
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    loads = [(load(LOADS["evalkit"]), load(LOADS["nltk"])) for _ in range(given.rounds)]
    row("meteor, start to first score", 1, *map(min, zip(*loads, strict=True)), 3, True)
    ours(["a"], ["a"])
    original(["a quick reply"], ["a fast reply"])
    text = "real" if "EVALKIT_DATA_DIR" in os.environ else "made-up"
    for n in given.n:
        predictions, references = texts(n)
        best, best_peer = math.inf, math.inf
        for _ in range(given.rounds):
            duration, got = seconds(ours, predictions, references)
            peer_duration, wanted = seconds(original, predictions, references)
            best, best_peer = min(best, duration), min(best_peer, peer_duration)
        row(f"meteor, {text} text", len(predictions), best, best_peer, TARGETS.get(n), got == wanted)


if __name__ == "__main__":
    main()
