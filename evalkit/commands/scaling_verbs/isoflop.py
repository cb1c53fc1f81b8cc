"""`evalkit scaling isoflop`: the best size and tokens of each compute budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evalkit.commands.scaling_verbs.inputs import PointFlags, load_points, point_options
from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.scaling.tables import Outcome, Table, Value, warnings_json

if TYPE_CHECKING:
    from evalkit.scaling.approaches import Approaches
    from evalkit.scaling.isoflop import IsoFlop, PowerLine


@click.command(name="isoflop")
@point_options
@click.option("--method", default="parabola", show_default=True, help="parabola, cubic or akima.")
@click.option("--weighting", default="equal", show_default=True, help="How budgets count: equal, or by 1/variance.")
@click.option("--budget-tolerance", type=float, default=0.1, show_default=True, help="Runs closer in C are one budget.")
@click.option("--compute", multiple=True, type=float, metavar="FLOPS", help="Budget to read the lines at; repeatable.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option("--resamples", type=int, default=1000, show_default=True, help="Bootstrap draws; 0 for no intervals.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the draws.")
@click.option(
    "--others/--no-others", default=True, show_default=True, help="Also approaches 1 and 3, on the same runs."
)
@output_options
def command(points: PointFlags, compute: tuple[float, ...], others: bool, **flags: Any) -> None:  # noqa: ANN401
    """Read IsoFLOP profiles: where the loss of each budget is lowest, and how that place grows with compute.

    \b
    Example:
      evalkit scaling isoflop sweep.csv --method cubic --compute 1e22
      evalkit scaling isoflop sweep.csv --where outlier=False --flops "by the model" --out isoflop.md
    """
    output = {name: flags.pop(name) for name in ("form", "out", "as_json")}
    check_output(**output)
    from evalkit.scaling.approaches import other_approaches
    from evalkit.scaling.isoflop import fit_isoflop
    from evalkit.scaling.isoflop_valleys import IsoFlopSettings

    settings = IsoFlopSettings(level=flags.pop("confidence"), **flags)
    fitted = fit_isoflop(load_points(points), settings)
    emit(isoflop_outcome(fitted, compute, other_approaches(fitted) if others else None), **output)


def isoflop_outcome(fitted: IsoFlop, budgets: tuple[float, ...] = (), others: Approaches | None = None) -> Outcome:
    """Lay out profiles: budgets, exponents, what the lines say of other budgets, and what other approaches say."""
    tables = [_valleys(fitted), _lines(fitted)]
    if budgets:
        tables.append(_predictions(fitted, budgets))
    warnings = fitted.warnings
    document = _document(fitted, budgets)
    if others is not None:
        tables.append(_approaches(others))
        warnings += others.warnings
        document |= {"approaches": others.exponents, "warnings": warnings_json(warnings)}
    return Outcome(document, tuple(tables), warnings, (_summary(fitted),))


def _approaches(others: Approaches) -> Table:
    rows: tuple[tuple[Value, ...], ...] = tuple((name, *values) for name, values in others.exponents.items())
    return Table("Exponent of N* in C, by approach", ("approach", "exponent", "low", "high"), rows)


def _summary(fitted: IsoFlop) -> str:
    line = fitted.size_line
    interval = "" if line.exponent_low is None else f" [{line.exponent_low:.4f}, {line.exponent_high:.4f}]"
    draws = f"{fitted.settings.resamples:,} wild-bootstrap draws" if fitted.settings.resamples else "no draws"
    return (
        f"N* grows as C^{line.exponent:.4f}{interval} by {fitted.settings.method}s over {line.n} of"
        f" {len(fitted.valleys)} budgets ({draws}, {fitted.settings.weighting} weights)."
    )


def _valleys(fitted: IsoFlop) -> Table:
    rows: list[tuple[Value, ...]] = []
    for valley in fitted.valleys:
        size, tokens = valley.by_size, valley.by_tokens
        ratio = tokens.place / size.place if tokens.place and size.place else None
        rows.append(
            (valley.compute, valley.n, size.place, size.low, size.high, tokens.place, ratio, size.loss, valley.is_used)
        )
    header = ("C", "runs", "N*", "low", "high", "D*", "D*/N*", "loss", "used")
    return Table("Lowest loss of each budget", header, tuple(rows), left=0)


def _lines(fitted: IsoFlop) -> Table:
    rows = tuple(
        (f"{name}*", line.exponent, line.exponent_low, line.exponent_high, line.coefficient, line.rmse_log)
        for name, line in (("N", fitted.size_line), ("D", fitted.tokens_line))
    )
    return Table("Growth with compute", ("quantity", "exponent", "low", "high", "coefficient", "rmse (log)"), rows)


def _predictions(fitted: IsoFlop, budgets: tuple[float, ...]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for compute in budgets:
        size, tokens = fitted.size_line.predict(compute), fitted.tokens_line.predict(compute)
        rows.append((compute, *size, *tokens, tokens[0] / size[0]))
    header = ("C", "N*", "low", "high", "D*", "low", "high", "D*/N*")
    return Table("Best size and tokens of a budget", header, tuple(rows), left=0)


def _document(fitted: IsoFlop, budgets: tuple[float, ...]) -> dict[str, Any]:
    return {
        "method": fitted.settings.method,
        "weighting": fitted.settings.weighting,
        "level": fitted.settings.level,
        "exponents": {"N": _line_json(fitted.size_line), "D": _line_json(fitted.tokens_line)},
        "budgets": [
            {
                "C": valley.compute,
                "n": valley.n,
                "used": valley.is_used,
                "N": valley.by_size.place,
                "N_low": valley.by_size.low,
                "N_high": valley.by_size.high,
                "D": valley.by_tokens.place,
                "D_low": valley.by_tokens.low,
                "D_high": valley.by_tokens.high,
                "loss": valley.by_size.loss,
            }
            for valley in fitted.valleys
        ],
        "predictions": [
            {"C": compute, "N": fitted.size_line.predict(compute), "D": fitted.tokens_line.predict(compute)}
            for compute in budgets
        ],
        "failed_share": fitted.failed_share,
        "warnings": warnings_json(fitted.warnings),
    }


def _line_json(line: PowerLine) -> dict[str, Any]:
    return {
        "exponent": line.exponent,
        "low": line.exponent_low,
        "high": line.exponent_high,
        "coefficient": line.coefficient,
        "budgets": line.n,
        "rmse_log": line.rmse_log,
    }
