"""The loop: step after step, with evaluations, saved states and every way to stop between them.

What happens after a step depends on the step's number and on the state alone, never on when the training was started; so one that
was stopped anywhere and started again ends as one that was not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from torch import nn

from evalkit.errors import IncompleteError, StoppedError
from evalkit.stopping import Stop
from evalkit.training.batches import Batches, Position
from evalkit.training.evaluation import STOPPED, Evaluation, Evaluator, best_of
from evalkit.training.folder import TrainingFolder
from evalkit.training.parallel import Processes, local
from evalkit.training.recipe import Recipe
from evalkit.training.reporting import MetricsFile, ProgressLine
from evalkit.training.schedules import rate_share
from evalkit.training.state import Progress, State, nothing_lost, write_state
from evalkit.training.stepping import Stepped, Stepper

_SMOOTHING = 0.05
"""Weight of the newest step in the smoothed loss."""
_FIRST_STEPS = 10
"""Steps whose loss later ones are held against."""
_EXPLODED, _EXPLODED_NATS = 2.0, 2.0
"""A smoothed loss above so many times the first ones and so many nats more is a training that will not come back."""
_MOST_LINES = 2000
"""Steps that `metrics.jsonl` tells apart; in longer trainings a line is the mean of several."""
_GO_ON, _SAVE, _STOP = 0, 1, 2


@dataclass(kw_only=True)
class Training:
    """All parts of one training, ready to go."""

    recipe: Recipe
    """What is trained."""
    steps: int
    """All optimiser steps."""
    stepper: Stepper
    """The model and its optimiser."""
    batches: Batches
    """The data, by places."""
    evaluator: Evaluator | None
    """What measures the model on the way; in the first process, None where nothing is measured."""
    folder: TrainingFolder
    """Where it is kept."""
    processes: Processes
    """This process."""
    whole_model: Callable[[], nn.Module]
    """Gives a model that can be measured and saved; all processes have to ask."""
    save: Callable[[nn.Module, Progress], None]
    """Writes a model as the checkpoint that is to be kept."""
    progress: Progress
    """Where it starts."""
    line: ProgressLine
    """What the user sees."""
    stop: Stop
    """Whether the user asked to stop."""


class Loop:
    """Runs one training from where it stands to its end.

    Args:
        training: Its parts.
    """

    def __init__(self, training: Training) -> None:
        self._t = training
        self._progress = training.progress
        self._evaluations = [Evaluation(**entry) for entry in training.progress.evaluations]
        self._every = max(1, training.steps // _MOST_LINES)
        self._pending: list[Stepped] = []
        self._started = time.monotonic()
        self._elapsed_before_s = training.progress.elapsed_s
        self._saved_at = self._started
        self._tokens_before = training.progress.tokens_seen

    @property
    def evaluations(self) -> list[Evaluation]:
        """What was measured, in order."""
        return self._evaluations

    def run(self) -> Progress:
        """Train to the end.

        Returns:
            How far it came: to the last step, or to where it stopped getting better.

        Raises:
            StoppedError: The user asked to stop; the state is saved.
            IncompleteError: The loss is not finite or exploded, or there is no room to write.
        """
        t = self._t
        metrics = MetricsFile(t.folder.metrics, self._progress.step) if t.processes.is_first else None
        try:
            t.stepper.model.train()
            data = t.batches.starting_at(Position(self._progress.epoch, self._progress.index))
            while not self._is_done(metrics):
                self._one_step(data, metrics)
                action = self._next_action()
                if action != _GO_ON:
                    self._save_state()
                if action == _STOP:
                    raise StoppedError(f"step {self._progress.step}: {STOPPED}")
        finally:
            t.line.clear()
            if metrics is not None:
                metrics.close()
        return self._progress

    def _is_done(self, metrics: MetricsFile | None) -> bool:
        """Evaluate if it is time for that; say whether training is over."""
        t, step = self._t, self._progress.step
        section = t.recipe.evaluate
        is_last = step >= t.steps
        if section is None:
            if is_last:
                self._check_weights()
                self._keep_checkpoint()
            return is_last
        is_due = is_last or (section.every is not None and step > 0 and step % section.every == 0)
        if is_due and not any(past.step == step for past in self._evaluations):
            self._evaluate(metrics)
        return is_last or (section.patience is not None and self._evaluations_without_gain() >= section.patience)

    def _one_step(self, data: Iterator[tuple[list[int], Position]], metrics: MetricsFile | None) -> None:
        t, number = self._t, self._progress.step
        places, after = next(data)
        rate = t.recipe.optimizer.lr * rate_share(t.recipe.schedule, number, t.steps)
        stepped = t.stepper.step(places, number, rate)
        if not stepped.is_finite:
            raise self._diverged(
                f"the loss is {stepped.loss_nats} and its gradient {stepped.gradient_norm}", number + 1, is_taken=False
            )
        first, recent = self._smoothed(stepped.loss_nats, number)
        self._progress = replace(
            self._progress,
            step=number + 1,
            epoch=after.epoch,
            index=after.index,
            tokens_seen=self._progress.tokens_seen + stepped.token_count,
            elapsed_s=self._elapsed_before_s + time.monotonic() - self._started,
            first_loss_nats=first,
            recent_loss_nats=recent,
        )
        if number >= _FIRST_STEPS and recent > _EXPLODED * first + _EXPLODED_NATS:
            raise self._diverged(
                f"the loss exploded: {recent:.3f} nats a target, {first:.3f} in the first steps", number + 1
            )
        self._tell(stepped, rate, metrics)

    def _smoothed(self, loss: float, number: int) -> tuple[float, float]:
        """The mean loss of the first steps, and a smoothed one of the last."""
        past = self._progress
        if past.first_loss_nats is None or past.recent_loss_nats is None:
            return loss, loss
        first = past.first_loss_nats
        if number < _FIRST_STEPS:
            first += (loss - first) / (number + 1)
        weight = max(_SMOOTHING, 1.0 / (number + 1))
        return first, past.recent_loss_nats + weight * (loss - past.recent_loss_nats)

    def _tell(self, stepped: Stepped, rate: float, metrics: MetricsFile | None) -> None:
        t, progress = self._t, self._progress
        spent = max(1e-9, time.monotonic() - self._started)
        tokens_per_s = (progress.tokens_seen - self._tokens_before) / spent
        done = progress.step - t.progress.step
        left_s = spent / done * (t.steps - progress.step)
        t.line.update(progress.step, t.steps, stepped.loss_nats, tokens_per_s, left_s, t.stepper.device)
        self._pending.append(stepped)
        if metrics is None or (progress.step % self._every and progress.step != t.steps):
            return
        count = len(self._pending)
        metrics.write(
            {
                "step": progress.step,
                "loss_nats": sum(one.loss_nats for one in self._pending) / count,
                "gradient_norm": sum(one.gradient_norm for one in self._pending) / count,
                "rate": rate,
                "targets": sum(one.target_count for one in self._pending),
                "tokens_seen": progress.tokens_seen,
                "tokens_per_s": round(tokens_per_s, 1),
                "elapsed_s": round(progress.elapsed_s, 3),
            }
        )
        self._pending.clear()

    def _evaluate(self, metrics: MetricsFile | None) -> None:
        """Measure the model, and keep it if it is the best so far."""
        t = self._t
        self._check_weights()
        model = t.whole_model()
        found: Evaluation | None = None
        if t.processes.is_first:
            assert t.evaluator is not None
            found = self._measured(t.evaluator, model)
        evaluation = t.processes.first_says(found)
        assert evaluation is not None
        is_best = evaluation.is_better_than(best_of(self._evaluations))
        self._evaluations.append(evaluation)
        entries = tuple(vars(entry) for entry in self._evaluations)
        self._progress = replace(self._progress, evaluations=entries)
        if t.processes.is_first and (is_best or t.recipe.keep.checkpoint == "last"):
            with nothing_lost("the checkpoint", "the one before and the last state are kept"):
                t.save(model, self._progress)
        if metrics is not None:
            metrics.write({"step": evaluation.step, "evaluation": evaluation.values, "is_best": is_best})
        shown = "undefined" if evaluation.value is None else f"{evaluation.value:.4f}"
        t.line.say(
            f"step {evaluation.step}/{t.steps}  {evaluation.metric} {shown} on held-out data{' (best)' if is_best else ''}"
        )

    def _measured(self, evaluator: Evaluator, model: nn.Module) -> Evaluation:
        """Measure the model; where the user asks to stop meanwhile, it is done again later."""
        # Other processes would wait for one that leaves here: together they stop after the next step.
        stop = self._t.stop if self._t.processes.count == 1 else Stop()
        try:
            return evaluator.evaluate(model, self._progress.step, stop)
        except StoppedError as error:
            self._save_state()
            raise StoppedError(f"step {self._progress.step}: {STOPPED}") from error

    def _evaluations_without_gain(self) -> int:
        best = best_of(self._evaluations)
        return len(self._evaluations) - 1 - self._evaluations.index(best) if best is not None else 0

    def _has_finite_weights(self) -> bool:
        """Whether all weights are finite, in all processes."""
        t = self._t
        mine = (local(parameter).isfinite().all() for parameter in t.stepper.model.parameters())
        return t.processes.highest(int(not all(mine)), t.stepper.device) == 0

    def _check_weights(self) -> None:
        if not self._has_finite_weights():
            raise self._diverged("the weights are not finite any more", self._progress.step)

    def _keep_checkpoint(self) -> None:
        model = self._t.whole_model()
        if self._t.processes.is_first:
            with nothing_lost("the checkpoint", "the last state is kept"):
                self._t.save(model, self._progress)

    def _next_action(self) -> int:
        """What is due after a step; the same in all processes."""
        t, keep = self._t, self._t.recipe.keep
        action = _GO_ON
        if keep.state_every is not None:
            action = _SAVE if self._progress.step % keep.state_every == 0 else _GO_ON
        elif time.monotonic() - self._saved_at >= keep.state_every_s:
            action = _SAVE
        if t.stop.is_asked:
            action = _STOP
        return t.processes.highest(action, t.stepper.device)

    def _save_state(self) -> None:
        t = self._t
        weights, optimizer = t.stepper.model_state(), t.stepper.optimizer_state()
        if t.processes.is_first:
            with nothing_lost("the state of the training", "the state before it is kept"):
                write_state(t.folder.states, State(self._progress, weights, optimizer))
        t.processes.wait()
        self._saved_at = time.monotonic()

    def _diverged(self, problem: str, at: int, *, is_taken: bool = True) -> IncompleteError:
        """Say what went wrong in a step, and which checkpoint is left; a step that was not taken left good weights."""
        t, step = self._t, self._progress.step
        best = best_of(self._evaluations)
        good = f"{t.folder.checkpoint} holds the checkpoint of step {best.step}" if best is not None else ""
        if best is None and step > 0 and t.recipe.parallel == "ddp" and not is_taken and self._has_finite_weights():
            self._keep_checkpoint()
            good = f"{t.folder.checkpoint} holds the checkpoint of step {step}"
        return IncompleteError(
            f"step {at}: {problem}; {good or 'no checkpoint had been written yet'}: lower optimizer.lr or optimizer.clip,"
            " lengthen schedule.warmup, and train into another --out"
        )
