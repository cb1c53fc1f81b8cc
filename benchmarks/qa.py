"""Exact match and F1 of question answering against the official algorithms, values compared first.

    python benchmarks/qa.py [--n 10000] [--script evaluate-v1.1.py]

The peers follow the official scripts step by step, as the scripts are written: every text is normalised for each reference
and for each of the two values. With `--script`, SQuAD's own file is the peer. Where EVALKIT_DATA_DIR is set, the questions
are SQuAD 1.1's (real predictions), repeated or cut to n.
"""

import argparse
import gzip
import importlib.util
import json
import os
import random
import re
import string
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from corpus import pairs

from evalkit.metrics.cmrc2018 import Cmrc2018
from evalkit.metrics.squad import SquadV1

ROUNDS = 3
TARGET = 2.0
CMRC_MARKS = list("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")


class SquadPeer:
    """SQuAD 1.1, step by step; has the functions of the official file."""

    @staticmethod
    def normalize(text):
        """Delete what is not compared."""
        marks = set(string.punctuation)
        text = "".join(character for character in text.lower() if character not in marks)
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())

    def exact_match_score(self, prediction, reference):
        """Compare what is left of two texts."""
        return self.normalize(prediction) == self.normalize(reference)

    def f1_score(self, prediction, reference):
        """Combine precision and recall of the shared tokens."""
        left, right = self.normalize(prediction).split(), self.normalize(reference).split()
        shared = sum((Counter(left) & Counter(right)).values())
        if shared == 0:
            return 0
        precision, recall = shared / len(left), shared / len(right)
        return 2 * precision * recall / (precision + recall)


class CmrcPeer:
    """CMRC 2018, step by step, for text whose words nltk leaves whole."""

    def exact_match_score(self, prediction, reference):
        """Compare what is left of two texts."""
        texts = ["".join(c for c in text.lower().strip() if c not in CMRC_MARKS) for text in (prediction, reference)]
        return texts[0] == texts[1]

    def tokens(self, text):
        """Split into characters and runs."""
        tokens, pending = [], ""
        for character in text.lower().strip():
            if character in CMRC_MARKS:
                continue
            if re.search(r"[\u4e00-\u9fa5]", character):
                tokens += [pending, character] if pending else [character]
                pending = ""
            else:
                pending += character
        return [*tokens, pending] if pending else tokens

    def f1_score(self, prediction, reference):
        """Combine precision and recall of the shared tokens."""
        left, right = self.tokens(prediction), self.tokens(reference)
        table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
        longest = 0
        for i, token in enumerate(left):
            for j, other in enumerate(right):
                if token == other:
                    table[i + 1][j + 1] = table[i][j] + 1
                    longest = max(longest, table[i + 1][j + 1])
        if longest == 0:
            return 0
        precision, recall = longest / len(left), longest / len(right)
        return 2 * precision * recall / (precision + recall)


def load_script(path):
    spec = importlib.util.spec_from_file_location("official", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generated(n):
    predictions, texts = pairs(n, seed=3, words=4)
    references = [[text, f"The {text}", " ".join(text.split()[:2])] for text in texts]
    return predictions, references


def chinese(n):
    source = random.Random(4)
    weights = [1 / (rank + 3) for rank in range(3000)]
    characters = [chr(0x4E00 + 5 * rank) for rank in range(3000)]
    references, predictions = [], []
    for _ in range(n):
        text = "".join(source.choices(characters, weights, k=source.randint(2, 24))) + source.choice(["", "。", "1998"])
        start = source.randrange(len(text))
        references.append([text, text[start:] or text, text[: start + 1]])
        predictions.append(source.choice([text, text[: len(text) // 2 + 1], f"在{text}", text[1:] or text]))
    return predictions, references


def squad(n):
    folder = os.environ.get("EVALKIT_DATA_DIR")
    if not folder:
        return generated(n)
    place = Path(folder) / "qa" / "squad"
    with gzip.open(place / "dev-v1.1.json.gz", "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    with gzip.open(place / "predictions" / "v1.1_logistic_regression.json.gz", "rt", encoding="utf-8") as file:
        given = json.load(file)
    questions = [q for article in articles for paragraph in article["paragraphs"] for q in paragraph["qas"]]
    questions = [q for q in questions if q["id"] in given]
    questions = (questions * (n // len(questions) + 1))[:n]
    return [given[q["id"]] for q in questions], [[answer["text"] for answer in q["answers"]] for q in questions]


def run_peer(peer, predictions, references):
    scores = [0.0, 0.0]
    for text, several in zip(predictions, references, strict=True):
        scores[0] += max(peer.exact_match_score(text, reference) for reference in several)
        scores[1] += max(peer.f1_score(text, reference) for reference in several)
    return [100 * score / len(predictions) for score in scores]


def run_evalkit(metric, predictions, references):
    statistics = metric.statistics(predictions, references)
    values = metric.score(statistics.total(), statistics.columns)
    return [float(values["exact_match"]), float(values["f1"])]


def seconds(function, *arguments):
    start = time.process_time()
    values = function(*arguments)
    return time.process_time() - start, values


def measure(name, metric, peer, corpus):
    run_evalkit(metric, *(part[:50] for part in corpus))
    best, best_peer, equal = float("inf"), float("inf"), True
    for _ in range(ROUNDS):
        taken, values = seconds(run_evalkit, metric, *corpus)
        peer_taken, peer_values = seconds(run_peer, peer, *corpus)
        equal &= all(abs(a - b) < 1e-9 for a, b in zip(values, peer_values, strict=True))
        best, best_peer = min(best, taken), min(best_peer, peer_taken)
    row = {
        "benchmark": name,
        "n": len(corpus[0]),
        "evalkit_s": round(best, 4),
        "peer": "official script" if not isinstance(peer, SquadPeer | CmrcPeer) else "official algorithm",
        "peer_s": round(best_peer, 4),
        "ratio": round(best_peer / best, 2),
        "target": TARGET,
        "equal": equal,
    }
    print(json.dumps(row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--script", help="SQuAD's evaluate-v1.1.py, to run as the peer")
    arguments = parser.parse_args()
    peer = load_script(arguments.script) if arguments.script else SquadPeer()
    measure("qa_squad_v1", SquadV1(), peer, squad(arguments.n))
    measure("qa_cmrc2018", Cmrc2018(), CmrcPeer(), chinese(arguments.n))


if __name__ == "__main__":
    main()
