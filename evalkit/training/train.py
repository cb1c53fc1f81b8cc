"""From a recipe to a checkpoint: opens what the recipe names, builds the model, runs the loop, keeps the outcome."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from evalkit.adapters.neural import find_device
from evalkit.checkpoints import Card, save_checkpoint
from evalkit.checkpoints.architectures import build_empty, describe
from evalkit.data.load import TaskData
from evalkit.stopping import Stop
from evalkit.tokenization import Tokenizer, load_tokenizer, save_tokenizer
from evalkit.training.batches import Batches
from evalkit.training.building import new_model, started_model
from evalkit.training.curve import draw_curve
from evalkit.training.evaluation import Evaluation, Evaluator, LossEvaluator, TaskEvaluator, best_of
from evalkit.training.folder import TrainingFolder
from evalkit.training.inputs import Inputs, identity, open_inputs
from evalkit.training.loop import Loop, Training
from evalkit.training.lora import add_lora, has_lora, merged_state
from evalkit.training.objectives import build_objective, card_details, head_for, train_tokenizer
from evalkit.training.parallel import Processes, joined_processes
from evalkit.training.precision import faster_is_bf16
from evalkit.training.processor import limited_threads, prepare_processor
from evalkit.training.recipe import Recipe
from evalkit.training.recipe_file import recipe_digest
from evalkit.training.reporting import ProgressLine, read_metrics
from evalkit.training.seeds import derive_seed
from evalkit.training.state import Progress, nothing_lost, read_state
from evalkit.training.stepping import Stepper


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What is said on the command line beside the recipe."""

    out: Path
    """Folder of the checkpoint."""
    task: str | None = None
    """Task instead of the recipe's."""
    init: str | None = None
    """Checkpoint folder to start from."""
    data_dir: str | None = None
    """Folder of data files."""
    device: str = "auto"
    """``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``."""
    is_quiet: bool = False
    """Whether nothing is written to stderr."""
    stop: Stop = field(default_factory=Stop)
    """Whether the user asked to stop; looked at after every step."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """How a training ended."""

    checkpoint: str
    """The checkpoint's folder."""
    recipe: str
    """The recipe's name."""
    steps: int
    """Optimiser steps taken."""
    steps_planned: int
    """Optimiser steps of the whole recipe; more than were taken where it stopped early."""
    tokens_seen: int
    """Tokens that went through the model."""
    loss_nats: float | None
    """Smoothed training loss of the last steps."""
    evaluation: dict[str, Any] | None
    """The best evaluation."""
    elapsed_s: float
    """Seconds in the loop, those of earlier starts counted."""


def train(recipe: Recipe, options: TrainOptions) -> Trained | None:
    """Train what a recipe describes, from where the folder stands.

    Args:
        recipe: What to train.
        options: Where, on what, from what.

    Returns:
        How it ended; None in all processes but the first.

    Raises:
        EvalkitError: Something cannot be used, or training cannot go on; nothing that was kept is lost.
        StoppedError: The user asked to stop; the state was saved.
    """
    if options.task is not None:
        recipe = replace(recipe, data=replace(recipe.data, task=options.task, texts=()))
    folder = TrainingFolder(options.out)
    prepare_processor()
    with joined_processes(find_device(options.device)) as (processes, device):
        if processes.is_first:
            folder.check_free()
        inputs = open_inputs(recipe, options.data_dir, options.init, device)
        parts = _Parts(recipe, options, folder, processes, inputs)
        with limited_threads(recipe.threads):
            if not processes.is_first:
                parts.train(device)
                return None
            with folder.locked():
                return parts.train(device)


