"""Time training steps against a plain loop over the same model, and against transformers' Trainer on the same shape.

    python benchmarks/train.py [--rounds N] [--steps N] [--only WORD]

All sides start from the same weights and read the same tokens; the losses of the first steps are compared before anything is
timed. The plain loop does what nanoGPT does on a CPU: logits of the model, a mean cross-entropy, gradients clipped to 1, torch's
AdamW as it comes. The Trainer (needs transformers and accelerate) has everything but training switched off. In the rows of short
texts evalkit packs several into a sequence while the others pad each. Times are processor seconds of one thread.
"""

import argparse
import copy
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from evalkit.checkpoints.architectures import describe
from evalkit.checkpoints.configs_out import write_settings
from evalkit.checkpoints.huggingface import to_huggingface
from evalkit.tokenization import train_characters
from evalkit.training.objectives.causal_lm import CausalLm
from evalkit.training.objectives.rows import IGNORED
from evalkit.training.parallel import Processes
from evalkit.training.recipe_file import read_recipe
from evalkit.training.recipe_objectives import CausalLmOptions
from evalkit.training.seeds import derive_seed
from evalkit.training.stepping import Stepper
from evalkit_models.gpt import GPT, GPTConfig

CONTEXT = 256
RATE, DECAY, BETAS, CLIP = 1e-3, 0.1, (0.9, 0.95), 1.0
CHARACTERS = [chr(code) for code in range(0x4E00, 0x4E00 + 250)]
RECIPE = f"""
summary = "benchmark"
steps = 1
[model]
family = "gpt"
[objective]
kind = "causal_lm"
[optimizer]
lr = {RATE}
beta2 = {BETAS[1]}
weight_decay = {DECAY}
clip = {CLIP}
[batch]
examples = 1
"""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    peer: str
    """A key of `PEERS`."""
    target: float | None
    batch: int = 8
    """Sequences of a step; of short texts, four times as many texts."""
    is_bf16: bool = False
    is_short: bool = False


ROWS = (
    Row("float32", "plain loop", 1.0),
    Row("bf16 autocast", "plain loop", 1.45, is_bf16=True),
    Row("short texts, packed", "plain loop", None, is_short=True),
    Row("float32", "transformers Trainer", 1.3),
    Row("bf16 autocast", "transformers Trainer", 1.3, is_bf16=True),
    Row("short texts, packed", "transformers Trainer", None, is_short=True),
)

Side = Callable[[Sequence[Any], int], list[float]]
"""Trains on batches, places of texts or tensors, from the number of the first on; says the loss of each."""


def objective_for(row: Row) -> CausalLm:
    """Random texts: one long one, or short ones of a quarter of the context on average."""
    source = random.Random(0)
    lengths = [source.randint(16, 112) for _ in range(4000)] if row.is_short else [CONTEXT * 2000]
    texts = ["".join(source.choices(CHARACTERS, k=length)) for length in lengths]
    tokenizer = train_characters(["".join(CHARACTERS)], 256)
    return CausalLm(texts, tokenizer, CONTEXT, CausalLmOptions(pack="separate"), is_training=True)


def batches_of(count: int, size: int) -> Iterator[list[int]]:
    """Random batches without end."""
    source = random.Random(1)
    while True:
        yield source.sample(range(1, count), size)


def evalkit_side(model: GPT, objective: CausalLm, row: Row) -> Side:
    """The steps that `evalkit train` takes, batches made on the way."""
    stepper = Stepper(model, objective, read_recipe(RECIPE, "b", "b"), Processes(), is_bf16=row.is_bf16)
    return lambda batches, first: [
        stepper.step(places, first + number, RATE).loss_nats for number, places in enumerate(batches)
    ]


