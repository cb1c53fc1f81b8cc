"""Time scoring with GPT-2 models against lm-evaluation-harness's `hf` model, with the same weights and one thread.

    python benchmarks/score.py [--rounds N] [--only WORD] [--batch N]

Rows: multiple choice, where four continuations follow one long context, and rolling perplexity of texts longer than the
model. Needs `pip install lm_eval`. Both sides read the same texts with the same tokenizer; the log-probabilities are
compared before anything is timed. The harness is given the batch size that is asked for; try a few for its best.
`roofline.py` says what the share of the roofline is; the work is what has to be done, each shared context read once.
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tokenizers
import torch
import transformers

from evalkit.adapters.causal import CausalAdapter, encode_pairs
from evalkit.checkpoints.huggingface import to_ours
from evalkit.requests import ModelInfo, ModelSettings, RollingRequest, ScoreRequest
from evalkit.tokenization import Tokenizer, train_bpe
from evalkit.windows import rolling_windows
from evalkit_models.gpt import GPT, GPTConfig

sys.path.insert(0, __file__.rpartition("/")[0])
from corpus import pairs
from roofline import least_seconds, seconds

VOCABULARY, LENGTH, WIDTH, LAYERS, HEADS = 8192, 512, 384, 6, 6
TARGETS = {"multiple choice": 5.0, "rolling perplexity": 2.2}


def models() -> tuple[Any, GPT, Tokenizer]:
    """Make a random GPT-2 of transformers, ours with the same weights, and a tokenizer."""
    torch.manual_seed(1)
    _, sentences = pairs(4000, seed=1)
    tokenizer = train_bpe(sentences, VOCABULARY)
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=LENGTH,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        bos_token_id=tokenizer.eos_id,
        eos_token_id=tokenizer.eos_id,
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    ours = GPT(
        GPTConfig(vocab_size=VOCABULARY, max_length=LENGTH, width=WIDTH, layers=LAYERS, heads=HEADS, ff_width=4 * WIDTH)
    )
    ours.load_state_dict(to_ours(theirs.state_dict(), "gpt2"))
    return theirs, ours, tokenizer


def harness(model: Any, tokenizer: Tokenizer, batch: int) -> Any:
    """Open lm-evaluation-harness's model on the same weights and tokenizer."""
    try:
        from lm_eval.models.huggingface import HFLM
    except ImportError as error:
        raise SystemExit(f"{error}: this benchmark needs lm-evaluation-harness, pip install lm_eval") from error
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(tokenizer.to_json()),
        **{f"{role}_token": text for role, text in tokenizer.special_tokens.items()},
    )
    return HFLM(pretrained=model, tokenizer=fast, batch_size=batch, max_length=LENGTH, device="cpu")


def instances(kind: str, arguments: list[tuple[str, ...]]) -> list[Any]:
    """Phrase the harness's requests."""
    from lm_eval.api.instance import Instance

    return [Instance(request_type=kind, doc={}, arguments=one, idx=place) for place, one in enumerate(arguments)]


def text(source: random.Random, sentences: list[str], words: int) -> str:
    """Join sentences until there are so many words."""
    joined: list[str] = []
    while len(joined) < words:
        joined += source.choice(sentences).split()
    return " ".join(joined[:words])


@dataclass(frozen=True)
class Work:
    """One line of the table."""

    sides: dict[str, Callable[[], list[float]]]
    """What each side does."""
    read: list[int]
    """Tokens that each forward pass has to read, what contexts share once."""
    scored: int
    """Positions whose logits are needed."""

    def least_seconds(self, model: GPT) -> float:
        """Compute what the arithmetic takes at least; the weights are read so seldom that it does not count."""
        parameters = sum(weight.numel() for block in model.blocks for weight in block.parameters())
        attention = sum(2 * LAYERS * WIDTH * length**2 for length in self.read)
        return least_seconds(2 * parameters * sum(self.read) + attention + 2 * WIDTH * VOCABULARY * self.scored, 0.0)


