"""Training on the device: the losses of a CPU, whatever steps, and a training that was stopped ends as one that was not."""

import json

import pytest
import torch

from evalkit.checkpoints import load_checkpoint
from evalkit.errors import StoppedError
from evalkit.stopping import Stop
from evalkit.training.recipe import OPTIMIZERS
from evalkit.training.recipe_file import read_recipe
from evalkit.training.train import TrainOptions, train
from tests.stopped import StopAfter

RECIPE = """
summary = "characters of lines"
steps = 30
[model]
family = "{family}"
width = 32
layers = 2
heads = 2
ff_width = 64
max_length = 48
dropout = 0.0
[tokenizer]
kind = "characters"
vocab_size = 140
[data]
texts = ["lines.txt"]
part = [0.0, 0.8]
[objective]
kind = "{objective}"
[optimizer]
lr = 3e-3
[schedule]
warmup = 2
[batch]
tokens = 128
[evaluate]
every = 10
part = [0.8, 1.0]
"""
OBJECTIVES = {"gpt": "causal_lm", "decoder": "causal_lm", "bert": "masked_lm", "t5": "span_corruption"}


@pytest.fixture
def train_on(tmp_path):
    """A function that trains into a folder on a device, and gives the losses of the steps and the last evaluation."""
    text = "".join(f"{'abcdefgh' * (number % 4)} {number:02d} the end\n" for number in range(60))
    (tmp_path / "lines.txt").write_text(text, encoding="utf-8")

    def run(out, device, family="gpt", *overrides, stop=None):
        recipe = read_recipe(RECIPE.format(family=family, objective=OBJECTIVES[family]), "tiny", "tiny.toml", overrides)
        options = TrainOptions(
            out=tmp_path / out, data_dir=str(tmp_path), device=str(device), is_quiet=True, stop=stop or Stop()
        )
        trained = train(recipe, options)
        entries = [json.loads(line) for line in (tmp_path / out / "metrics.jsonl").read_text().splitlines()]
        return [entry["loss_nats"] for entry in entries if "loss_nats" in entry], trained.evaluation["value"]

    return run


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("family", OBJECTIVES)
def test_the_losses_are_those_of_a_cpu(train_on, device, family, optimizer):
    rate = {"adamw": 3e-3, "muon": 3e-3, "adafactor": 0.03}[optimizer]
    overrides = (f"optimizer.kind={optimizer}", f"optimizer.lr={rate}")
    losses, value = train_on("there", device, family, *overrides)
    expected, expected_value = train_on("here", "cpu", family, *overrides)
    assert expected[-1] < expected[0]
    # Muon makes its matrices orthogonal in bfloat16 on CUDA.
    tolerance = 0.05 if optimizer == "muon" else 5e-3
    assert losses == pytest.approx(expected, abs=tolerance)
    assert value == pytest.approx(expected_value, abs=tolerance)


@pytest.mark.parametrize("override", ["precision=bf16", "activation_checkpointing=true", "batch.accumulate=2"])
def test_options_of_speed_and_memory_keep_the_losses(train_on, device, override):
    losses, _ = train_on("other", device, "gpt", override)
    expected, _ = train_on("plain", device)
    assert losses == pytest.approx(expected, abs=0.05 if "bf16" in override else 1e-3)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_training_that_was_stopped_ends_as_one_that_was_not(train_on, tmp_path, device, optimizer):
    overrides = (f"optimizer.kind={optimizer}",)
    expected, _ = train_on("whole", device, "gpt", *overrides)
    with pytest.raises(StoppedError):
        train_on("parts", device, "gpt", *overrides, stop=StopAfter(7))
    losses, _ = train_on("parts", device, "gpt", *overrides)
    assert losses == pytest.approx(expected, abs=1e-3)
    ours, theirs = (load_checkpoint(tmp_path / out).model.state_dict() for out in ("parts", "whole"))
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], atol=5e-3, rtol=1e-2)
