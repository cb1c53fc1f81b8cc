"""Whole trainings in a second each: stopped anywhere they end as one that was not, and every other end is kept well."""

import json
import math
import os
import platform
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from evalkit.checkpoints import load_checkpoint
from evalkit.errors import EvalkitError, IncompleteError, InvalidInputError, StoppedError
from evalkit.stopping import Stop
from evalkit.training import loop
from evalkit.training.recipe import OPTIMIZERS, Recipe
from evalkit.training.stepping import Stepped, Stepper
from evalkit.training.train import Trained, TrainOptions, train
from tests.stopped import StopAfter


def run(recipe: Recipe, lines: Path, out: str = "out", stop: Stop | None = None, **more) -> Trained:
    options = TrainOptions(
        out=lines / out, data_dir=str(lines), device="cpu", is_quiet=True, stop=stop or Stop(), **more
    )
    trained = train(recipe, options)
    assert trained is not None
    return trained


def weights(lines: Path, out: str) -> dict[str, torch.Tensor]:
    return load_file(lines / out / "model.safetensors")


def assert_same_weights(lines: Path, out: str, other: str):
    mine, theirs = weights(lines, out), weights(lines, other)
    assert mine.keys() == theirs.keys()
    for name, tensor in mine.items():
        assert torch.equal(tensor, theirs[name]), name


def test_a_training_leaves_a_checkpoint_metrics_and_a_curve(recipe, lines):
    trained = run(recipe(), lines)
    checkpoint = load_checkpoint(lines / "out")
    assert (trained.steps, checkpoint.card.steps, checkpoint.card.recipe) == (12, 12, "tiny")
    assert checkpoint.card.tokens_seen == trained.tokens_seen
    entries = [json.loads(line) for line in (lines / "out" / "metrics.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries if "loss_nats" in entry] == list(range(1, 13))
    assert [entry["step"] for entry in entries if "evaluation" in entry] == [4, 8, 12]
    assert entries[-1]["evaluation"]["loss"] == trained.evaluation["value"]
    assert (lines / "out" / "loss.svg").read_text().startswith("<svg")
    assert sorted(path.name for path in (lines / "out" / "training").iterdir()) == [
        "identity.json",
        "lock",
        "result.json",
        "tokenizer",
    ]


def test_the_loss_falls_and_the_first_one_is_that_of_a_guess(recipe, lines):
    run(recipe("steps=150", "optimizer.lr=1e-2", "evaluate.every=150", "model.dropout=0.0"), lines)
    losses = [
        json.loads(line).get("loss_nats") for line in (lines / "out" / "metrics.jsonl").read_text().splitlines()[:-1]
    ]
    vocabulary = load_checkpoint(lines / "out").config.vocab_size
    assert losses[0] == pytest.approx(math.log(vocabulary), abs=0.1)
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("looks", "optimizer"),
    [*((looks, "adamw") for looks in range(0, 22, 3)), *((looks, kind) for kind in OPTIMIZERS for looks in (7, 13))],
)
def test_a_training_that_is_stopped_anywhere_ends_with_the_same_weights(recipe, lines, looks: int, optimizer: str):
    one = recipe(f"optimizer.kind={optimizer}")
    run(one, lines, "whole")
    with pytest.raises(StoppedError, match="the same command goes on from there"):
        run(one, lines, "parts", StopAfter(looks))
    # An evaluation looks a few times and is done again where it was broken off, so a stop must not come sooner.
    with suppress(StoppedError):
        run(one, lines, "parts", StopAfter(looks % 5 + 8))
    again = run(one, lines, "parts")
    assert again.tokens_seen == run(one, lines, "whole").tokens_seen
    assert_same_weights(lines, "whole", "parts")
    metrics = [(lines / out / "metrics.jsonl").read_text().splitlines() for out in ("whole", "parts")]
    told = [[json.loads(line).get("loss_nats") for line in one] for one in metrics]
    assert told[0] == told[1]


def test_seeds_change_weights_and_the_same_seed_repeats_them(recipe, lines):
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):
        run(recipe("steps=3", f"seed={seed}"), lines, out)
    assert_same_weights(lines, "a", "b")
    assert not torch.equal(weights(lines, "a")["tokens.weight"], weights(lines, "c")["tokens.weight"])


