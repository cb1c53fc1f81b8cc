"""Time greedy generation of T5-small's shape against transformers, with the same weights, prompts and one thread.

    python benchmarks/generate_t5.py [--rounds N] [--only WORD] [--vocabulary N] [--attention eager|sdpa] [--batch-size auto]

Weights and prompts are random; the texts of both sides are compared before anything is timed. transformers gets its prompts
sorted by length, in padded batches; both sides have the same batch size, and `--batch-size auto` lets ours find its own.
`roofline.py` says what the share of the roofline is.
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

from evalkit.adapters.seq2seq import Seq2SeqAdapter
from evalkit.checkpoints.huggingface import to_ours
from evalkit.requests import GenerateRequest, ModelInfo, ModelSettings
from evalkit_models.t5 import SIZES, T5

_END = 1


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    size: str
    """A key of `SIZES`."""
    prompts: int
    batch: int
    """Prompts at once."""
    new: tuple[int, int]
    """Fewest and most new tokens of a prompt."""
    target: float


ROWS = (
    Row("t5-small sorted, batch 8", "t5-small", 24, 8, (48, 48), 1.9),
    Row("t5-small sorted, batch 32", "t5-small", 64, 32, (48, 48), 1.5),
    Row("t5-small answers of different lengths, sorted, batch 32", "t5-small", 64, 32, (4, 48), 1.5),
    Row("t5-small batch 1", "t5-small", 3, 1, (48, 48), 1.8),
    Row("t5-v1_1-small sorted, batch 8", "t5-v1_1-small", 24, 8, (48, 48), 1.9),
)


class Lengths(transformers.StoppingCriteria):
    """Stops each row at its own length, as an end token would."""

    def __init__(self, ends: torch.Tensor) -> None:
        self._ends = ends

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **options: object) -> torch.Tensor:
        """Tell which rows have as many tokens as they may have."""
        return input_ids.shape[1] >= self._ends


class Peer:
    """transformers' generate, on padded batches of prompts that are sorted by length."""

    def __init__(self, model: transformers.T5ForConditionalGeneration, batch: int) -> None:
        self._model, self._batch = model, batch

    def __call__(self, prompts: list[list[int]], limits: list[int]) -> list[list[int]]:
        """Answer all prompts, in their order."""
        order = sorted(range(len(prompts)), key=lambda place: -len(prompts[place]))
        answers: list[list[int]] = [[]] * len(prompts)
        for start in range(0, len(order), self._batch):
            places = order[start : start + self._batch]
            for place, tokens in zip(places, self._answers(places, prompts, limits), strict=True):
                answers[place] = tokens[1 : 1 + limits[place]]
        return answers

    def _answers(self, places: list[int], prompts: list[list[int]], limits: list[int]) -> list[list[int]]:
        longest = max(len(prompts[place]) for place in places)
        gaps = [longest - len(prompts[place]) for place in places]
        ids = torch.tensor([[*prompts[place], *[0] * gap] for place, gap in zip(places, gaps, strict=True)])
        mask = torch.tensor([[1] * (longest - gap) + [0] * gap for gap in gaps])
        most = max(limits[place] for place in places)
        is_even = min(limits[place] for place in places) == most
        ends = torch.tensor([1 + limits[place] for place in places])
        with torch.inference_mode():
            return self._model.generate(
                ids,
                attention_mask=mask,
                max_new_tokens=most,
                do_sample=False,
                eos_token_id=None,
                stopping_criteria=None if is_even else transformers.StoppingCriteriaList([Lengths(ends)]),
            ).tolist()


