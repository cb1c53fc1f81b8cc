"""Where points come from: flags that every fitting verb has, and the points that they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from evalkit.errors import InvalidInputError

if TYPE_CHECKING:
    from evalkit.scaling.csv_points import Table
    from evalkit.scaling.points import Points

POINTS = click.argument("places", nargs=-1, required=True, metavar="POINTS [RUN ...]")
COLUMN_HELP = (
    "Column of a field: N, D, C, U, loss, stderr, weights, run, cluster, seed, ...; FIELD= for none; repeatable."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFlags:
    """What the flags of `point_options` say."""

    places: tuple[str, ...]
    """A CSV file, or run folders."""
    column: tuple[str, ...]
    """FIELD=NAME each."""
    where: tuple[str, ...]
    """Conditions on rows."""
    dropna: bool
    """Whether rows with missing values are left out."""
    flops: str | None
    """How compute was counted."""
    loss_unit: str | None
    """Unit of the losses."""
    convert_loss: str | None
    """Unit they are converted to."""
    task: str | None
    """Task of the runs."""
    counting: str | None
    """How N of the runs is counted."""
    average_seeds: bool
    """Whether runs that differ in their seed alone become one point."""


def point_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument and the flags that name points; their values come as one `PointFlags` named `points`."""
    from functools import wraps

    @wraps(command)
    def gathered(**flags: Any) -> Any:  # noqa: ANN401
        own = {name: flags.pop(name) for name in PointFlags.__slots__}
        return command(points=PointFlags(**own), **flags)

    result: Callable[..., Any] = gathered
    for option in reversed(_OPTIONS):
        result = option(result)
    return result


_OPTIONS = (
    POINTS,
    click.option("--column", multiple=True, metavar="FIELD=NAME", help=COLUMN_HELP),
    click.option("--where", multiple=True, metavar="COND", help="Rows to take, e.g. 'N>=1e6'; repeatable."),
    click.option("--dropna", is_flag=True, help="Leave out rows with missing values."),
    click.option("--flops", metavar="TEXT", help="How C was counted, where it is not about 6ND."),
    click.option("--loss-unit", metavar="UNIT", help="nats/token, bits/token, nats/byte or bits/byte."),
    click.option("--convert-loss", metavar="UNIT", help="Convert losses to this unit."),
    click.option("--task", metavar="TASK", help="Task whose loss is taken, where points are runs of several."),
    click.option("--counting", metavar="HOW", help="N of runs: non-embedding (default), total or with-head."),
    click.option(
        "--average-seeds", is_flag=True, help="One point for runs of equal N and D, weighted by their number."
    ),
)


def load_points(flags: PointFlags) -> Points:
    """Read the points that flags name.

    Raises:
        InvalidInputError: They cannot be read, or flags do not go together.
    """
    points = _of_runs(flags) if is_runs(flags.places) else _of_table(flags)
    if not flags.average_seeds:
        return points
    from evalkit.scaling.replicates import average_replicates

    return average_replicates(points)


def _of_table(flags: PointFlags) -> Points:
    from evalkit.scaling.csv_points import point_columns
    from evalkit.scaling.points import PointSettings, make_points

    table = load_table(flags)

    columns = point_columns(table, named_columns(flags.column))
    if flags.loss_unit is not None:
        columns["loss_unit"] = flags.loss_unit
    first = table.lines[0]
    settings = PointSettings(
        dropna=flags.dropna, flops=flags.flops, loss_unit=flags.convert_loss, first_row=first if first > 0 else 2
    )
    return make_points(columns, settings)


def load_table(flags: PointFlags) -> Table:
    """Read the rows of the one file that flags name.

    Raises:
        InvalidInputError: They name no file, or several.
    """
    from evalkit.scaling.csv_points import read_table

    for name, value in (("--task", flags.task), ("--counting", flags.counting)):
        if value is not None:
            raise InvalidInputError(f"{name} goes with run folders; {flags.places[0]!r} is a table: use --column")
    if len(flags.places) != 1:
        raise InvalidInputError(
            f"{len(flags.places)} files of points; expected one: join them, with a column for --where"
        )
    return read_table(flags.places[0]).where(flags.where)


def is_runs(places: Sequence[str]) -> bool:
    """Whether places are run folders and not a file of points.

    Raises:
        InvalidInputError: They are both.
    """
    kinds = {os.path.isdir(place) or "://" in place for place in places}
    if len(kinds) > 1:
        raise InvalidInputError("files and run folders named together; expected one CSV file, or run folders")
    return kinds.pop()


def named_columns(column: Sequence[str]) -> dict[str, str]:
    """Read FIELD=NAME pairs; without a NAME a column of the field's name is left alone.

    Raises:
        InvalidInputError: One is no such pair, or a field is named twice.
    """
    return pairs("--column", column, "N=params", can_be_empty=True)


def pairs(flag: str, values: Sequence[str], example: str, *, can_be_empty: bool = False) -> dict[str, str]:
    """Read KEY=VALUE pairs of a repeatable flag.

    Raises:
        InvalidInputError: One is no such pair, or a key is given twice.
    """
    found: dict[str, str] = {}
    for text in values:
        key, sign, value = (part.strip() for part in text.partition("="))
        if not (key and sign and (value or can_be_empty)):
            raise InvalidInputError(f"{flag} is {text!r}; expected e.g. {flag} {example}")
        if key in found:
            raise InvalidInputError(f"{flag} names {key!r} twice: {found[key]!r} and {value!r}; give one")
        found[key] = value
    return found


def _of_runs(flags: PointFlags) -> Points:
    from evalkit.scaling.points import PointSettings, make_points
    from evalkit.scaling.run_points import RunOptions, run_columns

    for name, given in (("--column", flags.column), ("--where", flags.where), ("--convert-loss", flags.convert_loss)):
        if given:
            raise InvalidInputError(f"{name} goes with a CSV file; {flags.places[0]!r} is a folder of runs")
    options = RunOptions(
        task=flags.task, counting=flags.counting or "non-embedding", unit=flags.loss_unit or "nats/token"
    )
    columns = run_columns(flags.places, options)
    return make_points(columns, PointSettings(dropna=flags.dropna, flops=flags.flops or _flops_of(columns)))


def _flops_of(columns: Mapping[str, Any]) -> str | None:
    from evalkit.scaling.run_points import FLOPS

    return FLOPS if "C" in columns else None
