"""`evalkit train` from the command line: killed, interrupted, out of disk, misused, and told what it made."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

RECIPE = """
summary = "characters of lines"
steps = 60
[model]
family = "gpt"
width = 32
layers = 2
heads = 2
max_length = 32
dropout = 0.1
[tokenizer]
kind = "characters"
vocab_size = 40
[data]
texts = ["lines.txt"]
part = [0.0, 0.8]
[objective]
kind = "causal_lm"
[optimizer]
lr = 3e-3
[batch]
tokens = 256
[evaluate]
every = 15
part = [0.8, 1.0]
[keep]
state_every = 7
"""

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in (".", "tasks", "models")),
    "OMP_NUM_THREADS": "1",
}

KILLED = """
import os, signal, sys, time
from pathlib import Path
from evalkit.training.recipe_file import find_recipe
from evalkit.training.train import TrainOptions, train

recipe, folder, delays = find_recipe("own.toml"), Path(sys.argv[1]), map(float, sys.argv[2:])
for delay in delays:
    # A fork has all imports done, so that kills hit the training and not its start.
    child = os.fork()
    if child == 0:
        train(recipe, TrainOptions(out=folder, data_dir=".", device="cpu", is_quiet=True))
        os._exit(0)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(*(path.name for path in folder.glob("training/state/step-*")) or ["-"], flush=True)
started = time.monotonic()
train(recipe, TrainOptions(out=folder, data_dir=".", device="cpu", is_quiet=True))
print(time.monotonic() - started)
"""


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Path:
    """A working folder with a recipe and its text."""
    text = "".join(f"{'abcdefgh' * (number % 4)} {number:02d} the end\n" for number in range(200))
    (tmp_path / "lines.txt").write_text(text, encoding="utf-8")
    (tmp_path / "own.toml").write_text(RECIPE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "evalkit", "train", "--recipe", "own.toml", "--data-dir", ".", *arguments]


def same_weights(one: Path, other: Path) -> bool:
    mine, theirs = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    return mine.keys() == theirs.keys() and all(bool((mine[name] == theirs[name]).all()) for name in mine)


@pytest.mark.slow
def test_a_training_killed_at_random_moments_ends_with_the_same_weights(place: Path):
    """Ten kills with EVALKIT_KILLS=10; three in everyday use."""

    def train(out: str, delays: list[float]) -> list[str]:
        arguments = [sys.executable, "-c", KILLED, out, *map(str, delays)]
        done = subprocess.run(arguments, env=ENVIRONMENT, capture_output=True, text=True, check=True, cwd=place)
        return done.stdout.splitlines()

    duration = float(train("whole", [])[-1])
    moments = random.Random(0)
    kills = int(os.environ.get("EVALKIT_KILLS", "3"))
    *states, _ = train("killed", [moments.uniform(0, 0.7 * duration) for _ in range(kills)])
    assert len(states) == kills
    assert set(states) != {"-"}, "every kill came before the first state; nothing was gone on from"
    assert same_weights(place / "whole", place / "killed")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_state_and_exits_130(place: Path, number: signal.Signals):
    with subprocess.Popen(
        command("--out", "out", "--set", "steps=100000"), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, cwd=place
    ) as process:
        while not (place / "out" / "metrics.jsonl").exists():
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said.splitlines()[-1]
    assert "Traceback" not in said
    (state,) = (place / "out" / "training" / "state").glob("step-*")
    reached = json.loads((state / "state.json").read_text())["step"]
    assert f"step {reached}: stopped" in said


def small_disk() -> None:
    """Let no file of this process grow beyond 40 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


@pytest.mark.slow
def test_a_full_disk_loses_nothing_older(place: Path, evalkit):
    assert evalkit("train", "--recipe", "own.toml", "--data-dir", ".", "--out", "whole").code == 0
    # The tokenizer and the first lines of metrics fit; a state does not.
    done = subprocess.run(
        command("--out", "out"), env=ENVIRONMENT, capture_output=True, text=True, preexec_fn=small_disk, cwd=place
    )
    assert done.returncode == 5
    last = done.stderr.splitlines()[-1]
    assert "could not be written" in last
    assert "make room and give the same command again" in last
    assert not list((place / "out" / "training" / "state").iterdir())
    assert evalkit("train", "--recipe", "own.toml", "--data-dir", ".", "--out", "out").code == 0
    assert same_weights(place / "whole", place / "out")


def test_the_outcome_is_told_to_people_and_to_programs(place: Path, evalkit):
    told = evalkit("train", "--recipe", "own.toml", "--data-dir", ".")
    assert told.code == 0
    assert told.out.splitlines()[0] == "checkpoint  checkpoints/own"
    again = evalkit("train", "--recipe", "own.toml", "--data-dir", ".", "--json")
    outcome = json.loads(again.out)
    assert outcome["steps"] == outcome["steps_planned"] == 60
    assert outcome["evaluation"]["metric"] == "loss"
    assert "is trained already" in again.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--recipe", "gpt-mini"], "unknown recipe 'gpt-mini'"),
        (["--recipe", "absent.toml"], "absent.toml: no such file"),
        (["--recipe", "own.toml", "--set", "model.widht=3"], "did you mean 'width'?"),
        (["--recipe", "own.toml", "--task", "mini_cw"], "unknown task 'mini_cw'; did you mean 'mini_cws'?"),
        (["--recipe", "own.toml", "--data-dir", "absent"], "--data-dir 'absent' is not a folder"),
        (["--recipe", "own.toml", "--init", "absent"], "absent is no checkpoint"),
        (["--recipe", "own.toml", "--device", "cuda:99"], "device 'cuda:99'"),
        (["--recipe", "own.toml", "--out", "lines.txt"], "is a file; expected a folder"),
        ([], "Missing option '--recipe'"),
    ],
)
def test_misuse_is_one_line_and_exit_2(place: Path, evalkit, arguments: list[str], problem: str):
    outcome = evalkit("train", *arguments)
    assert outcome.code == 2
    assert problem in outcome.err
    assert "Traceback" not in outcome.err
    assert len([line for line in outcome.err.splitlines() if line.startswith("evalkit:")]) == 1
    assert not (place / "checkpoints").exists()


def test_a_misspelt_recipe_is_answered_without_torch():
    code = "from evalkit.cli import run_cli; import sys; run_cli(sys.argv[1:]); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, "train", "--recipe", "gpt-minni"], env=ENVIRONMENT, check=True)


def test_recipes_are_listed_and_shown(place: Path, evalkit):
    listed = evalkit("list", "recipes", "--json").json["recipes"]
    assert {"gpt2-124m", "bert-base", "t5-small", "t5-base"} <= {row["name"] for row in listed}
    shown = evalkit("show", "own.toml", "--data-dir", ".").out
    assert "optimiser steps: 60" in shown
    assert "time here: about " in shown
