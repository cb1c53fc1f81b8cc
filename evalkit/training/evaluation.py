"""What is measured during training: the objective's loss on held-out data, or a task's metric by evalkit's own runner."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import nn

from evalkit import runner
from evalkit.adapters.neural import adapter_around
from evalkit.answered import summarize
from evalkit.asking import Asker, Asking
from evalkit.cache.keys import keys_for
from evalkit.data.load import TaskData, lexicon
from evalkit.errors import InvalidInputError, StoppedError, UnknownNameError
from evalkit.requests import ModelAdapter, ModelInfo, ModelSettings, TaskContext
from evalkit.spec import ModelRef, RunSpec, TaskSpec
from evalkit.stopping import Stop
from evalkit.tokenization import Tokenizer
from evalkit.training.batches import Batches
from evalkit.training.objective import Objective
from evalkit.training.recipe import BatchSection
from evalkit.training.seeds import derive_seed
from evalkit_models.bert_heads import BertForMaskedLm, BertForSpans, BertForTokenLabels

STOPPED = "stopped; the same command goes on from there"
"""What a user reads who asked to stop."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What was measured after some step."""

    step: int
    """Optimiser steps taken."""
    metric: str
    """Name of the value that decides which checkpoint is best."""
    value: float | None
    """That value; None where it is undefined, as a share of nothing is."""
    higher_is_better: bool
    """Whether a higher one is better."""
    values: Mapping[str, float]
    """All headline values, under ``metric.value``."""

    def is_better_than(self, other: Evaluation | None) -> bool:
        """Whether this is better than another; anything is better than what has no value."""
        if other is None or other.value is None or self.value is None:
            return other is None or (other.value is None and self.value is not None)
        return self.value > other.value if self.higher_is_better else self.value < other.value


def best_of(evaluations: Iterable[Evaluation]) -> Evaluation | None:
    """The best of several evaluations, the first of equals; None of none."""
    best: Evaluation | None = None
    for evaluation in evaluations:
        if evaluation.is_better_than(best):
            best = evaluation
    return best


