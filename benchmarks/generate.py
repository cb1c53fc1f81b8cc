"""Time greedy generation of GPT-2 models against transformers, with the same weights, prompts and one thread.

    python benchmarks/generate.py [--rounds N] [--only WORD] [--vocabulary N] [--attention eager|sdpa]

Weights and prompts are random; the texts of both sides are compared before anything is timed. `roofline.py` says
what the share of the roofline is.
"""

import argparse
import json
import math
import random
from dataclasses import dataclass

import torch
import transformers
from roofline import least_seconds, seconds
from signs import SignTokenizer

from evalkit.adapters.causal import CausalAdapter
from evalkit.checkpoints.huggingface import to_ours
from evalkit.requests import GenerateRequest, ModelInfo, ModelSettings
from evalkit_models.gpt import GPT, GPTConfig


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    shape: str
    """A key of `SHAPES`."""
    prompts: int
    batch: int
    """transformers' batch; ours finds its own, except that one prompt at a time is one at a time on both sides."""
    new: tuple[int, int]
    """Fewest and most new tokens of a prompt."""
    is_sorted: bool
    target: float


SHAPES = {"6x384": (384, 6, 6), "gpt2": (768, 12, 12)}
ROWS = (
    Row("6x384 sorted, batch 32", "6x384", 64, 32, (64, 64), True, 1.7),
    Row("6x384 file order, batch 16", "6x384", 64, 16, (64, 64), False, 2.3),
    Row("6x384 answers of different lengths, sorted, batch 32", "6x384", 64, 32, (4, 64), True, 2.6),
    Row("6x384 batch 1", "6x384", 6, 1, (64, 64), False, 1.4),
    Row("gpt2 124M sorted, batch 16", "gpt2", 32, 16, (32, 32), True, 2.2),
)


class Lengths(transformers.StoppingCriteria):
    """Stops each row at its own length, as an end token would."""

    def __init__(self, ends: torch.Tensor) -> None:
        self._ends = ends

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **options: object) -> torch.Tensor:
        """Mark the rows that are long enough."""
        return input_ids.shape[1] >= self._ends


class Peer:
    """transformers' generate, on padded batches."""

    def __init__(self, model: transformers.GPT2LMHeadModel, row: Row) -> None:
        self._model, self._row = model, row

    def __call__(self, prompts: list[list[int]], limits: list[int]) -> list[list[int]]:
        """Continue every prompt by so many tokens."""
        order = (
            sorted(range(len(prompts)), key=lambda i: -len(prompts[i])) if self._row.is_sorted else range(len(prompts))
        )
        places = list(order)
        answers: list[list[int]] = [[]] * len(prompts)
        for start in range(0, len(places), self._row.batch):
            batch = places[start : start + self._row.batch]
            longest = max(len(prompts[place]) for place in batch)
            ids = torch.tensor([[0] * (longest - len(prompts[place])) + prompts[place] for place in batch])
            mask = torch.tensor([[0] * (longest - len(prompts[place])) + [1] * len(prompts[place]) for place in batch])
            ends = torch.tensor([longest + limits[place] for place in batch])
            stop = None if self._row.new[0] == self._row.new[1] else transformers.StoppingCriteriaList([Lengths(ends)])
            with torch.inference_mode():
                found = self._model.generate(
                    ids,
                    attention_mask=mask,
                    max_new_tokens=max(limits[place] for place in batch),
                    do_sample=False,
                    pad_token_id=0,
                    eos_token_id=None,
                    stopping_criteria=stop,
                )
            for place, tokens in zip(batch, found.tolist(), strict=True):
                answers[place] = tokens[longest : longest + limits[place]]
        return answers


def bound(row: Row, prompts: list[list[int]], limits: list[int], parameters: int, vocabulary: int) -> float:
    """Compute the seconds that arithmetic and reading of the weights take at least."""
    width, layers, _ = SHAPES[row.shape]
    tokens = sum(map(len, prompts)) + sum(limits) - len(prompts)
    blocks = 2 * parameters * tokens + 2 * width * vocabulary * sum(limits)
    lengths = zip(prompts, limits, strict=True)
    attention = sum(2 * layers * width * (len(ids) + limit) ** 2 for ids, limit in lengths)
    steps = sum(limits) / row.batch
    return least_seconds(blocks + attention, steps * 4 * (parameters + width * vocabulary))


def compare(row: Row, vocabulary: int, attention: str, rounds: int) -> dict[str, object]:
    """Check that both sides give the same texts, and time them in turn."""
    width, layers, heads = SHAPES[row.shape]
    torch.manual_seed(1)
    theirs = transformers.GPT2LMHeadModel._from_config(
        transformers.GPT2Config(
            vocab_size=vocabulary,
            n_positions=256,
            n_embd=width,
            n_layer=layers,
            n_head=heads,
            bos_token_id=None,
            eos_token_id=None,
            initializer_range=0.05,
        ),
        attn_implementation=attention,
    ).eval()
    config = GPTConfig(
        vocab_size=vocabulary, max_length=256, width=width, layers=layers, heads=heads, ff_width=4 * width
    )
    ours = GPT(config)
    ours.load_state_dict(to_ours(theirs.state_dict(), "gpt2"))
    source = random.Random(2)
    prompts = [[source.randrange(vocabulary) for _ in range(source.randint(8, 120))] for _ in range(row.prompts)]
    limits = [source.randint(*row.new) for _ in prompts]
    tokenizer = SignTokenizer()
    requests = [
        GenerateRequest(example_id=str(place), prompt=tokenizer.decode(ids), max_new_tokens=limit)
        for place, (ids, limit) in enumerate(zip(prompts, limits, strict=True))
    ]
    info = ModelInfo(ref="random", name="random", digest="", family="gpt")
    adapter = CausalAdapter(ours, tokenizer, info, ModelSettings(batch_size=1 if row.batch == 1 else None))
    peer = Peer(theirs, row)
    work = {
        "evalkit": lambda: [answer.text for answer in adapter.answer(requests)],
        "peer": lambda: peer(prompts, limits),
    }
    is_equal = work["evalkit"]() == [tokenizer.decode(ids) for ids in work["peer"]()]
    best = dict.fromkeys(work, math.inf)
    for _ in range(rounds):
        for side, call in work.items():
            best[side] = min(best[side], seconds(call)[0])
    parameters = sum(weight.numel() for block in ours.blocks for weight in block.parameters())
    least = bound(row, prompts, limits, parameters, vocabulary)
    return {
        "benchmark": f"generate {row.name}",
        "n": row.prompts,
        "evalkit_s": round(best["evalkit"], 3),
        "peer": f"transformers {transformers.__version__} {attention}",
        "peer_s": round(best["peer"], 3),
        "ratio": round(best["peer"] / best["evalkit"], 2),
        "target": row.target,
        "equal": is_equal,
        "roofline_share": round(least / best["evalkit"], 2),
        "peer_roofline_share": round(least / best["peer"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose names hold this word")
    parser.add_argument("--vocabulary", type=int, default=8192)
    parser.add_argument("--attention", choices=("sdpa", "eager"), default="sdpa")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for row in ROWS:
        if given.only in row.name:
            vocabulary = 50257 if row.shape == "gpt2" else given.vocabulary
            print(json.dumps(compare(row, vocabulary, given.attention, given.rounds)), flush=True)


if __name__ == "__main__":
    main()
