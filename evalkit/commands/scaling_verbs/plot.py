"""`evalkit scaling plot`: the figures of a saved fit, or of IsoFLOP profiles, as SVG and PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.result_files import write_result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evalkit.scaling import Fit

KINDS: Mapping[str, str] = {
    "law": "loss over each axis and over compute, with bands",
    "allocation": "best size and tokens over compute",
    "contours": "lines of equal loss over size and tokens",
    "residuals": "residuals over size, tokens and their ratio",
    "profiles": "profile likelihood of each parameter",
    "draws": "resamples of parameters that trade off",
    "backtest": "errors on larger runs by where the fit stopped",
}
"""Figures of a fit."""
_BACKTEST_RESAMPLES = 200
PROFILE_KINDS: Mapping[str, str] = {
    "valleys": "IsoFLOP profiles with their minima",
    "growth": "best size and tokens of the budgets, with the line through them",
}
"""Figures of IsoFLOP profiles."""


@click.command(name="plot")
@click.argument("source", metavar="FIT.json|SWEEP.csv")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Figure; repeatable.  [default: all that apply]")
@click.option("--out", default="figures", show_default=True, metavar="DIR", help="Folder for the files.")
@click.option("--form", "forms", multiple=True, metavar="svg|png", help="Format; repeatable.  [default: both]")
@click.option("--method", default="parabola", show_default=True, help="Of IsoFLOP profiles: parabola, cubic or akima.")
@click.option(
    "--column", multiple=True, metavar="FIELD=NAME", help="Column of the sweep that holds a field; repeatable."
)
@click.option("--where", multiple=True, metavar="COND", help="Rows of the sweep to take; repeatable.")
@click.option("--flops", metavar="TEXT", help="How C of the sweep was counted.")
def command(source: str, kinds: tuple[str, ...], out: str, forms: tuple[str, ...], **flags: Any) -> None:  # noqa: ANN401
    """Draw figures: bands, the observed range shaded, extrapolation dashed. Needs the extra 'plots'.

    \b
    Figures of a fit: law, allocation, contours, residuals, profiles, draws, backtest.
    Figures of an IsoFLOP sweep: valleys, growth.

    Example:
      evalkit scaling plot fit.json --out figures
      evalkit scaling plot sweep.csv --kind valleys --method cubic --form png
    """
    from evalkit.scaling.figures.canvas import FORMATS, import_matplotlib, to_bytes

    is_fit = source.endswith(".json")
    _check("format of figures", forms, FORMATS)
    _check("figure", kinds, KINDS if is_fit else PROFILE_KINDS)
    import_matplotlib()
    drawers = _fit_drawers(source) if is_fit else _profile_drawers(source, **flags)
    for kind in kinds or drawers:
        if kind not in drawers:
            raise InvalidInputError(f"figure {kind!r} does not go with this fit; expected one of {', '.join(drawers)}")
        figure = drawers[kind]()
        for form in forms or FORMATS:
            path = str(Path(out) / f"{kind}.{form}")
            write_result(path, to_bytes(figure, form))
            click.echo(path)


def _check(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownNameError(what, name, known)


def _fit_drawers(source: str) -> dict[str, Callable[[], Figure]]:
    """Name to what draws a figure of the saved fit; only those that apply."""
    from evalkit.commands.scaling_verbs.saved import load_saved

    fitted = load_saved(source).fit
    found: dict[str, Callable[[], Figure]] = {"law": lambda: _law().draw_law(fitted)}
    if len(fitted.law.predictors) > 1:
        found["allocation"] = lambda: _law().draw_allocation(fitted)
        found["contours"] = lambda: _law().draw_contours(fitted)
    found["residuals"] = lambda: _law().draw_residuals(fitted)
    found["profiles"] = lambda: _profiles(fitted)
    if fitted.draws is not None:
        found["draws"] = lambda: _uncertainty().draw_draws(fitted)
    found["backtest"] = lambda: _backtest(fitted)
    return found


def _law() -> Any:  # noqa: ANN401 (a module, imported only when it draws)
    from evalkit.scaling.figures import law

    return law


def _uncertainty() -> Any:  # noqa: ANN401 (as above)
    from evalkit.scaling.figures import uncertainty

    return uncertainty


def _profiles(fitted: Fit) -> Figure:
    from evalkit.scaling.model import build_model
    from evalkit.scaling.profile import profiles
    from evalkit.scaling.solution import solve

    solution = solve(build_model(fitted.points, fitted.law, fitted.loss, fitted.constraints))
    figure: Figure = _uncertainty().draw_profiles(profiles(solution, fitted.level), fitted.values, fitted.level)
    return figure


def _backtest(fitted: Fit) -> Figure:
    """The backtest over compute, or over the one axis of the law."""
    from evalkit.scaling import Intervals
    from evalkit.scaling.backtest import backtest
    from evalkit.scaling.figures.backtests import draw_backtest

    by = fitted.law.predictors[0] if len(fitted.law.predictors) == 1 else "C"
    intervals = Intervals(level=fitted.level, resamples=_BACKTEST_RESAMPLES)
    return draw_backtest(
        backtest(fitted.points, fitted.law, fitted.loss, by=by, constraints=fitted.constraints, intervals=intervals)
    )


def _profile_drawers(
    source: str, *, method: str, column: tuple[str, ...], where: tuple[str, ...], flops: str | None
) -> dict[str, Callable[[], Figure]]:
    """Name to what draws a figure of the IsoFLOP profiles of a sweep."""
    from evalkit.commands.scaling_verbs.inputs import named_columns
    from evalkit.scaling.csv_points import point_columns, read_table
    from evalkit.scaling.figures.isoflop import draw_growth, draw_valleys
    from evalkit.scaling.isoflop import fit_isoflop
    from evalkit.scaling.isoflop_valleys import IsoFlopSettings
    from evalkit.scaling.points import PointSettings, make_points

    table = read_table(source).where(where)
    points = make_points(
        point_columns(table, named_columns(column)), PointSettings(flops=flops, first_row=table.lines[0])
    )
    fitted = fit_isoflop(points, IsoFlopSettings(method=method))
    return {"valleys": lambda: draw_valleys(fitted), "growth": lambda: draw_growth(fitted)}
