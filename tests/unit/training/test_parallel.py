"""Two processes over gloo have the losses of one with the same global batch."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from evalkit.checkpoints import load_checkpoint
from evalkit.training.parallel import blocks_of
from evalkit.training.train import TrainOptions, train
from evalkit_models.t5 import T5, T5Config

ROOT = Path(__file__).resolve().parents[3]
CODE = """
import sys
from pathlib import Path
from evalkit.training.recipe_file import find_recipe
from evalkit.training.train import TrainOptions, train

train(find_recipe("tiny.toml", sys.argv[2:]), TrainOptions(out=Path(sys.argv[1]), data_dir=".", device="cpu", is_quiet=True))
"""


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def train_together(folder: Path, out: str, *overrides: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in (".", "tasks", "models")),
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": free_port(),
    }
    both = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, out, *overrides],
            env={**environment, "RANK": rank, "LOCAL_RANK": rank},
            cwd=folder,
        )
        for rank in ("0", "1")
    ]
    assert [process.wait(timeout=120) for process in both] == [0, 0]


def losses(folder: Path) -> list[float]:
    entries = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [entry.get("loss_nats", entry.get("evaluation", {}).get("loss")) for entry in entries]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "optimizer"), [("ddp", "adamw"), ("ddp", "muon"), ("fsdp", "adamw")])
def test_two_processes_have_the_losses_of_one_with_the_same_batch(
    tiny_recipe, recipe, lines, kind: str, optimizer: str
):
    (lines / "tiny.toml").write_text(tiny_recipe, encoding="utf-8")
    # The pieces of a batch are the same for two processes as for two steps of accumulation, and so is their dropout.
    options = TrainOptions(out=lines / "one", data_dir=str(lines), device="cpu", is_quiet=True)
    train(recipe("batch.accumulate=2", f"optimizer.kind={optimizer}"), options)
    train_together(lines, "two", f"parallel={kind}", f"optimizer.kind={optimizer}")
    assert losses(lines / "two") == pytest.approx(losses(lines / "one"), abs=1e-5)
    one, two = (load_checkpoint(lines / out).model.state_dict() for out in ("one", "two"))
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, atol=1e-5, rtol=1e-4)


def test_blocks_of_both_stacks_are_found():
    size = {"vocab_size": 8, "max_length": 8, "width": 8, "heads": 2, "head_width": 4, "ff_width": 8}
    model = T5(T5Config(**size, layers=2, decoder_layers=3))
    assert blocks_of(model) == [*model.encoder.blocks, *model.decoder.blocks]
