"""Populations of examples for the simulations: for each example the rows of two real systems and of a worse output.

Two systems are exchangeable when every example's pair of outputs is dealt to them by a fair coin: then neither is better, by
construction. A worse output is made from the first system's, and takes its place in a share of the examples where a true drop
is wanted.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evalkit.adapters.baselines.kneser_ney import KneserNey
from evalkit.comparison.draws import FloatArray
from evalkit.comparison.significance import Measure
from evalkit.metrics.base import AnyMetric, Statistics
from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf
from evalkit.metrics.cws import Cws
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.rouge import Rouge
from evalkit.metrics.seqeval import Seqeval
from evalkit.metrics.squad import SquadV1
from evalkit.requests import RollingResponse


@dataclass(frozen=True)
class Population:
    """Examples to draw from; each array has shape (N, k)."""

    measure: Measure
    first: FloatArray
    second: FloatArray
    worse: FloatArray


def make(name: str, folder: Path) -> Population:
    """Read one population below the folder of published data."""
    return POPULATIONS[name](folder)


def _population(
    metric: AnyMetric, value: str, outputs: Sequence[Sequence[Any]], references: Sequence[Any], relative: bool = False
) -> Population:
    tables = [metric.statistics(output, references) for output in outputs]
    merged = Statistics.merge(tables)
    first, second, worse = np.split(merged.rows, 3)
    return Population(Measure(metric, merged.columns, value, is_relative=relative), first, second, worse)


def lines_of(path: Path) -> list[str]:
    """Read the lines of a text, compressed or not."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line.rstrip("\r") for line in content.decode("utf-8").removesuffix("\n").split("\n")]


def _translations(folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    place = folder / "mt" / "wmt22" / "en-zh"
    first, second = (
        lines_of(place / f"generaltest2022.en-zh.hyp.{system}.zh.gz") for system in ("Online-B", "Lan-Bridge")
    )
    references = [[line] for line in lines_of(place / "generaltest2022.en-zh.ref.A.zh.gz")]
    # Equally long, so that the brevity penalty, which bends the score, plays no part in the drop.
    worse = [line[: len(line) * 3 // 4] + line[len(line) * 3 // 4 :][::-1] for line in first]
    return [first, second, worse], references


def _bleu(folder: Path) -> Population:
    return _population(Bleu(language="zh"), "bleu", *_translations(folder))


def _chrf(folder: Path) -> Population:
    return _population(Chrf(), "chrf", *_translations(folder))


def _answers(folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Two systems' answers to the questions that both SQuAD versions ask."""
    place = folder / "qa" / "squad"
    predictions = [
        json.loads("".join(lines_of(place / "predictions" / name)))
        for name in ("v1.1_logistic_regression.json.gz", "v2.0_bidaf_sa_elmo.json.gz")
    ]
    articles = json.loads("".join(lines_of(place / "dev-v1.1.json.gz")))["data"]
    questions = {
        question["id"]: [answer["text"] for answer in question["answers"]]
        for article in articles
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    }
    both = [name for name in questions if all(name in one for one in predictions)]
    outputs = [[one[name] for name in both] for one in predictions]
    return [*outputs, [""] * len(both)], [questions[name] for name in both]


def _em(folder: Path) -> Population:
    return _population(SquadV1(), "exact_match", *_answers(folder))


def _qa_f1(folder: Path) -> Population:
    return _population(SquadV1(), "f1", *_answers(folder))


def _span_f1(folder: Path) -> Population:
    place = folder / "ner" / "wnut17"
    first, second, gold = (
        _tags(place / name)
        for name in ("submissions/arcada.txt", "submissions/spinningbytes.txt", "emerging.test.annotated")
    )
    worse = [["O"] * len(tags) for tags in gold]
    return _population(Seqeval(), "f1", [first, second, worse], [[tags] for tags in gold])


def _tags(path: Path) -> list[list[str]]:
    sentences: list[list[str]] = [[]]
    for line in lines_of(path):
        if line.strip():
            sentences[-1].append(line.split()[-1])
        elif sentences[-1]:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def _rouge_l(folder: Path) -> Population:
    rows = [json.loads(line) for line in lines_of(folder / "summarization/xsum_hallucination/scored_summaries.jsonl")]
    by_system: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        by_system.setdefault(row["system"], {})[row["bbcid"]] = row
    first, second = (by_system[name] for name in ("BERTS2S", "TConvS2S"))
    names = [name for name in first if name in second]
    outputs = [[one[name]["summary"] for name in names] for one in (first, second)]
    worse = [" ".join(text.split()[: max(1, len(text.split()) // 3)]) for text in outputs[0]]
    return _population(Rouge(), "rougeL", [*outputs, worse], [[first[name]["reference"]] for name in names])


def _cws(folder: Path) -> Population:
    place = folder / "cws" / "gsdsimp_seg"
    words = set(lines_of(place / "train_words.utf8"))
    gold, forward = (lines_of(place / name) for name in ("test_gold.utf8", "outputs/test_fmm.utf8"))
    backward = ["  ".join(_longest_from_the_end("".join(line.split()), words)) for line in gold]
    worse = ["  ".join(_split_last_third(line.split())) for line in forward]
    return _population(Cws(), "f1", [forward, backward, worse], [[line] for line in gold])


def _split_last_third(words: Sequence[str]) -> list[str]:
    kept = len(words) * 2 // 3
    return [*words[:kept], *"".join(words[kept:])]


def _longest_from_the_end(text: str, words: set[str]) -> list[str]:
    found: list[str] = []
    while text:
        size = next((size for size in range(min(12, len(text)), 1, -1) if text[-size:] in words), 1)
        found.append(text[-size:])
        text = text[:-size]
    return found[::-1]


def _perplexity(folder: Path) -> Population:
    """Two character models of the same order, each trained on one half of a text; the worse one is of a lower order."""
    lines = [line for line in lines_of(folder / "lm" / "tinyshakespeare" / "input.txt.gz") if len(line) > 10]
    test, train = lines[-4000:], lines[:-4000]
    models = [KneserNey.train(part, order) for part, order in ((train[::2], 5), (train[1::2], 5), (train[::2], 4))]
    outputs = [
        [RollingResponse(example_id="", logprob_nats=model.logprob_nats(line), token_count=len(line)) for line in test]
        for model in models
    ]
    return _population(Perplexity(), "token_perplexity", outputs, [[line] for line in test], relative=True)


POPULATIONS: Mapping[str, Callable[[Path], Population]] = {
    "BLEU": _bleu,
    "chrF": _chrf,
    "EM": _em,
    "QA F1": _qa_f1,
    "span F1": _span_f1,
    "ROUGE-L": _rouge_l,
    "CWS F1": _cws,
    "perplexity": _perplexity,
}
