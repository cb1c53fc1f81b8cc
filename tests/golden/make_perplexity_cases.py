"""Write the conformance cases of perplexity by running lm-evaluation-harness and the loop of the Hugging Face guide.

    pip install lm-eval
    python tests/golden/make_perplexity_cases.py

Two kinds have no reference that can be run, and are computed here from the stated formulas: the strided windows come from
the loop of the guide (transformers, docs/source/en/perplexity.md) with its labels and their shift written out in lists;
pseudo-perplexity follows awslabs/mlm-scoring, src/mlm/cmds.py.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lm_eval.api.metrics import bits_per_byte, weighted_perplexity
from lm_eval.tasks.wikitext.preprocess_wikitext import process_results
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

CASES = Path(__file__).resolve().parents[2] / "evalkit" / "conformance" / "cases"
LM_EVAL = f"lm-evaluation-harness {version('lm-eval')}"
GUIDE = "derived from the Hugging Face fixed-length perplexity guide"
MLM = "derived from awslabs/mlm-scoring cmds.py formulas"
IGNORED = -100

Texts = list[tuple[str, int, str]]
TEXTS: list[tuple[str, str, Texts]] = [
    ("en", "", [("Gulls circle the old pier at low tide.", 11, "")]),
    ("en corpus", "summed, not averaged over texts", [("Salt.", 2, ""), ("Nets dry on the harbour wall all day.", 9, "")]),
    ("zh", "one word by whitespace", [("退潮时海鸥绕着旧码头飞。", 9, "")]),
    ("zh corpus mixed", "", [("三只海鸥 two gulls", 8, ""), ("灯塔", 1, "")]),
    ("whitespace pitfall", "the empty pieces at the ends count as words", [("\n tide \t pool\r\n", 5, "")]),
    ("whitespace pitfall", "a text of spaces has two words", [("   ", 1, "")]),
    ("whitespace unicode", "U+3000, U+2028 and U+001F separate words, U+200B does not", [("a\u3000b\u2028c\x1fd\u200be", 6, "")]),
    ("unicode", "bytes are UTF-8, characters are code points", [("🗼 cre\u0300me 𠮷", 7, "")]),
    ("certain", "perplexity 1", [("shell", 3, "zero")]),
    ("unlikely", "values far apart", [("shell", 2, "large"), ("crab claw", 4, "small")]),
    ("corpus", "three texts", [("one", 1, ""), ("two three", 3, ""), ("four five six", 6, "")]),
]  # fmt: skip
ROLLING = [(12, 5, 1), (12, 5, 3), (5, 5, 1), (6, 5, 1), (9, 5, 5), (1, 1, 1), (4, 1, 1), (0, 3, 2), (11, 4, 2)]
STRIDED = [(11, 5, 3), (10, 5, 5), (6, 6, 2), (7, 6, 1), (1, 4, 2), (0, 4, 2), (2, 1, 1), (13, 8, 7)]
TOYS = [(9, 0, 5, 3, 14), (5, 4, 3, 1, 8), (11, 7, 6, 6, 20), (3, 1, 8, 4, 6)]
MASKED = [
    ("mlm en", "", ["Gulls wait here"], [5]),
    ("mlm corpus", "sums over sums", ["low tide", "a grey  seal"], [3, 4]),
    ("mlm zh", "one word, a token a character", ["退潮了"], [3]),
    ("mlm whitespace pitfall", "split at single spaces: empty words count", [" tide  pool "], [4]),
]
ERRORS = [
    ("perplexity", {"kind": "from_logprobs"}, [[-1.0], []], [["a"], ["b"]], "no scored token"),
    ("perplexity", {"kind": "from_logprobs"}, [[-1.0, 1e-3]], [["a"]], "a log-probability above 0"),
    ("perplexity", {"kind": "from_logprobs"}, [[-1.0]], [["a"], ["b"]], "lengths differ"),
    ("perplexity", {"kind": "from_logprobs"}, [[-1.0]], [["a", "b"]], "two texts for one sequence"),
    ("perplexity", {"kind": "from_logprobs"}, [], [], "empty corpus"),
    ("perplexity", {"kind": "rolling_windows", "prefix_token": 0, "max_length": 0, "context_length": 1}, [[1]], [[]],
     "no room for a token"),
    ("perplexity", {"kind": "rolling_windows", "prefix_token": 0, "max_length": 2, "context_length": 3}, [[1]], [[]],
     "more context than the model takes"),
    ("perplexity", {"kind": "strided_windows", "max_length": 4, "stride": 0}, [[1]], [[]], "a stride of nothing"),
    ("pseudo_perplexity", {}, [[None, None]], [["a"]], "special tokens only"),
]  # fmt: skip

Body = tuple[str, dict[str, Any], list[Any], list[Any], dict[str, Any], str, str, str]


def _logprobs(rng: random.Random, count: int, size: str) -> list[float]:
    factor = {"": 3.0, "zero": 0.0, "large": 40.0, "small": 1e-4}[size]
    return [0.0 - round(rng.random() * factor, 7) for _ in range(count)]


def _from_logprobs(rng: random.Random) -> Iterator[Body]:
    for tags, note, texts in TEXTS:
        predictions = [_logprobs(rng, count, size) for _, count, size in texts]
        results = [
            process_results({"page": text}, [sum(logprobs)])
            for (text, _, _), logprobs in zip(texts, predictions, strict=True)
        ]
        by_bytes = [result["byte_perplexity"] for result in results]
        by_words = [result["word_perplexity"] for result in results]
        tokens = [(sum(logprobs), len(logprobs)) for logprobs in predictions]
        sequences = [weighted_perplexity([pair]) for pair in tokens]
        expected = {
            "sum_logprob": sum(total for total, _ in tokens),
            "tokens": sum(count for _, count in tokens),
            "words": sum(count for _, count in by_words),
            "bytes": sum(count for _, count in by_bytes),
            "chars": sum(len(text) for text, _, _ in texts),
            "token_perplexity": weighted_perplexity(tokens),
            "word_perplexity": weighted_perplexity(by_words),
            "byte_perplexity": weighted_perplexity(by_bytes),
            "bits_per_byte": bits_per_byte([result["bits_per_byte"] for result in results]),
            "bits_per_char": bits_per_byte(
                [(sum(lp), len(t)) for lp, (t, _, _) in zip(predictions, texts, strict=True)]
            ),
            "sequence_perplexities": sequences,
            "mean_sequence_perplexity": sum(sequences) / len(sequences),
        }
        references = [[text] for text, _, _ in texts]
        yield "perplexity", {"kind": "from_logprobs"}, predictions, references, expected, LM_EVAL, tags, note


def _rolling(ids: list[int], prefix: int, max_length: int, context_length: int) -> list[list[list[int]]]:
    windows = get_rolling_token_windows(ids, prefix, max_length, context_length)
    return [list(map(list, make_disjoint_window(window))) for window in windows]


def _rolling_windows(rng: random.Random) -> Iterator[Body]:
    for length, max_length, context_length in ROLLING:
        ids = [rng.randrange(100) for _ in range(length)]
        expected = {"windows": _rolling(ids, 50, max_length, context_length)}
        params = {"prefix_token": 50, "max_length": max_length, "context_length": context_length}
        yield "perplexity", {"kind": "rolling_windows", **params}, [ids], [[]], expected, LM_EVAL, "windows", ""


def _guide(length: int, max_length: int, stride: int) -> Iterator[dict[str, Any]]:
    previous_end = 0
    for begin in range(0, length, stride):
        end = min(begin + max_length, length)
        target_length = end - previous_end
        labels = list(range(begin, end))
        labels[:-target_length] = [IGNORED] * (end - begin - target_length)
        # The model shifts the labels: the first one of a window is never predicted.
        scored = [position for position in labels[1:] if position != IGNORED]
        weight = sum(position != IGNORED for position in labels) - 1
        yield {
            "begin": begin,
            "end": end,
            "target_len": target_length,
            "scored_positions": scored,
            "doc_weight": weight,
        }
        previous_end = end
        if end == length:
            return


def _strided_windows(rng: random.Random) -> Iterator[Body]:
    for length, max_length, stride in STRIDED:
        ids = [rng.randrange(100) for _ in range(length)]
        params = {"kind": "strided_windows", "max_length": max_length, "stride": stride}
        expected = {"windows": list(_guide(length, max_length, stride))}
        yield "perplexity", params, [ids], [[]], expected, GUIDE, "windows", ""


def _toy(context: Sequence[int], token: int, size: int) -> float:
    hidden = sum((context[-distance] + 1) / distance for distance in range(1, len(context) + 1))
    logits = [math.cos(0.7 * candidate + 0.3 * hidden) for candidate in range(size)]
    return logits[token] - math.log(sum(math.exp(logit) for logit in logits))


def _toy_lm(rng: random.Random) -> Iterator[Body]:
    for size, prefix, max_length, stride, length in TOYS:
        ids = [rng.randrange(size) for _ in range(length)]
        full = [_toy([prefix, *ids[:place]], token, size) for place, token in enumerate(ids)]
        rolling = [
            _toy([*context, *targets[:place]], token, size)
            for context, targets in _rolling(ids, prefix, max_length, 1)
            for place, token in enumerate(targets)
        ]
        strided, weighted, weights = [], 0.0, 0
        for window in _guide(length, max_length, stride):
            found = [_toy(ids[window["begin"] : at], ids[at], size) for at in window["scored_positions"]]
            strided += found
            weighted += sum(found) / len(found) * window["doc_weight"]
            weights += window["doc_weight"]
        expected = {
            "full_context_perplexity": weighted_perplexity([(sum(full), length)]),
            "rolling_perplexity": weighted_perplexity([(sum(rolling), length)]),
            "rolling_sum_logprob": sum(rolling),
            "strided_perplexity": weighted_perplexity([(sum(strided), len(strided))]),
            "strided_scored_tokens": len(strided),
            "strided_hf_doc_perplexity": math.exp(-weighted / weights),
        }
        params = {"kind": "toy_lm", "vocab_size": size, "prefix_token": prefix}
        params |= {"max_length": max_length, "stride": stride}
        yield "perplexity", params, [ids], [[]], expected, f"{LM_EVAL}; strided: {GUIDE}", "toy", ""


def _masked(rng: random.Random) -> Iterator[Body]:
    for tags, note, texts, counts in MASKED:
        predictions = [[None, *_logprobs(rng, count, ""), None] for count in counts]
        pll = [sum(logprob for logprob in masked if logprob is not None) for masked in predictions]
        tokens, words = sum(counts), sum(len(text.split(" ")) for text in texts)
        per_token = math.exp(-sum(pll) / tokens)
        expected = {
            "pll": pll,
            "tokens": tokens,
            "words": words,
            "token_pseudo_perplexity": per_token,
            "word_pseudo_perplexity": math.exp(tokens / words * math.log(per_token)),
        }
        yield "pseudo_perplexity", {}, predictions, [[text] for text in texts], expected, MLM, tags, note


def _errors() -> Iterator[Body]:
    for metric, params, predictions, references, note in ERRORS:
        yield metric, params, predictions, references, {"error": "ValueError"}, "policy", "error", note


def _case(number: int, body: Body) -> dict[str, Any]:
    metric, params, predictions, references, expected, source, tags, note = body
    return {
        "id": f"{metric}-e{number:03}",
        "metric": metric,
        "params": params,
        "predictions": predictions,
        "references": references,
        "expected": expected,
        "tolerance": 0 if "error" in expected else 1e-9,
        "source": source,
        "tags": tags.split(),
        "note": note,
    }


def main() -> None:
    rng = random.Random(20)
    makers = (_from_logprobs, _rolling_windows, _strided_windows, _toy_lm, _masked)
    bodies = [body for make in makers for body in make(rng)] + list(_errors())
    for metric in ("perplexity", "pseudo_perplexity"):
        chosen = [body for body in bodies if body[0] == metric]
        lines = [json.dumps(_case(*pair), ensure_ascii=False) + "\n" for pair in enumerate(chosen, start=1)]
        (CASES / f"{metric}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{metric}: {len(lines)} cases")


if __name__ == "__main__":
    main()
