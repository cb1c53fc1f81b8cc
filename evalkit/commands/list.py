"""`evalkit list`: what there is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evalkit.spec import TaskSpec

TOPICS = ("tasks", "models", "metrics", "recipes")


@click.command(name="list")
@click.argument("topic", type=click.Choice(TOPICS))
@click.option("--kind", metavar="KIND", help="Only tasks of this kind, e.g. mt, qa, cws.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(topic: str, kind: str | None, as_json: bool) -> None:
    """List tasks, kinds of models, metrics, or recipes.

    \b
    Example:
      evalkit list tasks --kind cws
      evalkit list metrics --json
    """
    from evalkit.errors import InvalidInputError

    if kind is not None and topic != "tasks":
        raise InvalidInputError(f"--kind goes with 'list tasks', not with 'list {topic}'")
    rows = {"tasks": lambda: list_tasks(kind), "models": list_models, "metrics": list_metrics, "recipes": list_recipes}[
        topic
    ]()
    if as_json:
        click.echo(json.dumps({topic: rows}, ensure_ascii=False, indent=1))
        return
    from evalkit.table import format_table

    click.echo(format_table(tuple(rows[0]), [tuple(map(str, row.values())) for row in rows]))


def list_tasks(kind: str | None) -> list[dict[str, str]]:
    """Name, kind, language, main metric and origin of every task."""
    from evalkit.catalog import tasks
    from evalkit.errors import UnknownNameError
    from evalkit.kinds import KINDS

    if kind is not None and kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    return [
        {
            "name": task.name,
            "kind": task.kind,
            "language": f"{task.source_language}-{task.language}" if task.source_language else task.language,
            "metric": task.metrics[0].label,
            "data": origin(task),
            "summary": task.summary,
        }
        for task in tasks().values()
        if kind in (None, task.kind)
    ]


def origin(task: TaskSpec) -> str:
    """Where a task's data comes from."""
    if task.generated:
        return "embedded"
    return "+".join(name for name in ("files", "hub") if getattr(task, name))


def list_models() -> list[dict[str, str]]:
    """The ways to name a model."""
    from evalkit.adapters.describe import describe_models

    return [{"model": name, "what": text} for name, text in describe_models()]


def list_metrics() -> list[dict[str, str]]:
    """Name, values and official reference of every metric."""
    from evalkit.metrics.registry import METRICS

    return [
        {
            "name": name,
            "scale": "0-100" if metric.scale == 100 else "0-1" if metric.range[1] == 1 else "0 and up",
            "better": "higher" if metric.higher_is_better else "lower",
            "equals": metric.reference,
            "what": (metric.__doc__ or "").strip().splitlines()[0],
        }
        for name, metric in METRICS.items()
    ]


def list_recipes() -> list[dict[str, str]]:
    """Name, model, objective, data and hardware of every bundled recipe."""
    from evalkit.training.recipe_file import find_recipe, recipe_names

    return [
        {
            "name": recipe.name,
            "family": recipe.model.family,
            "objective": recipe.objective.kind,
            "data": recipe.data.task or ("--task" if recipe.objective.kind == "finetune" else "text files"),
            "hardware": recipe.hardware,
            "summary": recipe.summary,
        }
        for recipe in map(find_recipe, recipe_names())
    ]