def plain_side(model: GPT, objective: CausalLm, row: Row) -> Side:
    """The loop that a careful person writes in an evening; its batches are there before the clock starts."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS)

    def train(batches: Sequence[tuple[torch.Tensor, torch.Tensor]], first: int) -> list[float]:
        losses = []
        for ids, targets in batches:
            logits = model(ids)
            loss = functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1), ignore_index=IGNORED)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
        return losses

    return train


def trainer_side(model: GPT, objective: CausalLm, row: Row) -> Side:
    """The Trainer of transformers, begun anew for each call; the clock runs between its first step and its last."""
    import transformers

    tokenizer = train_characters(["".join(CHARACTERS)], 256)
    settings, table = write_settings(describe(model), tokenizer)
    peer = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings))
    peer.load_state_dict(to_huggingface(model.state_dict(), table), strict=False)
    peer.tie_weights()

    class Clock(transformers.TrainerCallback):
        def on_train_begin(self, *given: Any, **more: Any) -> None:
            self.started = time.process_time()

        def on_train_end(self, *given: Any, **more: Any) -> None:
            CLOCK["trainer"] = time.process_time() - self.started

    def train(batches: Sequence[tuple[torch.Tensor, torch.Tensor]], first: int) -> list[float]:
        rows = [(ids, targets) for batch in batches for ids, targets in zip(*batch, strict=True)]
        data = [{"input_ids": ids, "labels": targets, "shift_labels": targets} for ids, targets in rows]
        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=len(batches[0][0]),
                max_steps=len(batches),
                learning_rate=RATE,
                weight_decay=DECAY,
                adam_beta2=BETAS[1],
                max_grad_norm=CLIP,
                lr_scheduler_type="constant",
                remove_unused_columns=False,
                save_strategy="no",
                report_to=[],
                logging_steps=1,
                disable_tqdm=True,
                use_cpu=True,
                bf16=row.is_bf16,
            )
            trainer = transformers.Trainer(peer, arguments, train_dataset=data, callbacks=[Clock()])
            trainer._get_train_sampler = lambda *given: torch.utils.data.SequentialSampler(data)
            trainer.train()
        return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]

    return train


CLOCK: dict[str, float] = {}
"""What a side measured itself, where its call holds more than training."""

PEERS = {"plain loop": plain_side, "transformers Trainer": trainer_side}


def padded_pairs(objective: CausalLm, places: Sequence[int], number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets with a text a row, as a loop without packing has them."""
    generator = torch.Generator().manual_seed(derive_seed(0, "batch", number, 0))
    pieces = [objective._piece(place, generator) for place in places]
    width = max(map(len, pieces))
    ids, targets = torch.zeros(len(pieces), width, dtype=torch.long), torch.full((len(pieces), width), IGNORED)
    for index, piece in enumerate(pieces):
        ids[index, : len(piece)], targets[index, : len(piece)] = piece.inputs, piece.targets
    return ids, targets


def compare(row: Row, rounds: int, steps: int) -> dict[str, object]:
    """Check that both sides lose the same, and time them in turn."""
    torch.manual_seed(0)
    objective = objective_for(row)
    model = GPT(GPTConfig(vocab_size=256, max_length=CONTEXT, width=384, layers=6, heads=6, ff_width=1536))
    size = 4 * row.batch if row.is_short else row.batch
    places = batches_of(len(objective.lengths), size)
    ours = evalkit_side(copy.deepcopy(model).train(), objective, row)
    theirs = PEERS[row.peer](copy.deepcopy(model).train(), objective, row)
    best = {"evalkit": float("inf"), "peer": float("inf")}
    is_equal = True
    for round_number in range(rounds + 1):
        first = round_number * steps
        batches = [next(places) for _ in range(steps)]
        pairs = [padded_pairs(objective, batch, first + number) for number, batch in enumerate(batches)]
        started = time.process_time()
        mine = ours(batches, first)
        spent = time.process_time() - started
        started = time.process_time()
        other = theirs(pairs, first)
        peer_spent = CLOCK.get("trainer", time.process_time() - started)
        if round_number == 0:  # compared, and not timed: kernels and buffers are new
            tolerance = 0.05 if row.is_bf16 else 1e-3
            is_equal = all(abs(a - b) < tolerance for a, b in zip(mine, other, strict=True))
            continue
        best = {"evalkit": min(best["evalkit"], spent), "peer": min(best["peer"], peer_spent)}
    return {
        "benchmark": f"train {row.name}",
        "n": steps * row.batch * CONTEXT,
        "evalkit_s": round(best["evalkit"], 3),
        "peer": row.peer,
        "peer_s": round(best["peer"], 3),
        "ratio": round(best["peer"] / best["evalkit"], 2),
        "target": row.target,
        "equal": is_equal,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=2, help="steps of a round")
    parser.add_argument("--only", default="", help="rows whose names or peers hold this word")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for row in ROWS:
        if given.only in f"{row.name} {row.peer}":
            CLOCK.clear()
            print(json.dumps(compare(row, given.rounds, given.steps)), flush=True)


if __name__ == "__main__":
    main()