def test_a_recipe_says_how_many_threads_and_leaves_them_as_they_were(recipe, lines, monkeypatch):
    used = []

    def step(self, places, number, rate):
        used.append(torch.get_num_threads())
        return Stepped(1.0, 1.0, 1, 1)

    monkeypatch.setattr(Stepper, "step", step)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        run(recipe("threads=1", "steps=2"), lines, "one")
        run(recipe("steps=2"), lines, "all")
        assert torch.get_num_threads() == 2
        monkeypatch.setattr(os, "cpu_count", lambda: 2)
        run(recipe("threads=3000000000", "steps=1"), lines, "most")
    finally:
        torch.set_num_threads(before)
    assert used == [1, 1, 2, 2, 2]


def test_few_kernels_are_kept_unless_the_user_says_how_many(recipe, lines, monkeypatch):
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "")  # so that it is as before afterwards
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    run(recipe("steps=1"), lines, "one")
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "16"
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "200")
    run(recipe("steps=1"), lines, "two")
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "200"


MEMORY = """
import resource
from evalkit.training.processor import prepare_processor
prepare_processor()
import torch

torch.set_num_threads(1)


def touch(count):
    for _ in range(count):
        first, second = torch.ones(1 << 19), torch.ones(1 << 20)
        del second, first


touch(3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
touch(50)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.parametrize(
    "told",
    [
        {"MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_MMAP_THRESHOLD_": "131072"},
        {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=131072:glibc.malloc.mmap_threshold=131072"},
    ],
    ids=list,
)
def test_freed_memory_is_used_again_unless_the_user_says_how(told: dict[str, str]):
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("only glibc is told how to allocate")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    environment = {**kept, "MALLOC_ARENA_MAX": "4"}
    faults = [
        int(subprocess.run([sys.executable, "-c", MEMORY], env=one, check=True, capture_output=True).stdout)
        for one in (environment, {**environment, **told})
    ]
    # Fifty times 6 MB are 76,800 pages of 4 kB, which the kernel gives anew, or which are kept.
    assert faults[0] < 5_000 < 50_000 < faults[1]


def test_the_same_command_after_the_end_trains_nothing(recipe, lines, monkeypatch):
    first = run(recipe(), lines)
    monkeypatch.setattr(Stepper, "step", None)
    assert run(recipe(), lines) == first


@pytest.mark.parametrize(
    ("override", "difference"),
    [
        ("optimizer.lr=1e-3", "optimizer.lr 0.003, now it is 0.001"),
        ("objective.pack=none", "objective.pack 'separate', now it is 'none'"),
        ("seed=4", "seed 0, now it is 4"),
        ("data.part=[0.0, 0.5]", "data.part"),
    ],
)
def test_a_folder_of_another_training_is_refused(recipe, lines, override: str, difference: str):
    with pytest.raises(StoppedError):
        run(recipe(), lines, stop=StopAfter(2))
    with pytest.raises(InvalidInputError, match="holds a training with") as caught:
        run(recipe(override), lines)
    assert difference in str(caught.value)


def test_a_start_that_kept_no_step_binds_nobody(recipe, lines, monkeypatch):
    def out_of_memory(self, *given):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nand more")

    monkeypatch.setattr(Stepper, "_forward", out_of_memory)
    with pytest.raises(IncompleteError, match=r"out of memory at .* examples at once"):
        run(recipe(), lines)
    monkeypatch.undo()
    run(recipe("batch.accumulate=2", "tokenizer.vocab_size=30"), lines)
    assert load_checkpoint(lines / "out").config.vocab_size <= 30


def test_other_data_is_refused_too(recipe, lines):
    with pytest.raises(StoppedError):
        run(recipe(), lines, stop=StopAfter(2))
    with (lines / "lines.txt").open("a", encoding="utf-8") as file:
        file.write("one line more\n" * 5)
    with pytest.raises(InvalidInputError, match="data digest"):
        run(recipe(), lines)


def test_a_folder_with_other_things_in_it_is_refused(recipe, lines):
    (lines / "out").mkdir()
    (lines / "out" / "thesis.tex").write_text("important", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"holds 'thesis\.tex' and no training"):
        run(recipe(), lines)
    assert (lines / "out" / "thesis.tex").read_text(encoding="utf-8") == "important"


def test_two_processes_cannot_train_into_one_folder(recipe, lines):
    with pytest.raises(StoppedError):
        run(recipe(), lines, stop=StopAfter(2))
    code = f"import fcntl, sys; f = open({str(lines / 'out/training/lock')!r}); fcntl.flock(f, fcntl.LOCK_EX); print(); input()"
    with subprocess.Popen(["python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(InvalidInputError, match="another process trains here now"):
            run(recipe(), lines)
        holder.communicate(b"\n")
    run(recipe(), lines)


def test_the_best_checkpoint_is_kept_and_not_the_last(recipe, lines, monkeypatch):
    values = iter([2.0, 1.0, 3.0])
    evaluate = loop.Loop._measured
    monkeypatch.setattr(
        loop.Loop, "_measured", lambda self, *given: replace(evaluate(self, *given), value=next(values))
    )
    trained = run(recipe(), lines)
    assert trained.evaluation["step"] == load_checkpoint(lines / "out").card.steps == 8
    assert trained.steps == 12


def test_training_stops_early_when_nothing_gets_better(recipe, lines, monkeypatch):
    values = iter([2.0, 1.0, 1.5, 1.0, 0.5])
    evaluate = loop.Loop._measured
    monkeypatch.setattr(
        loop.Loop, "_measured", lambda self, *given: replace(evaluate(self, *given), value=next(values))
    )
    trained = run(recipe("steps=40", "evaluate.patience=2"), lines)
    assert (trained.steps, trained.steps_planned) == (16, 40)
    assert load_checkpoint(lines / "out").card.steps == 8


def test_with_keep_last_the_last_weights_are_kept(recipe, lines, monkeypatch):
    values = iter([1.0, 2.0, 3.0])
    evaluate = loop.Loop._measured
    monkeypatch.setattr(
        loop.Loop, "_measured", lambda self, *given: replace(evaluate(self, *given), value=next(values))
    )
    run(recipe("keep.checkpoint=last"), lines)
    assert load_checkpoint(lines / "out").card.steps == 12


def test_without_evaluation_the_last_weights_are_kept(recipe, lines):
    trained = run(recipe("evaluate=", "data.part=[0.0, 1.0]"), lines)
    assert trained.evaluation is None
    assert load_checkpoint(lines / "out").card.steps == 12


def test_a_rate_far_too_high_stops_with_a_message_and_the_last_good_checkpoint(recipe, lines):
    with pytest.raises(IncompleteError, match=r"the loss is (nan|inf)|gradient (nan|inf)") as caught:
        run(recipe("optimizer.lr=1e30", "schedule.warmup=0", "evaluate=", "data.part=[0.0, 1.0]"), lines)
    assert "lower optimizer.lr" in str(caught.value)
    kept = load_checkpoint(lines / "out" / "training" / "checkpoint")
    assert all(bool(torch.isfinite(tensor).all()) for tensor in kept.model.state_dict().values())


def test_a_loss_that_becomes_nan_keeps_the_best_checkpoint(recipe, lines, monkeypatch):
    step = Stepper.step

    def broken(self, places, number, rate) -> Stepped:
        stepped = step(self, places, number, rate)
        return replace(stepped, loss_nats=math.nan) if number == 9 else stepped

    monkeypatch.setattr(Stepper, "step", broken)
    with pytest.raises(IncompleteError, match=r"step 10: the loss is nan.*holds the checkpoint of step 8"):
        run(recipe(), lines)
    assert load_checkpoint(lines / "out" / "training" / "checkpoint").card.steps == 8


@pytest.mark.parametrize("overrides", [(), ("evaluate=",)], ids=["measured", "not measured"])
def test_weights_that_are_not_finite_are_never_kept(recipe, lines, overrides: tuple[str, ...]):
    far = recipe("steps=1", "schedule.warmup=0", "optimizer.lr=1e38", "optimizer.weight_decay=10.0", *overrides)
    with pytest.raises(IncompleteError, match=r"step 1: the weights are not finite any more; no checkpoint had been"):
        run(far, lines)
    assert not list((lines / "out").rglob("model.safetensors"))


def test_weights_that_are_not_finite_are_not_what_is_left_of_a_loss_that_is_not(recipe, lines):
    with pytest.raises(IncompleteError, match=r"step 2: the loss is nan.*no checkpoint had been written yet"):
        run(recipe("schedule.warmup=0", "optimizer.lr=1e38", "optimizer.weight_decay=10.0"), lines)
    assert not (lines / "out" / "training" / "checkpoint").exists()


def test_an_exploding_loss_stops(recipe, lines, monkeypatch):
    step = Stepper.step

    def exploding(self, places, number, rate) -> Stepped:
        stepped = step(self, places, number, rate)
        return replace(stepped, loss_nats=100.0) if number > 15 else stepped

    monkeypatch.setattr(Stepper, "step", exploding)
    with pytest.raises(IncompleteError, match="the loss exploded"):
        run(recipe("steps=30"), lines)


@pytest.mark.parametrize("override", ["compile=true", "activation_checkpointing=true"])
def test_options_of_speed_and_memory_change_no_loss(recipe, lines, monkeypatch, override: str):
    # Generating code for the real back end takes a minute; what is tested here is where the model is cut for it.
    compile_module = torch.nn.Module.compile
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: compile_module(module, backend="eager"))
    runs = [run(recipe("steps=3", *more), lines, str(len(more))) for more in ((), (override,))]
    assert runs[1].loss_nats == pytest.approx(runs[0].loss_nats, abs=1e-6)


def test_bf16_trains_about_as_float32_and_keeps_float32_weights(recipe, lines):
    full, half = (run(recipe(f"precision={kind}"), lines, kind) for kind in ("float32", "bf16"))
    assert half.loss_nats == pytest.approx(full.loss_nats, abs=0.05)
    assert half.loss_nats != full.loss_nats
    assert {tensor.dtype for tensor in weights(lines, "bf16").values()} == {torch.float32}


def test_auto_precision_says_what_it_chose_and_keeps_to_it(recipe, lines, capsys):
    options = TrainOptions(out=lines / "out", data_dir=str(lines), device="cpu", stop=StopAfter(2))
    with pytest.raises(StoppedError):
        train(recipe("precision=auto"), options)
    assert "precision auto: " in capsys.readouterr().err
    train(recipe("precision=auto"), replace(options, stop=Stop()))
    assert "precision auto: " not in capsys.readouterr().err
    assert load_checkpoint(lines / "out").card.details["precision"] in ("float32", "bf16")


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("data.texts=[]", "names nothing to train on"),
        ("data.texts=['absent.txt']", "no such file"),
        ("tokenizer=", "name its folder with --init"),
        ("evaluate.part=[0.5, 1.0]", "overlap"),
        ("evaluate.metric=main", "text files have only 'loss'"),
        ("evaluate.task=mini_lmm", "unknown task 'mini_lmm'; did you mean 'mini_lm'?"),
        ("model.size=gpt3", "[model] size of family 'gpt': 'gpt3'"),
        ("model.heads=3", "width 16 is not divisible by heads 3"),
        ("model.kv_heads=1", "unknown settings kv_heads"),
        ("model.vocab_size=3", "vocab_size is 3, but the tokenizer has"),
        ("tokenizer.vocab_size=1", "vocab_size is 1"),
        ("model.layers=", "[model] has no layers; give them, a published size"),
    ],
)
def test_what_cannot_be_trained_is_said_before_the_first_step(recipe, lines, override: str, problem: str):
    with pytest.raises(EvalkitError) as caught:
        run(recipe(override), lines)
    assert problem in str(caught.value)
    assert not (lines / "out" / "metrics.jsonl").exists()
