"""`evalkit train`: a recipe -> a checkpoint."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evalkit.training.train import Trained


@click.command(name="train")
@click.option("--recipe", required=True, metavar="NAME|FILE", help="Bundled recipe, or a TOML file of your own.")
@click.option("--task", metavar="TASK", help="Task to train on, instead of the recipe's.")
@click.option("--init", metavar="CHECKPOINT", help="Checkpoint folder to start from, ours or one of transformers.")
@click.option("--data-dir", metavar="DIR", help="Folder of data files, <kind>/<dataset>/... [env: EVALKIT_DATA_DIR]")
@click.option("--out", metavar="DIR", help="Folder of the checkpoint.  [default: checkpoints/<recipe>]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for one key; repeatable.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:N or mps.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(
    recipe: str,
    task: str | None,
    init: str | None,
    data_dir: str | None,
    out: str | None,
    overrides: tuple[str, ...],
    **flags: object,
) -> None:
    """Train a checkpoint. The same command goes on where a training stopped, and ends with the same weights.

    \b
    Example:
      evalkit train --recipe gpt-mini-lm
      evalkit train --recipe bert-qa --task squad --init bert-base-uncased --set optimizer.lr=2e-5
      torchrun --nproc-per-node 8 -m evalkit train --recipe gpt2-124m --data-dir data
    """
    from evalkit.training.recipe_file import find_recipe

    wanted = find_recipe(recipe, overrides)  # before torch is imported: a misspelt key is answered at once
    from evalkit.training.processor import prepare_processor

    prepare_processor()  # before torch is imported, too
    from evalkit.stopping import stop_on_signals
    from evalkit.training.train import TrainOptions, train

    with stop_on_signals(lambda line: click.echo(f"evalkit: {line}", err=True)) as stop:
        trained = train(
            wanted,
            TrainOptions(
                out=Path(out) if out is not None else Path("checkpoints") / wanted.name,
                task=task,
                init=init,
                data_dir=data_dir,
                device=str(flags["device"]),
                stop=stop,
            ),
        )
    if trained is not None:
        click.echo(json.dumps(asdict(trained), ensure_ascii=False) if flags["as_json"] else summary(trained))


def summary(trained: Trained) -> str:
    """What a person wants to know, one fact a line."""
    from evalkit.training.reporting import shown_count, shown_time

    lines = [f"checkpoint  {trained.checkpoint}"]
    early = f" of {trained.steps_planned}, stopped early" if trained.steps < trained.steps_planned else ""
    lines.append(f"steps       {trained.steps}{early}, {shown_count(trained.tokens_seen)} tokens")
    if trained.loss_nats is not None:
        lines.append(f"loss        {trained.loss_nats:.4f} nats a target, smoothed")
    if trained.evaluation is not None:
        value = trained.evaluation["value"]
        shown = "undefined" if value is None else f"{value:.4f}"
        lines.append(f"best        {trained.evaluation['metric']} {shown} after step {trained.evaluation['step']}")
    lines.append(f"time        {shown_time(trained.elapsed_s)}")
    return "\n".join(lines)
