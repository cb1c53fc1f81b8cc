"""What a recipe costs: parameters, tokens, floating-point operations, and time on this machine."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean

import torch

from evalkit.adapters.neural import find_device
from evalkit.checkpoints import Architecture
from evalkit.checkpoints.architectures import ModelConfig, build_empty
from evalkit.errors import InvalidInputError, MissingResourceError
from evalkit.scaling.flops import count_flops
from evalkit.tokenization import load_tokenizer
from evalkit.training.batches import Batches
from evalkit.training.building import Head, model_config, new_model
from evalkit.training.inputs import open_inputs
from evalkit.training.objective import Objective
from evalkit.training.objectives import build_objective, head_for, train_tokenizer
from evalkit.training.objectives.corruption import corrupted_lengths, window_length
from evalkit.training.parallel import Processes
from evalkit.training.processor import limited_threads
from evalkit.training.recipe import Recipe
from evalkit.training.recipe_objectives import FinetuneOptions, MaskedLmOptions, SpanCorruptionOptions
from evalkit.training.sources import TrainingData
from evalkit.training.stepping import Stepper
from evalkit.training.texts import Document
from evalkit.training.train import planned_steps
from evalkit_models.layers import parameter_counts

OVERHEAD = 2.0
"""Time of a training step over that of its matrix products alone, roughly, where steps are wide."""
_MEASURED_S = 0.2
_TIMED_S = 1.5
"""Seconds of steps that are timed."""
_LONGEST_STEP_S = 1.0
"""Seconds of a step, by its operations, up to which steps are timed."""
_ROWS = 1024
_MANY = 10_000
"""Tokens of a text that is so long that rounding does not show."""
_SAMPLE_CHARACTERS = 1_000_000
"""Text that a tokenizer is trained on and counted over, where there is more."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What training by a recipe comes to; None for what is not known without more data or a checkpoint."""

    parameters: int | None = None
    """Parameters of the model."""
    parameters_non_embedding: int | None = None
    """Those outside of tables with a row a token or position."""
    steps: int | None = None
    """Optimiser steps."""
    tokens: float | None = None
    """Tokens that go through the model."""
    flops: float | None = None
    """Operations of all matrix products, forward and backward."""
    flops_per_s: float | None = None
    """What float32 matrix products of the model's width reach on this machine."""
    time_s: float | None = None
    """Seconds of training on this machine, evaluations aside."""
    timed_steps: int = 0
    """Steps that were timed to know that; 0 where it is operations over `flops_per_s`, times `OVERHEAD`."""
    note: str = ""
    """Why something is not known."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Batches of a part of the data, and what is learnt from them."""

    objective: Objective
    batches: Batches
    vocab_size: int


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """How large a model reads how much."""

    config: ModelConfig | None = None
    head: Head = field(default_factory=Head)
    steps: int | None = None
    tokens: float | None = None
    length: int | None = None
    """Tokens of a typical example; None for the longest there can be."""
    work: _Work | None = None
    """What steps are taken on, where the data is at hand."""
    note: str = ""


def estimate_cost(recipe: Recipe, data_dir: str | None, device: str = "auto") -> Cost:
    """Count and measure what training by a recipe costs.

    Args:
        recipe: The recipe.
        data_dir: Folder of data files.
        device: As for training.

    Raises:
        InvalidInputError: The recipe describes a model that cannot be, or the device is not here.
    """
    place = find_device(device)
    plan = _plan(recipe, data_dir)
    if plan.config is None:
        return Cost(steps=plan.steps, tokens=plan.tokens, note=plan.note)
    head = plan.head
    architecture = Architecture(
        family=recipe.model.family,
        config=plan.config,
        head=head.name,
        labels=head.labels,
        has_next_sentence=head.has_next_sentence,
    )
    counts = parameter_counts(build_empty(architecture))
    rate = matrix_rate(plan.config.width, plan.config.ff_width, place)
    flops = None if plan.tokens is None else plan.tokens * flops_per_token(recipe, plan.config, plan.length)
    time_s, timed_steps = None if flops is None else OVERHEAD * flops / rate, 0
    if plan.work is not None and plan.steps and time_s is not None and time_s / plan.steps < _LONGEST_STEP_S:
        with limited_threads(recipe.threads):
            step_s, timed_steps = _step_seconds(recipe, plan.work, head, place)
        time_s = step_s * plan.steps
    return Cost(
        parameters=counts["total"],
        parameters_non_embedding=counts["non_embedding"],
        steps=plan.steps,
        tokens=plan.tokens,
        flops=flops,
        flops_per_s=rate,
        time_s=time_s,
        timed_steps=timed_steps,
        note=plan.note,
    )


def _plan(recipe: Recipe, data_dir: str | None) -> _Plan:
    """Read off the recipe what it says, and the rest off the data where that is at hand."""
    known = _Plan(steps=recipe.steps)
    if recipe.steps is not None and recipe.batch.tokens is not None:
        known = replace(known, tokens=float(recipe.steps * recipe.batch.tokens))
    section = recipe.tokenizer
    if section is None:
        return replace(known, note="training starts from a checkpoint, whose size decides (--init)")
    try:
        data = open_inputs(replace(recipe, evaluate=None), data_dir, None, torch.device("cpu")).data
        return _counted(recipe, data)
    except (MissingResourceError, InvalidInputError) as error:
        head = Head(name="trunk") if recipe.model.family == "bert" else Head()
        config = model_config(recipe.model, section.vocab_size)
        note = f"counted as if every example were as long as can be, for the data is not at hand: {error}"
        if known.tokens is None and recipe.steps is not None and recipe.batch.examples is not None:
            known = replace(known, tokens=float(recipe.steps * recipe.batch.examples * _longest(recipe, config)))
        return replace(known, config=config, head=head, note=note)


