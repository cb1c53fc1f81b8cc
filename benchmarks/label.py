"""Time token labels of a BERT against transformers, with the same weights, sentences and one thread.

    python benchmarks/label.py [--n N] [--rounds N] [--batch N] [--vocabulary N]

Weights are random. Words are drawn by their frequencies, and lengths of sentences from a log-normal distribution with the mean
and the spread of CoNLL-2003's, 14 and 12 words. Both sides split words into tokens, read them and give a tag a word; the tags
are compared before anything is timed. `floor_s` is what the linear layers alone take for the same tokens, without padding.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Sequence
from itertools import islice

import tokenizers
import torch
import transformers
from corpus import pairs

from evalkit.adapters.masked import MaskedAdapter
from evalkit.checkpoints.huggingface import to_ours
from evalkit.requests import LabelRequest, ModelInfo, ModelSettings
from evalkit.tokenization import Tokenizer, train_wordpiece
from evalkit_models.bert import BertConfig
from evalkit_models.bert_heads import BertForTokenLabels

LABELS = ("O", *(f"{place}-{name}" for name in ("PER", "ORG", "LOC", "MISC") for place in "BI"))
WIDTH, LAYERS, HEADS, LONGEST = 256, 4, 4, 512


class Peer:
    """transformers' token classification on padded batches, as a labelling loop is usually written."""

    def __init__(self, model: transformers.BertForTokenClassification, tokenizer: Tokenizer, batch: int) -> None:
        backend = tokenizers.Tokenizer.from_str(tokenizer.to_json())
        names = {f"{role}_token": token for role, token in tokenizer.special_tokens.items()}
        self._tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **names)
        self._model, self._batch = model, batch

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Tag every word of every sentence, in the order that the sentences have."""
        return [
            tags
            for start in range(0, len(sentences), self._batch)
            for tags in self._label(sentences[start : start + self._batch])
        ]

    def _label(self, sentences: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        encoded = self._tokenizer(
            list(map(list, sentences)),
            is_split_into_words=True,
            padding=True,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        with torch.inference_mode():
            best = self._model(**encoded).logits.argmax(-1).tolist()
        tags = []
        for row, places in enumerate(best):
            firsts: dict[int, int] = {}
            for place, word in enumerate(encoded.word_ids(row)):
                if word is not None:
                    firsts.setdefault(word, place)
            tags.append(tuple(LABELS[places[firsts[word]]] for word in range(len(sentences[row]))))
        return tags


def seconds(work: Callable[[], object]) -> float:
    """Measure the processor time of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def floor(tokens: int) -> float:
    """Measure the linear layers alone, in batches of 1,024 tokens."""
    shapes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]
    layers = [(torch.rand(1024, inputs), torch.rand(inputs, outputs)) for inputs, outputs in shapes]
    once = min(seconds(lambda: [rows @ weight for rows, weight in layers]) for _ in range(20))
    return once * LAYERS * tokens / 1024


def sentences_of(n: int) -> list[list[str]]:
    """Draw sentences of mixed lengths."""
    source = random.Random(3)
    words = iter(word for text in pairs(n, seed=3)[1] for word in text.split())
    lengths = [max(1, min(150, round(source.lognormvariate(2.36, 0.75)))) for _ in range(n)]
    return [list(islice(words, length)) for length in lengths]


def models(vocabulary: int) -> tuple[transformers.BertForTokenClassification, BertForTokenLabels]:
    """Make one model with random weights, theirs and ours."""
    torch.manual_seed(1)
    theirs = transformers.BertForTokenClassification._from_config(
        transformers.BertConfig(
            vocab_size=vocabulary,
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=4 * WIDTH,
            max_position_embeddings=LONGEST,
            num_labels=len(LABELS),
            initializer_range=0.1,
        ),
        attn_implementation="sdpa",
    ).eval()
    config = BertConfig(
        vocab_size=vocabulary, max_length=LONGEST, width=WIDTH, layers=LAYERS, heads=HEADS, ff_width=4 * WIDTH
    )
    ours = BertForTokenLabels(config, len(LABELS))
    ours.load_state_dict(to_ours(theirs.state_dict(), "bert"))
    return theirs, ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=8000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    sentences = sentences_of(given.n)
    tokenizer = train_wordpiece(list(map(" ".join, sentences)), given.vocabulary)
    theirs, ours = models(tokenizer.largest_id + 1)
    peer = Peer(theirs, tokenizer, given.batch)
    adapter = MaskedAdapter(
        ours, tokenizer, ModelInfo(ref="random", name="random", digest="", family="bert"), ModelSettings(), LABELS
    )
    requests = [
        LabelRequest(example_id=str(index), tokens=tuple(words), labels=LABELS) for index, words in enumerate(sentences)
    ]
    by_length = sorted(sentences, key=len)
    work: dict[str, Callable[[], list[tuple[str, ...] | None]]] = {
        "evalkit": lambda: [answer.labels for answer in adapter.answer(requests)],
        "file order": lambda: list(peer(sentences)),
        "sorted": lambda: list(peer(by_length)),
    }
    is_equal = work["evalkit"]() == work["file order"]()
    best = dict.fromkeys(work, math.inf)
    for _ in range(given.rounds):
        for side, call in work.items():
            best[side] = min(best[side], seconds(call))
    tokens = sum(len(tokenizer.encode_words(words).ids) + 2 for words in sentences)
    for order, target in (("file order", 3.8), ("sorted", 1.2)):
        print(
            json.dumps(
                {
                    "benchmark": f"label 4x256 {order}, batch {given.batch}",
                    "n": given.n,
                    "evalkit_s": round(best["evalkit"], 3),
                    "peer": f"transformers {transformers.__version__} sdpa",
                    "peer_s": round(best[order], 3),
                    "ratio": round(best[order] / best["evalkit"], 2),
                    "target": target,
                    "equal": is_equal,
                    "floor_s": round(floor(tokens), 3),
                    "tokens": tokens,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