class _Parts:
    """The parts of one training, each made by a method of its own."""

    def __init__(
        self, recipe: Recipe, options: TrainOptions, folder: TrainingFolder, processes: Processes, inputs: Inputs
    ) -> None:
        self._recipe, self._options, self._folder = recipe, options, folder
        self._processes, self._inputs = processes, inputs
        self._head = head_for(recipe, inputs.data)
        self._line = ProgressLine(recipe.name, is_shown=processes.is_first and not options.is_quiet)

    def train(self, device: torch.device) -> Trained:
        """Go from the recipe to the checkpoint."""
        recipe, folder = self._recipe, self._folder
        if self._processes.is_first:
            folder.claim(identity(recipe, self._inputs))
        self._processes.wait()
        if (result := folder.result()) is not None:
            self._line.say(f"{folder.root} is trained already; to train anew, remove it or choose another --out")
            return Trained(**result)
        tokenizer = self._tokenizer()
        model = self._model(tokenizer, device)
        objective = build_objective(recipe, tokenizer, model, self._inputs.data, self._head, is_training=True)
        batches = Batches(objective.lengths, recipe.batch, recipe.seed)
        stepper = Stepper(model, objective, recipe, self._processes)
        progress = self._restored(stepper, batches)
        training = Training(
            recipe=recipe,
            steps=planned_steps(recipe, batches),
            stepper=stepper,
            batches=batches,
            evaluator=self._evaluator(tokenizer, stepper),
            folder=folder,
            processes=self._processes,
            whole_model=lambda: self._whole(stepper),
            save=lambda whole, at: self._save(whole, tokenizer, at),
            progress=progress,
            line=self._line,
            stop=self._options.stop,
        )
        loop = Loop(training)
        trained = self._outcome(loop.run(), training.steps, loop.evaluations)
        if self._processes.is_first:
            with nothing_lost("the checkpoint", f"it is in {folder.checkpoint}"):
                picture = draw_curve(f"{recipe.name}: loss", read_metrics(folder.metrics))
                folder.curve.write_text(picture, encoding="utf-8")
                folder.finish(asdict(trained))
        self._processes.wait()
        return trained

    def _tokenizer(self) -> Tokenizer:
        """The checkpoint's, that of the recipe's folder, or one trained on the data: once, and kept for the next start."""
        section = self._recipe.tokenizer
        if self._inputs.start is not None:
            return self._inputs.start.tokenizer
        assert section is not None
        if section.folder is not None:
            return load_tokenizer(Path(section.folder))
        kept = self._folder.tokenizer
        if self._processes.is_first and not kept.is_dir():
            trained = train_tokenizer(self._recipe, self._inputs.data)
            with self._folder.written_aside(kept) as aside:
                save_tokenizer(aside, trained)
        self._processes.wait()
        return load_tokenizer(kept)

    def _model(self, tokenizer: Tokenizer, device: torch.device) -> nn.Module:
        recipe, start = self._recipe, self._inputs.start
        if start is not None:
            if recipe.tokenizer is not None:
                self._line.say(f"sizes and tokenizer are those of {self._options.init}, not the recipe's")
            return self._with_lora(started_model(start, recipe.model, self._head, recipe.seed))
        return self._with_lora(new_model(recipe.model, tokenizer.largest_id + 1, self._head, recipe.seed, device))

    def _with_lora(self, model: nn.Module) -> nn.Module:
        if self._recipe.lora is not None:
            add_lora(model, self._recipe.lora, torch.Generator().manual_seed(derive_seed(self._recipe.seed, "lora")))
        return model

    def _restored(self, stepper: Stepper, batches: Batches) -> Progress:
        """Go on from the newest state, or begin: choose the precision."""
        state = read_state(self._folder.states)
        if state is not None:
            stepper.restore(state.model, state.optimizer)
            stepper.is_bf16 = state.progress.is_bf16
            self._line.say(f"going on after step {state.progress.step}")
            return state.progress
        stepper.is_bf16 = self._recipe.precision == "bf16"
        if self._recipe.precision == "auto":
            is_faster, said = faster_is_bf16(stepper, batches.epoch(0)[0])
            stepper.is_bf16 = self._processes.first_says(is_faster)
            self._line.say(said)
        return Progress(is_bf16=stepper.is_bf16)

    def _evaluator(self, tokenizer: Tokenizer, stepper: Stepper) -> Evaluator | None:
        section, heldout = self._recipe.evaluate, self._inputs.heldout
        if section is None or heldout is None:
            return None
        if section.metric == "loss":
            objective = build_objective(self._recipe, tokenizer, stepper.model, heldout, self._head, is_training=False)
            return LossEvaluator(objective=objective, batch=self._recipe.batch, is_bf16=stepper.is_bf16)
        assert heldout.task is not None
        data = TaskData(
            examples=heldout.examples, source=heldout.source, revision=None, digest=heldout.digest, split=section.split
        )
        evaluator = TaskEvaluator(
            task=heldout.task,
            data=data,
            metric=section.metric,
            tokenizer=tokenizer,
            labels=self._head.labels,
            tag_decoding=card_details(self._recipe, self._inputs.data).get("tag_decoding", "auto"),
            data_dir=self._inputs.data_dir,
        )
        if not stepper.is_sharded:
            evaluator.check(stepper.model)
        return evaluator

    def _whole(self, stepper: Stepper) -> nn.Module:
        """The model as it can be measured and saved: not sharded, low-rank updates merged."""
        if not stepper.is_sharded and not has_lora(stepper.model):
            return stepper.model
        weights = merged_state(stepper.model) if has_lora(stepper.model) else stepper.model_state()
        plain = build_empty(describe(stepper.model, self._head.labels))
        plain.load_state_dict(weights, assign=True)
        return plain

    def _save(self, model: nn.Module, tokenizer: Tokenizer, at: Progress) -> None:
        recipe = self._recipe
        best = best_of([Evaluation(**entry) for entry in at.evaluations])
        card = Card(
            recipe=recipe.name,
            data=f"{self._inputs.data.source} ({self._inputs.data.digest})",
            steps=at.step,
            tokens_seen=at.tokens_seen,
            details={
                "recipe_digest": recipe_digest(recipe),
                "seed": recipe.seed,
                "objective": recipe.objective.kind,
                "lr": recipe.optimizer.lr,
                "precision": "bf16" if at.is_bf16 else "float32",
                "start": self._options.init,
                "loss_nats": at.recent_loss_nats,
                "evaluation": None if best is None else asdict(best),
                **card_details(recipe, self._inputs.data),
            },
        )
        save_checkpoint(
            self._folder.checkpoint,
            model,
            tokenizer,
            card,
            labels=self._head.labels,
            layout="huggingface" if recipe.keep.layout == "huggingface" else "evalkit",
            replace_existing=True,
        )

    def _outcome(self, reached: Progress, steps: int, evaluations: list[Evaluation]) -> Trained:
        best = best_of(evaluations)
        return Trained(
            checkpoint=str(self._folder.root),
            recipe=self._recipe.name,
            steps=reached.step,
            steps_planned=steps,
            tokens_seen=reached.tokens_seen,
            loss_nats=reached.recent_loss_nats,
            evaluation=None if best is None else asdict(best),
            elapsed_s=round(reached.elapsed_s, 3),
        )


def planned_steps(recipe: Recipe, batches: Batches) -> int:
    """Count the optimiser steps of a recipe: its own number, or what its epochs come to."""
    if recipe.steps is not None:
        return recipe.steps
    assert recipe.epochs is not None
    return max(1, round(recipe.epochs * batches.per_epoch))