def multiple_choice(n: int, adapter: CausalAdapter, peer: Any, tokenizer: Tokenizer) -> Work:
    """Score four continuations of each of n contexts."""
    source = random.Random(2)
    _, sentences = pairs(2000, seed=2)
    items = [
        (
            text(source, sentences, source.randint(120, 220)),
            [f" {text(source, sentences, source.randint(3, 12))}" for _ in range(4)],
        )
        for _ in range(n)
    ]
    requests = [
        ScoreRequest(example_id=str(place), context=context, continuations=tuple(choices))
        for place, (context, choices) in enumerate(items)
    ]
    asked = instances("loglikelihood", [(context, choice) for context, choices in items for choice in choices])
    sides = {
        "evalkit": lambda: [value for answer in adapter.answer(requests) for value in answer.logprobs_nats],
        "peer": lambda: [value for value, _ in peer.loglikelihood(asked, disable_tqdm=True)],
    }
    contexts = [len(ids) for ids in tokenizer.ids_of_each([context for context, _ in items])]
    branches = [
        sum(len(target) - 1 for _, target in encode_pairs(tokenizer, [(context, choice) for choice in choices]))
        for context, choices in items
    ]
    return Work(sides, [sum(pair) for pair in zip(contexts, branches, strict=True)], n + sum(branches))


def rolling(n: int, adapter: CausalAdapter, peer: Any, tokenizer: Tokenizer) -> Work:
    """Score n / 4 whole texts."""
    source = random.Random(3)
    _, sentences = pairs(2000, seed=3)
    texts = [text(source, sentences, source.randint(100, 900)) for _ in range(n // 4)]
    requests = [RollingRequest(example_id=str(place), text=one) for place, one in enumerate(texts)]
    asked = instances("loglikelihood_rolling", [(one,) for one in texts])
    sides = {
        "evalkit": lambda: [answer.logprob_nats for answer in adapter.answer(requests)],
        "peer": lambda: peer.loglikelihood_rolling(asked, disable_tqdm=True),
    }
    ids = tokenizer.ids_of_each(texts)
    windows = [window for text_ids in ids for window in rolling_windows(text_ids, 0, LENGTH)]
    return Work(sides, [len(one.context) + len(one.targets) - 1 for one in windows], sum(map(len, ids)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose names hold this word")
    parser.add_argument("--batch", type=int, default=4, help="the harness's batch size")
    given = parser.parse_args()
    torch.set_num_threads(1)
    theirs, ours, tokenizer = models()
    info = ModelInfo(ref="random", name="random", digest="", family="gpt")
    adapter = CausalAdapter(ours, tokenizer, info, ModelSettings())
    peer = harness(theirs, tokenizer, given.batch)
    for name, make in (("multiple choice", multiple_choice), ("rolling perplexity", rolling)):
        if given.only not in name:
            continue
        work = make(given.n, adapter, peer, tokenizer)
        found = {side: call() for side, call in work.sides.items()}
        is_equal = all(
            math.isclose(mine, other, rel_tol=1e-5) for mine, other in zip(found["evalkit"], found["peer"], strict=True)
        )
        best = dict.fromkeys(work.sides, math.inf)
        for _ in range(given.rounds):
            for side, call in work.sides.items():
                best[side] = min(best[side], seconds(call)[0])
        least = work.least_seconds(ours)
        row = {
            "benchmark": f"score {name}",
            "n": given.n,
            "evalkit_s": round(best["evalkit"], 3),
            "peer": f"lm-evaluation-harness hf, batch {given.batch}",
            "peer_s": round(best["peer"], 3),
            "ratio": round(best["peer"] / best["evalkit"], 2),
            "target": TARGETS[name],
            "equal": is_equal,
            "roofline_share": round(least / best["evalkit"], 2),
            "peer_roofline_share": round(least / best["peer"], 2),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