def _longest(recipe: Recipe, config: ModelConfig) -> int:
    """Tokens of the longest example that a recipe allows, those of a T5's target with it."""
    options = recipe.objective
    longest = min(options.max_length or config.max_length, config.max_length)
    if isinstance(options, SpanCorruptionOptions):
        rates = (options.noise_rate, options.mean_span)
        length = window_length(longest, config.max_length, *rates, options.target)
        return sum(corrupted_lengths(length, *rates, options.target))
    return 2 * longest if recipe.model.family == "t5" else longest


def _counted(recipe: Recipe, data: TrainingData) -> _Plan:
    sample, factor = _sample(data)
    head = head_for(recipe, sample)
    assert recipe.tokenizer is not None
    folder = recipe.tokenizer.folder
    tokenizer = load_tokenizer(Path(folder)) if folder is not None else train_tokenizer(recipe, sample)
    config = model_config(recipe.model, tokenizer.largest_id + 1)
    model = build_empty(
        Architecture(
            family=recipe.model.family,
            config=config,
            head=head.name,
            labels=head.labels,
            has_next_sentence=head.has_next_sentence,
        )
    )
    objective = build_objective(recipe, tokenizer, model, sample, head, is_training=True)
    batches = Batches(objective.lengths, recipe.batch, recipe.seed)
    steps = planned_steps(recipe, batches)
    if recipe.steps is None:
        steps = round(steps * factor)
    tokens = steps * sum(objective.lengths) / batches.per_epoch
    note = "" if factor == 1.0 else f"counted on {1 / factor:.1%} of the text"
    return _Plan(
        config=config,
        head=head,
        steps=steps,
        tokens=tokens,
        length=round(fmean(objective.lengths)),
        work=_Work(objective, batches, tokenizer.largest_id + 1),
        note=note,
    )


def _step_seconds(recipe: Recipe, work: _Work, head: Head, device: torch.device) -> tuple[float, int]:
    """Take steps with new weights, and return the seconds of one and how many were timed."""
    model = new_model(recipe.model, work.vocab_size, head, recipe.seed, device)
    plain = replace(recipe, compile=False)
    stepper = Stepper(model.train(), work.objective, plain, Processes(), is_bf16=recipe.precision == "bf16")
    batches = work.batches.epoch(0)
    stepper.step(batches[0], 0, 0.0)  # the first one prepares kernels
    started, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - started < _TIMED_S:
        count += 1
        # Its loss is read, so that a device has done the step when the clock is.
        stepper.step(batches[count % len(batches)], count, recipe.optimizer.lr)
    return (time.perf_counter() - started) / count, count


def _sample(data: TrainingData) -> tuple[TrainingData, float]:
    """Take the first million characters; says how much more there is."""
    kept: list[Document] = []
    room, total = _SAMPLE_CHARACTERS, sum(len(document.text) for document in data.documents)
    if total <= room:
        return data, 1.0
    for document in data.documents:
        kept.append(replace(document, text=document.text[:room]) if document.words is None else document)
        room -= len(document.text)
        if room <= 0:
            break
    if data.task is not None:
        kept_examples = data.examples[: len(kept)]
        return replace(data, examples=kept_examples), len(data.examples) / len(kept_examples)
    return replace(data, texts=tuple(kept)), total / sum(len(document.text) for document in kept)


def flops_per_token(recipe: Recipe, config: ModelConfig, length: int | None) -> float:
    """Operations of one forward and one backward pass, for each token that goes through the model.

    Args:
        recipe: The recipe: its objective says what is predicted.
        config: The model's shape.
        length: Tokens of a typical example, those of a T5's target among them; None for the longest.
    """
    options, family = recipe.objective, recipe.model.family
    tokens = max(2, min(length or sys.maxsize, _longest(recipe, config)))
    shape = asdict(config)
    if family == "t5":
        share = 0.5
        if isinstance(options, SpanCorruptionOptions):
            lengths = corrupted_lengths(_MANY, options.noise_rate, options.mean_span, options.target)
            share = lengths[1] / sum(lengths)
        target = max(1, round(share * tokens))
        counted = count_flops(family, shape, max(1, tokens - target), target_length=target)
    elif family == "bert":
        predicted = 1
        if isinstance(options, MaskedLmOptions):
            predicted, shape["head"] = max(1, round(options.mask_rate * tokens)), "masked_lm"
        counted = count_flops(family, shape, tokens, predicted=predicted)
    else:
        share = 0.5 if isinstance(options, FinetuneOptions) else 1.0
        counted = count_flops(family, shape, tokens, predicted=max(1, round(share * tokens)))
    return counted.train / counted.tokens


def matrix_rate(width: int, ff_width: int, device: torch.device) -> float:
    """Measure float32 matrix products of a model's width, in operations a second."""
    left = torch.randn(_ROWS, width, device=device)
    right = torch.randn(width, ff_width, device=device)
    torch.mm(left, right)
    operations, started = 0.0, time.perf_counter()
    while time.perf_counter() - started < _MEASURED_S:
        for _ in range(10):
            torch.mm(left, right)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        operations += 10 * 2.0 * _ROWS * width * ff_width
    return operations / (time.perf_counter() - started)