class Evaluator(Protocol):
    """Measures a model in memory."""

    def evaluate(self, model: nn.Module, step: int, stop: Stop) -> Evaluation:
        """Measure the model; it comes back in the mode that it had.

        Raises:
            StoppedError: The user asked to stop before all was measured.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class LossEvaluator:
    """Measures the mean loss of a target on held-out data, masks and spans drawn the same way each time."""

    objective: Objective
    """The objective on the held-out data."""
    batch: BatchSection
    """How much is read at once."""
    is_bf16: bool
    """Whether the model runs under bf16 autocast, as in training."""

    def evaluate(self, model: nn.Module, step: int, stop: Stop) -> Evaluation:
        """Measure the loss in nats a target."""
        device = next(model.parameters()).device
        total, targets = 0.0, 0
        with _evaluating(model):
            for number, places in enumerate(Batches(self.objective.lengths, self.batch, 0).epoch(0)):
                if stop.is_asked:
                    raise StoppedError(STOPPED)
                generator = torch.Generator().manual_seed(derive_seed(0, "held out", number))
                batch = self.objective.collate(places, generator).to(device)
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.is_bf16):
                    loss = self.objective.loss(model, batch)
                total += float(loss.total)
                targets += loss.target_count
        if not targets:
            raise InvalidInputError("the held-out data has no target to measure a loss on; give more of it")
        loss_nats = total / targets
        value = loss_nats if math.isfinite(loss_nats) else None
        values = {} if value is None else {"loss": value}
        return Evaluation(step=step, metric="loss", value=value, higher_is_better=False, values=values)


@dataclass(frozen=True, kw_only=True)
class TaskEvaluator:
    """Measures a task's metrics: asks, answers and scores as `evalkit run` does, without intervals."""

    task: TaskSpec
    """The task."""
    data: TaskData
    """The examples to score."""
    metric: str
    """``main``, the name of a headline value, or ``metric.value``."""
    tokenizer: Tokenizer
    """The model's."""
    labels: tuple[str, ...] = ()
    """Names of the model's labels, if it has some."""
    tag_decoding: str = "auto"
    """How tags are chosen, as in `ModelSettings`."""
    data_dir: str | None = None
    """Folder of data files."""

    def __post_init__(self) -> None:
        known = [f"{label}.{name}" for metric, label in self._metrics() for name in metric.headline]
        short = [name for metric, _ in self._metrics() for name in metric.headline]
        if self.metric not in ("main", *short, *known):
            raise UnknownNameError(
                f"[evaluate] metric for task {self.task.name!r}:", self.metric, ["loss", "main", *known]
            )

    def check(self, model: nn.Module) -> None:
        """Check that the model can be asked what the task asks.

        Raises:
            InvalidInputError: It cannot.
        """
        with _evaluating(model):
            self._prepared(model)

    def evaluate(self, model: nn.Module, step: int, stop: Stop) -> Evaluation:
        """Measure all metrics of the task; the chosen one decides."""
        spec = self._spec
        with _evaluating(model):
            adapter, context, settings = self._prepared(model)
            asker = Asker(adapter, keys_for(adapter.info, context, settings), Asking(stop=stop))
            requests = runner.ask(spec, self.task, self.data.examples, context)
            answered = runner.answer(self.task, asker, self.data.examples, requests, _unseen)
        if stop.is_asked:
            raise StoppedError(STOPPED)
        columns = summarize(answered).columns
        measured, _ = runner.measure(spec, self._bound_task, columns, _unseen)
        rows = list(runner.metric_values(measured, len(columns), len(answered)))
        values = {f"{row.metric}.{row.name}": row.value for row in rows if row.headline and row.value is not None}
        chosen = next(row for row in rows if self.metric in ("main", row.name, f"{row.metric}.{row.name}"))
        return Evaluation(
            step=step,
            metric=f"{chosen.metric}.{chosen.name}",
            value=chosen.value,
            higher_is_better=chosen.higher_is_better,
            values=values,
        )

    @property
    def _spec(self) -> RunSpec:
        return RunSpec(
            task=self.task.name,
            model=ModelRef(scheme="checkpoint", target="in memory"),
            split=self.data.split,
            data_dir=self.data_dir,
            resamples=0,
        )

    def _prepared(self, model: nn.Module) -> tuple[ModelAdapter, TaskContext, ModelSettings]:
        """Put an adapter around the model, and tell it of the task."""
        settings = replace(_settings(model), tag_decoding=self.tag_decoding)
        adapter = adapter_around(model, self.tokenizer, _info(model), settings, self.labels)
        context = runner.task_context(self._spec, self.task, self.data, adapter)
        adapter.prepare(context)
        return adapter, context, settings

    @cached_property
    def _bound_task(self) -> TaskSpec:
        """The task, its metrics with the training words that some of them need, which are read only once."""
        metrics = [metric.with_lexicon(lambda: lexicon(self.task, self.data_dir)) for metric in self.task.metrics]
        return replace(self.task, metrics=tuple(metrics))

    def _metrics(self) -> list[tuple[Any, str]]:
        return list(zip(self.task.metrics, self.task.metric_labels, strict=True))


def _unseen(items: Iterable[Any], total: int, title: str) -> Iterable[Any]:
    return items


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode, and back into what it was: its mode, and its weights where adapters lay them out anew."""
    was_training = model.training
    weights = [(parameter, parameter.data) for parameter in model.parameters()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        # Steps on weights of another layout round differently than those of a training that goes on from a state.
        for parameter, data in weights:
            parameter.data = data
        model.train(was_training)


def _settings(model: nn.Module) -> ModelSettings:
    """How a model is run while it is trained: nothing stops at a long text."""
    has_windows = isinstance(model, BertForMaskedLm | BertForSpans | BertForTokenLabels)
    return ModelSettings(on_overflow="window" if has_windows else "truncate")


def _info(model: nn.Module) -> ModelInfo:
    return ModelInfo(ref="in memory", name="in training", digest="", family=type(model).__name__)
