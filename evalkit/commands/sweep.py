"""`evalkit sweep`: a grid of runs on the processes of this machine, on Slurm or on Ray."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit.errors import EvalkitError, IncompleteError, InvalidInputError, StoppedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalkit.sweep.cells import Cell, Outcome
    from evalkit.sweep.grid import Grid

STATE = ".evalkit/sweeps"
"""Where finished cells are noted by default."""


@click.command(name="sweep")
@click.argument("grid_file", metavar="GRID", type=click.Path(dir_okay=False))
@click.option(
    "--engine",
    type=click.Choice(["local", "slurm", "ray"]),
    default="local",
    show_default=True,
    help="What runs the cells.",
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Cells at once, instead of the grid's number.")
@click.option("--out", metavar="DIR|URL", help="Where run folders are kept, instead of the grid's place.")
@click.option("--state", default=STATE, show_default=True, metavar="DIR", help="Where finished cells are noted.")
@click.option("--dry-run", is_flag=True, help="Print the commands of the cells that would be run.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome of each cell as JSON.")
def command(
    grid_file: str, engine: str, workers: int | None, out: str | None, state: str, dry_run: bool, as_json: bool
) -> None:
    """Run a grid of tasks and models; each cell is an ordinary run folder.

    A sweep that is started again runs only the cells that are not done. A cell that is killed is repeated.

    \b
    Example:
      evalkit sweep grid.toml --workers 2
      evalkit sweep grid.toml --engine slurm
    """
    from dataclasses import replace

    from evalkit.stopping import stop_on_signals
    from evalkit.sweep.cells import KILLED, STOPPED
    from evalkit.sweep.engines import check_settings
    from evalkit.sweep.grid import read_grid
    from evalkit.sweep.ledger import Ledger
    from evalkit.sweep.sweep import sweep

    grid = read_grid(grid_file, run_flags())
    settings = replace(grid.engine, workers=workers or grid.engine.workers)
    check_settings(engine, settings)
    cells = cells_of(replace(grid, out=out or grid.out))
    ledger = Ledger(Path(state))
    if dry_run:
        _show_commands([cell for cell in cells if ledger.find(cell, cell.key) is None], as_json)
        return
    ledger.check_writable()
    with stop_on_signals(lambda line: click.echo(f"evalkit: {line}", err=True)) as stop:
        outcomes = sweep(cells, engine, settings, ledger, _announce, stop)
    click.echo(_document(cells, outcomes) if as_json else _table(cells, outcomes))
    left = sum(outcome.status in (KILLED, STOPPED) for outcome in outcomes)
    if stop.is_asked and left:
        raise StoppedError(f"stopped, with {left} of {len(cells)} cells not done; the same command runs those")
    failed = sum(outcome.status != "done" for outcome in outcomes)
    if failed:
        raise IncompleteError(
            f"{failed} of {len(cells)} cells failed; the others were kept: the same command again runs only those that failed"
        )


def run_flags() -> list[str]:
    """Names of the flags of `evalkit run` that a grid may set, with dashes."""
    from evalkit.commands.run import command as run
    from evalkit.sweep.grid import RESERVED

    names = [option.lstrip("-") for parameter in run.params for option in parameter.opts]
    return [name for name in names if name not in RESERVED]


def cells_of(grid: Grid) -> list[Cell]:
    """All cells of a grid, tasks first; names and flags are checked before any of them is run.

    Raises:
        InvalidInputError: A task, model or flag is not known, or every cell is excluded.
    """
    from evalkit.resolve import expand_models, expand_tasks, parse_model, resolve_task
    from evalkit.sweep.cells import Cell

    arguments = tuple(grid.arguments())
    _check_flags(arguments)
    for model in grid.models:
        parse_model(model)
    cells = [
        Cell(task=task, model=model, arguments=arguments, out=grid.out, folder=str(Path.cwd()))
        for task in expand_tasks(grid.tasks)
        for model in expand_models(grid.models, resolve_task(task))
        if not grid.leaves_out(task, model)
    ]
    if not cells:
        raise InvalidInputError("every cell of the grid is excluded; nothing is left to run")
    return cells


def _check_flags(arguments: Sequence[str]) -> None:
    from evalkit.commands.run import RunOptions, model_settings
    from evalkit.commands.run import command as run

    try:
        context = run.make_context("run", ["--task=x", "--model=x", *arguments])
    except click.ClickException as error:
        raise InvalidInputError(f"[run] {error.format_message()}") from error
    flags = {name: value for name, value in context.params.items() if name in RunOptions.__dataclass_fields__}
    model_settings(RunOptions(**flags))


def _announce(cell: Cell, outcome: Outcome) -> None:
    from evalkit.table import printable

    state = "done before" if outcome.is_earlier else outcome.status
    end = f": {outcome.message}" if outcome.message else ""
    click.echo(printable(f"{state}: {cell.task}, {cell.model}{end}"), err=True)


def _show_commands(cells: Sequence[Cell], as_json: bool) -> None:
    import shlex

    commands = [shlex.join(cell.words) for cell in cells]
    click.echo(json.dumps({"commands": commands}, ensure_ascii=False) if as_json else "\n".join(commands))


def _document(cells: Sequence[Cell], outcomes: Sequence[Outcome]) -> str:
    rows = [
        {
            "task": cell.task,
            "model": cell.model,
            "status": outcome.status,
            "runs": list(outcome.runs),
            "message": outcome.message,
            "is_earlier": outcome.is_earlier,
        }
        for cell, outcome in zip(cells, outcomes, strict=True)
    ]
    return json.dumps({"cells": rows}, ensure_ascii=False)


def _table(cells: Sequence[Cell], outcomes: Sequence[Outcome]) -> str:
    """One row a cell with its main value, or why it has none."""
    from evalkit.table import format_table

    rows = [_row(cell, outcome) for cell, outcome in zip(cells, outcomes, strict=True)]
    return format_table(("task", "model", "metric", "value", "interval", "n", "status"), rows, frozenset({3, 4, 5}))


def _row(cell: Cell, outcome: Outcome) -> tuple[str, ...]:
    from evalkit.commands.run import format_interval, format_value
    from evalkit.comparison.loaded import load_record

    if outcome.status != "done":
        return cell.task, cell.model, "-", "-", "-", "-", f"{outcome.status}: {outcome.message}"
    try:
        value = load_record(f"{cell.out.rstrip('/')}/{outcome.runs[-1]}").main()
    except EvalkitError as error:
        return cell.task, cell.model, "-", "-", "-", "-", f"done: {error}"
    return (
        cell.task,
        cell.model,
        value.metric if value.metric.startswith(value.name) else f"{value.metric} {value.name}",
        format_value(value.value, value.scale),
        format_interval(value.low, value.high, value.scale),
        str(value.n),
        "done before" if outcome.is_earlier else "done",
    )
