"""Write the conformance cases of tagging, spans and word segmentation by running the reference scorers.

    python tests/golden/make_tagging_cases.py SCRIPTS

seqeval, nervaluate and scikit-learn are development dependencies. SCRIPTS is a folder with two Perl scripts, which are not
part of this project:

    conlleval.pl   version of 2004-01-26; copy in kyzhouhzau/BERT-NER
    score          SIGHAN bakeoff 2005, with $diff set to GNU diff; copy in BruceDGit/NLP_Exercises, icwb2-data/scripts

Span F1 and the span variant of word segmentation have no reference scorer; their values are set intersections, written out here.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from tagging_inputs import INPUTS

CASES = Path(__file__).resolve().parents[2] / "evalkit" / "conformance" / "cases"
STRATEGIES = ("strict", "partial", "ent_type", "exact")
COUNTS = ("correct", "incorrect", "partial", "missed", "spurious", "possible", "actual", "precision", "recall", "f1")

Params = Mapping[str, Any]


def _seqeval(preds: list[Any], golds: list[Any], params: Params) -> dict[str, Any]:
    from seqeval import scheme
    from seqeval.metrics import accuracy_score, classification_report

    options = {"zero_division": 0, **params}
    if "scheme" in options:
        options["scheme"] = getattr(scheme, options["scheme"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = classification_report(golds, preds, output_dict=True, **options)
    named = {
        name: {"precision": float(row["precision"]), "recall": float(row["recall"]), "f1": float(row["f1-score"])}
        for name, row in rows.items()
    }
    return {
        **{kind: named[f"{kind} avg"] for kind in ("micro", "macro", "weighted")},
        "per_type": {
            name: values | {"support": int(rows[name]["support"])}
            for name, values in named.items()
            if not name.endswith(" avg")
        },
        "accuracy": accuracy_score(golds, preds),
    }


def _conlleval(script: Path, preds: list[Any], golds: list[Any], params: Params) -> dict[str, Any]:
    sentences = [
        "".join(f"w {gold} {pred}\n" for gold, pred in zip(*pair, strict=True))
        for pair in zip(golds, preds, strict=True)
    ]
    command = ["perl", str(script), *(["-r"] if params.get("raw") else [])]
    text = subprocess.run(command, input="\n".join([*sentences, ""]), capture_output=True, text=True, check=True).stdout
    numbers = [int(number) for number in re.findall(r"\d+", text.split("\n")[0])]
    tokens, gold, found, correct = numbers
    per_type = {
        name: dict(zip(("precision", "recall", "f1", "found"), (float(p), float(r), float(f), int(n)), strict=True))
        for name, p, r, f, n in re.findall(
            r"^ *(\S*): precision: +(\S+)%; recall: +(\S+)%; FB1: +(\S+)  (\d+)$", text, re.MULTILINE
        )
    }
    precision, recall = (100 * correct / all_of if all_of else 0.0 for all_of in (found, gold))
    return {
        "tokens": tokens,
        "gold_phrases": gold,
        "found_phrases": found,
        "correct_phrases": correct,
        "accuracy_2dp": float(re.search(r"accuracy: +(\S+)%", text)[1]),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if correct else 0.0,
        "per_type_2dp": per_type,
    }


def _nervaluate(preds: list[Any], golds: list[Any], params: Params) -> dict[str, Any]:
    from nervaluate.evaluator import Evaluator

    seen = sorted({entity["label"] for examples in (golds, preds) for example in examples for entity in example})
    least = params.get("min_overlap_percentage", 1.0)
    evaluator = Evaluator(golds, preds, params.get("labels", seen), loader="dict", min_overlap_percentage=least)
    result = evaluator.evaluate()

    def table(by_strategy: Mapping[str, Any]) -> dict[str, Any]:
        return {strategy: {name: getattr(by_strategy[strategy], name) for name in COUNTS} for strategy in STRATEGIES}

    per_type = {label: table(by_strategy) for label, by_strategy in sorted(result["entities"].items())}
    return {"overall": table(result["overall"]), "per_type": per_type}


def _span_f1(preds: list[Any], golds: list[Any], params: Params) -> dict[str, Any]:
    from seqeval.metrics.sequence_labeling import get_entities

    def triples(examples: list[Any]) -> set[tuple[Any, ...]]:
        found = set()
        for index, example in enumerate(examples):
            if example and isinstance(example[0], str):
                example = [(start, end + 1, label) for label, start, end in get_entities(example)]
            found |= {(index, start, end, label) for start, end, label in example}
        return found if params.get("labelled", True) else {(*span[:3], "") for span in found}

    def values(gold: set[Any], pred: set[Any]) -> dict[str, Any]:
        tp = len(gold & pred)
        precision, recall = (tp / len(spans) if spans else 0.0 for spans in (pred, gold))
        f1 = 2 * precision * recall / (precision + recall) if tp else 0.0
        counts = {"tp": tp, "gold": len(gold), "pred": len(pred)}
        return {**counts, "precision": precision, "recall": recall, "f1": f1}

    gold, pred = triples(golds), triples(preds)
    result = values(gold, pred)
    if params.get("labelled", True):
        result["per_type"] = {
            label: values({span for span in gold if span[3] == label}, {span for span in pred if span[3] == label})
            for label in sorted({span[3] for span in gold | pred})
        }
    return result


def _token_accuracy(preds: list[Any], golds: list[Any], params: Params) -> dict[str, Any]:
    from sklearn.metrics import accuracy_score

    kept = [
        [(g, p) for g, p in zip(gold, pred, strict=True) if g not in params.get("ignore", ())]
        for gold, pred in zip(golds, preds, strict=True)
    ]
    flat = [pair for pairs in kept for pair in pairs]
    sentences = [all(g == p for g, p in pairs) for pairs in kept if pairs]
    return {
        "accuracy": float(accuracy_score(*zip(*flat, strict=True))) if flat else 0.0,
        "correct": sum(g == p for g, p in flat),
        "total": len(flat),
        "sentence_accuracy": sum(sentences) / len(sentences) if sentences else 0.0,
    }


def _run_score(script: Path, words: Sequence[str], golds: Sequence[str], preds: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("words", "gold", "pred")]
        for path, lines in zip(paths, (words, golds, preds), strict=True):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
        command = ["perl", str(script), *map(str, paths)]
        return subprocess.run(command, capture_output=True, check=False).stdout.decode(errors="replace")


def _sighan(script: Path, preds: list[Any], golds: list[Any], words: Sequence[str]) -> dict[str, Any]:
    """Count from the side-by-side lines that the script prints, by its own patterns, example by example."""
    counts = dict.fromkeys(("iv", "iv_missed", "oov", "oov_missed", "test", "test_missed"), 0)
    for gold, pred in zip(golds, preds, strict=True):
        if not gold.strip():
            continue
        counts["test"] += len(re.findall("[^ \t\r\u3000]+", pred))
        printed = _run_score(script, words, [gold], [pred])
        for line in re.sub(r"^--.*\n", "", printed.split("INSERTIONS")[0]).split("\n"):
            if first := re.match(r"(\S+)\s", f"{line}\n"):
                kind = "iv" if first[1] in words else "oov"
                counts[kind] += 1
                counts[f"{kind}_missed"] += bool(re.match(r"\S+\s.*\s[|><]\s", f"{line}\n"))
            counts["test_missed"] += bool(re.search(r"\s[|><]\s.*\S$", line))
    true = counts["iv"] + counts["oov"]
    matched = true - counts["iv_missed"] - counts["oov_missed"], counts["test"] - counts["test_missed"]
    summary = re.findall(r"^=== .*:\t(\S+)$", _run_score(script, words, golds, preds), re.MULTILINE)[-6:]
    order = ("recall", "precision", "f1", "oov_rate", "oov_recall", "iv_recall")
    return {
        "true_words": true,
        "test_words": counts["test"],
        "matched_recall": matched[0],
        "matched_precision": matched[1],
        **_word_values(counts, matched, true),
        "printed": dict(zip(order, summary, strict=True)) if len(summary) == 6 and "." in summary[0] else None,
    }


def _word_values(counts: Mapping[str, int], matched: tuple[int, int], true: int) -> dict[str, Any]:
    recall = matched[0] / true
    precision = matched[1] / counts["test"] if counts["test"] else 0.0
    return {
        "recall": recall,
        "precision": precision,
        "f1": 2 * precision * recall / (precision + recall) if recall else 0.0,
        "oov_rate": counts["oov"] / true,
        "oov_recall": 1 - counts["oov_missed"] / counts["oov"] if counts["oov"] else None,
        "iv_recall": 1 - counts["iv_missed"] / counts["iv"] if counts["iv"] else None,
    }


def _cws(script: Path, preds: list[Any], golds: list[Any], params: Params) -> dict[str, Any]:
    words = params["train_words"]
    if params["variant"] == "sighan":
        return _sighan(script, preds, golds, words)

    def spans(line: str) -> dict[tuple[int, int], str]:
        found, start = {}, 0
        for word in re.findall("[^ \t\r\u3000]+", line):
            found[start, start + len(word)] = word
            start += len(word)
        return found

    counts = dict.fromkeys(("iv", "iv_missed", "oov", "oov_missed", "test"), 0)
    for gold, pred in zip(map(spans, golds), map(spans, preds), strict=True):
        counts["test"] += len(pred)
        for span, word in gold.items():
            kind = "iv" if word in words else "oov"
            counts[kind] += 1
            counts[f"{kind}_missed"] += span not in pred
    true = counts["iv"] + counts["oov"]
    matched = true - counts["iv_missed"] - counts["oov_missed"]
    counted = {"true_words": true, "test_words": counts["test"], "matched": matched}
    return {**counted, **_word_values(counts, (matched, matched), true)}


def _scorers(scripts: Path) -> dict[str, tuple[Callable[..., dict[str, Any]], Callable[[Params], str]]]:
    def version(name: str) -> str:
        return f"{name} {importlib.metadata.version(name)}"

    def named(text: str) -> Callable[[Params], str]:
        return lambda params: text

    def cws_source(params: Params) -> str:
        if params["variant"] == "span":
            return "derived: character-span matching"
        return "SIGHAN bakeoff 2005 score script (Perl + GNU diff 3.8)"

    return {
        "seqeval": (_seqeval, named(version("seqeval"))),
        "conlleval": (lambda *given: _conlleval(scripts / "conlleval.pl", *given), named("conlleval.pl 2004-01-26")),
        "nervaluate": (_nervaluate, named(version("nervaluate"))),
        "span_f1": (_span_f1, named("derived: set intersection of [start, end) spans")),
        "token_accuracy": (_token_accuracy, named(f"{version('scikit-learn')} accuracy_score")),
        "cws": (lambda *given: _cws(scripts / "score", *given), cws_source),
    }


def cases(
    metric: str, scorer: Callable[..., dict[str, Any]], source: Callable[[Params], str]
) -> Iterator[dict[str, Any]]:
    """Yield the cases of one metric, in the order of the format's ten fields."""
    for number, given in enumerate(INPUTS[metric], start=1):
        params, error = given["params"], given.get("error")
        golds = None if error else [several[0] for several in given["references"]]
        yield {
            "id": f"{metric}-e{number:03}",
            "metric": metric,
            "params": params,
            "predictions": given["predictions"],
            "references": given["references"],
            "expected": {"error": error} if error else scorer(given["predictions"], golds, params),
            "tolerance": 0 if error else 1e-9,
            "source": "policy" if error else source(params),
            "tags": given["tags"].split(),
            "note": given.get("note", ""),
        }


def main() -> None:
    for metric, (scorer, source) in _scorers(Path(sys.argv[1])).items():
        lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in cases(metric, scorer, source)]
        (CASES / f"{metric}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{metric}: {len(lines)} cases")


if __name__ == "__main__":
    main()
