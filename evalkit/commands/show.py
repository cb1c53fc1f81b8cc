"""`evalkit show`: one task, metric, baseline, recipe or run in full."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from evalkit.table import printable

if TYPE_CHECKING:
    from evalkit.spec import TaskSpec


@click.command(name="show")
@click.argument("name")
@click.option("--data-dir", metavar="DIR", help="Folder of data files [env: EVALKIT_DATA_DIR]")
@click.option("--shots", type=click.IntRange(min=0), default=0, help="Solved examples in the prompt that is shown.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, data_dir: str | None, shots: int, as_json: bool) -> None:
    """Show one thing in full: a task or recipe (name or TOML file), a metric, baseline:NAME, or a run folder.

    \b
    Example:
      evalkit show mini_ner --shots 1
      evalkit show bleu
      evalkit show gpt2-124m
      evalkit show runs/20260101T000000.000000Z-mini_cws-copy-1a2b3c
    """
    facts = describe(name, data_dir, shots)
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=1, default=str))
        return
    for key, value in facts.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        click.echo(f"{key}:\n{_indent(text)}" if "\n" in text else f"{key}: {printable(text)}")


def describe(name: str, data_dir: str | None, shots: int) -> dict[str, Any]:
    """Find out what a name means, and describe it.

    Raises:
        UnknownNameError: It is no task, metric, baseline, recipe or run folder.
    """
    from evalkit.adapters.describe import describe_models
    from evalkit.catalog import is_task_file, tasks
    from evalkit.errors import UnknownNameError
    from evalkit.metrics.registry import METRICS
    from evalkit.training.recipe_file import is_recipe_file, recipe_names

    models = dict(describe_models())
    recipes = recipe_names()
    if name in recipes or is_recipe_file(name):
        return describe_recipe(name, data_dir)
    if name in tasks() or is_task_file(name):
        return describe_task(name, data_dir, shots)
    if name in METRICS:
        return describe_metric(name)
    if name in models:
        return {"model": name, "what": models[name]}
    if os.path.isdir(name):
        from evalkit.store import read_record

        return json.loads(read_record(name).to_json())  # type: ignore[no-any-return]
    known = [*tasks(), *METRICS, *models, *recipes]
    raise UnknownNameError("task, metric, model, recipe or run folder", name, known)


def describe_task(name: str, data_dir: str | None, shots: int) -> dict[str, Any]:
    """Everything about a task, with the prompt on a real example where the data is at hand."""
    from evalkit.catalog import task_notes
    from evalkit.provenance import task_digest
    from evalkit.resolve import resolve_data_dir, resolve_task

    task = resolve_task(name)
    facts: dict[str, Any] = {
        "task": task.name,
        "kind": task.kind,
        "summary": task.summary,
        "language": f"{task.source_language} to {task.language}" if task.source_language else task.language,
        "version": task.version,
        "digest": task_digest(task),
        "paper": task.paper,
        "licence": task.licence,
        "split": task.split,
        "requests": list(task.requests),
        "metrics": [f"{metric.label} ({', '.join(metric.headline)}): {metric.signature()}" for metric in task.metrics],
        "main metric": f"{task.metrics[0].label} {task.main_metric}",
    }
    if task.labels:
        facts["labels"] = list(task.labels)
    if task.files:
        facts["files"] = {split: list(paths) for split, paths in task.files.splits.items()}
        facts["format"] = task.files.format
    if task.hub:
        facts["hub"] = f"{task.hub.name} {task.hub.config or ''} at {task.hub.revision or 'its newest revision'}"
        facts["hub checked"] = task.hub.checked
    if task.generated:
        facts["embedded"] = {"sizes": dict(task.generated.sizes), "seed": task.generated.seed}
        if task.generated.facts:
            facts["known truths"] = dict(task.generated.facts())
    if notes := task_notes(name):
        facts["notes"] = notes
    return {**facts, **real_example(task, resolve_data_dir(name, task, data_dir), shots)}


def real_example(task: TaskSpec, data_dir: str | None, shots: int) -> dict[str, Any]:
    """The first example, with the prompt where a request kind of the task shows one; or why there is none."""
    from evalkit.data.load import load
    from evalkit.errors import MissingResourceError
    from evalkit.prompts import choose_shots, render, shots_for
    from evalkit.provenance import plain
    from evalkit.runner import PROMPTED, shot_pool

    if task.generated is None and data_dir is None:
        return {"example": "not at hand: give --data-dir with the files above"}
    try:
        example = load(task, task.split, data_dir).examples[0]
        chosen = choose_shots(shot_pool(task, data_dir), shots, seed=0) if shots else ()
    except MissingResourceError as error:
        return {"example": f"not at hand: {error}"}
    facts: dict[str, Any] = {
        "example": {"id": example.id, "inputs": plain(example.inputs), "references": plain(example.references)}
    }
    if PROMPTED & set(task.requests):
        facts["prompt"] = render(task, example, shots_for(example, chosen, shots))
    return facts


def describe_recipe(name: str, data_dir: str | None) -> dict[str, Any]:
    """Everything that a recipe decides, and what it costs on this machine."""
    from dataclasses import asdict

    from evalkit.training.processor import prepare_processor

    prepare_processor()  # before torch is imported: steps are timed as they are trained
    from evalkit.training.estimate import estimate_cost
    from evalkit.training.recipe_file import find_recipe
    from evalkit.training.reporting import shown_count, shown_time

    recipe = find_recipe(name)
    cost = estimate_cost(recipe, data_dir)
    facts: dict[str, Any] = {"recipe": recipe.name}
    for key, value in asdict(recipe).items():
        if key == "objective":
            value = {"kind": recipe.objective.kind, **value}
        if isinstance(value, dict):
            value = {inner: setting for inner, setting in value.items() if setting not in (None, ())}
        if key != "name" and value not in (None, "", ()):
            facts[key] = value
    counts = {
        "parameters": cost.parameters,
        "parameters without embeddings": cost.parameters_non_embedding,
        "tokens": cost.tokens,
        "flops": cost.flops,
    }
    facts |= {key: shown_count(value) for key, value in counts.items() if value is not None}
    if cost.steps is not None:
        facts["optimiser steps"] = cost.steps
    if cost.time_s is not None and cost.flops_per_s is not None:
        facts["time here"] = f"about {shown_time(cost.time_s)}, " + (
            f"as {cost.timed_steps} steps that were timed just now"
            if cost.timed_steps
            else f"at {cost.flops_per_s / 1e9:.0f} GFLOP/s of matrix products"
        )
    return facts | ({"note": cost.note} if cost.note else {})


def describe_metric(name: str) -> dict[str, Any]:
    """What a metric measures, with its settings and signature."""
    from dataclasses import fields

    from evalkit.metrics.registry import METRICS

    kind = METRICS[name]
    settings = {field.name: repr(field.default) for field in fields(kind) if field.init}  # type: ignore[arg-type]
    return {
        "metric": name,
        "what": " ".join((kind.__doc__ or "").split()),
        "equals": kind.reference,
        "scale": "0-100" if kind.scale == 100 else "as it is",
        "better": "higher" if kind.higher_is_better else "lower",
        "settings": settings,
    }


def _indent(text: str) -> str:
    return "\n".join(f"  {printable(line)}" for line in text.split("\n"))