def models(size: str, vocabulary: int, attention: str) -> tuple[transformers.T5ForConditionalGeneration, T5]:
    """Make the same random model twice."""
    config = SIZES[size]
    torch.manual_seed(1)
    theirs = transformers.T5ForConditionalGeneration._from_config(
        transformers.T5Config(
            vocab_size=vocabulary,
            d_model=config.width,
            d_kv=config.head_width,
            d_ff=config.ff_width,
            num_layers=config.layers,
            num_heads=config.heads,
            feed_forward_proj="gated-gelu" if config.is_gated else "relu",
            tie_word_embeddings=config.tie_head,
            decoder_start_token_id=0,
            eos_token_id=None,
        ),
        attn_implementation=attention,
    ).eval()
    ours = T5(type(config)(**{**vars(config), "vocab_size": vocabulary}))
    ours.load_state_dict(to_ours(theirs.state_dict(), "t5", tie_head=config.tie_head))
    return theirs, ours


def bound(row: Row, sources: list[int], limits: list[int], model: T5) -> float:
    """Compute the seconds that arithmetic and reading of the weights take at least.

    Args:
        row: The line of the table.
        sources: Tokens of each source.
        limits: New tokens of each prompt.
        model: The model.
    """
    config = model.config
    inner = config.heads * config.head_width
    encoder = sum(weight.numel() for block in model.encoder.blocks for weight in block.parameters())
    decoder = sum(weight.numel() for block in model.decoder.blocks for weight in block.parameters())
    head, cross = config.width * config.vocab_size, 2 * config.decoder_layers * config.width * inner
    # A source's keys and values are computed once, not for each token that reads them.
    told = sum(2 * (decoder - cross + head) * limit for limit in limits)
    read = sum(2 * (encoder + cross) * length + 4 * config.layers * inner * length**2 for length in sources)
    seen = sum(
        4 * config.decoder_layers * inner * limit * (length + limit / 2)
        for length, limit in zip(sources, limits, strict=True)
    )
    steps = sum(limits) / row.batch
    return least_seconds(told + read + seen, steps * 4 * (decoder - cross + head))


def compare(row: Row, given: argparse.Namespace) -> dict[str, object]:
    """Check that both sides give the same texts, and time them in turn."""
    theirs, ours = models(row.size, given.vocabulary, given.attention)
    source = random.Random(2)
    prompts = [
        [source.randrange(2, given.vocabulary) for _ in range(source.randint(8, 120))] for _ in range(row.prompts)
    ]
    limits = [source.randint(*row.new) for _ in prompts]
    tokenizer = SignTokenizer(after=(_END,))
    requests = [
        GenerateRequest(example_id=str(place), prompt=tokenizer.decode(ids), max_new_tokens=limit)
        for place, (ids, limit) in enumerate(zip(prompts, limits, strict=True))
    ]
    info = ModelInfo(ref="random", name="random", digest="", family="t5")
    adapter = Seq2SeqAdapter(ours, tokenizer, info, ModelSettings(batch_size=None if given.batch_size else row.batch))
    peer = Peer(theirs, row.batch)
    framed = [[*ids, _END] for ids in prompts]
    work = {
        "evalkit": lambda: [answer.text for answer in adapter.answer(requests)],
        "peer": lambda: peer(framed, limits),
    }
    is_equal = work["evalkit"]() == [tokenizer.decode(ids) for ids in work["peer"]()]
    best = dict.fromkeys(work, math.inf)
    for _ in range(given.rounds):
        for side, call in work.items():
            best[side] = min(best[side], seconds(call)[0])
    least = bound(row, list(map(len, framed)), limits, ours)
    return {
        "benchmark": f"generate {row.name}",
        "n": row.prompts,
        "evalkit_s": round(best["evalkit"], 3),
        "peer": f"transformers {transformers.__version__} {given.attention}",
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
    parser.add_argument("--vocabulary", type=int, default=32128)
    parser.add_argument("--attention", choices=("sdpa", "eager"), default="sdpa")
    parser.add_argument("--batch-size", choices=("auto",), help="ours finds its own, instead of transformers'")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for row in ROWS:
        if given.only in row.name:
            print(json.dumps(compare(row, given)), flush=True)


if __name__ == "__main__":
    main()
