"""`evalkit scaling backtest`: fit the smaller runs, predict the larger ones, and compare laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from evalkit.commands.scaling_verbs.fit import read_constraints, read_intervals
from evalkit.commands.scaling_verbs.inputs import PointFlags, load_points, point_options
from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.scaling.tables import Outcome, Table, Value, warnings_json

if TYPE_CHECKING:
    from evalkit.scaling.backtest import Backtest
    from evalkit.scaling.law_comparison import LawComparison
    from evalkit.scaling.warnings import ScalingWarning


@click.command(name="backtest")
@point_options
@click.option("--law", "laws", multiple=True, default=("chinchilla",), metavar="LAW", help="Law; several are compared.")
@click.option("--by", default="C", show_default=True, help="What is cut: N, D or C.")
@click.option("--cut", "cuts", multiple=True, type=float, metavar="X", help="Fit the runs up to here; repeatable.")
@click.option("--loss", default="huber", show_default=True, metavar="LOSS", help="What is minimised.")
@click.option("--delta", type=float, default=1e-3, show_default=True, help="Width of a Huber loss.")
@click.option("--fix", multiple=True, metavar="NAME=VALUE", help="A parameter that is not fitted; repeatable.")
@click.option("--intervals", "method", default="auto", show_default=True, help="Method of the bands, or none.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the bands.")
@click.option("--resamples", type=int, default=300, show_default=True, help="Resamples of a bootstrap.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of resampling and folds.")
@click.option("--folds", type=int, default=10, show_default=True, help="Folds of the cross-validation of several laws.")
@output_options
def command(points: PointFlags, laws: tuple[str, ...], by: str, cuts: tuple[float, ...], **flags: Any) -> None:  # noqa: ANN401
    """Fit the runs up to a cut, predict those beyond, and say how far off that was and how often the bands held.

    Without --cut, up to five cuts are chosen, the last of which holds back the largest value alone. With several laws, they are
    also compared by cross-validation and AICc.

    \b
    Example:
      evalkit scaling backtest runs.csv --by C --cut 1e20 --cut 1e21
      evalkit scaling backtest runs.csv --by N --law chinchilla --law coupled
    """
    output = {name: flags.pop(name) for name in ("form", "out", "as_json")}
    check_output(output["form"], output["out"], output["as_json"])
    from evalkit.scaling.backtest import backtest
    from evalkit.scaling.law_comparison import compare_laws
    from evalkit.scaling.losses import Loss

    loss, constraints = Loss(name=flags["loss"], delta=flags["delta"]), read_constraints(flags["fix"], (), ())
    intervals, runs = read_intervals(flags), load_points(points)
    found = [
        backtest(runs, law, loss, by=by, cuts=cuts or None, constraints=constraints, intervals=intervals)
        for law in laws
    ]
    compared = compare_laws(runs, laws, loss, folds=flags["folds"], seed=flags["seed"]) if len(laws) > 1 else None
    emit(backtest_outcome(found, laws, compared), **output)


def backtest_outcome(found: Sequence[Backtest], names: Sequence[str], compared: LawComparison | None = None) -> Outcome:
    """Lay out backtests, and the comparison of several laws."""
    tables = [_cuts(one, name) for one, name in zip(found, names, strict=True)]
    warnings: dict[ScalingWarning, None] = {warning: None for one in found for warning in one.warnings}
    if compared is not None:
        tables.append(_laws(compared))
        warnings |= dict.fromkeys(compared.warnings)
    document = {
        "backtests": [
            {
                "law": name,
                "by": one.by,
                "level": one.level,
                "cuts": [{key: value for key, value in asdict(row).items() if key != "errors"} for row in one.rows],
            }
            for one, name in zip(found, names, strict=True)
        ],
        "laws": None
        if compared is None
        else [{key: value for key, value in asdict(row).items() if key != "law"} for row in compared.rows],
        "warnings": warnings_json(tuple(warnings)),
    }
    return Outcome(document, tuple(tables), tuple(warnings))


def _cuts(one: Backtest, name: str) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            row.cut,
            row.n_train,
            row.n_test,
            row.reach,
            100 * row.mean_abs,
            100 * row.bias,
            100 * row.max_abs,
            100 * row.in_sample,
            None if row.covered is None else 100 * row.covered,
        )
        for row in one.rows
    ]
    header = (
        f"fitted up to {one.by}", "fitted", "predicted", "times larger", "mean error %", "bias %", "largest %",
        "error where fitted %", f"in {100 * one.level:g}% band %",
    )  # fmt: skip
    return Table(f"{name}: larger runs predicted from smaller ones", header, tuple(rows), left=0)


def _laws(compared: LawComparison) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            row.label,
            row.parameters,
            row.objective,
            row.aicc,
            row.weight,
            100 * row.held_out,
            100 * row.difference,
            100 * row.difference_stderr,
        )
        for row in compared.rows
    ]
    header = ("law", "parameters", "objective", "AICc", "weight", "held-out error %", "above the best %", "se")
    return Table(f"Laws, by the error on held-out runs ({compared.folds} folds)", header, tuple(rows))
