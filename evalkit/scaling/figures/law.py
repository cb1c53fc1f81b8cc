"""A fitted law over its axes: runs, lines with bands, the observed range shaded and everything beyond it dashed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.figures.canvas import (
    BLUE,
    INK,
    MAP,
    ORANGE,
    colour_scale,
    legend,
    log_axes,
    nice_steps,
    panels,
    shade_observed,
    split_line,
    styled,
)
from evalkit.scaling.optimal import optimal
from evalkit.scaling.result import Fit
from evalkit.scaling.sections import (
    TITLES,
    Section,
    axis_title,
    axis_values,
    best_section,
    drawn_group,
    places,
    sections,
    with_group,
)
from evalkit.table import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def draw_law(fit: Fit, floor: tuple[str, float] | None = None) -> Figure:
    """Draw the loss over each axis of the law, and over compute along the best allocation of a joint law.

    Args:
        fit: The fit.
        floor: Name and value of a loss that nothing can go below, where one is known.
    """
    joint = len(fit.law.predictors) > 1
    axes_of_law = [*fit.law.predictors, "C"] if joint else list(fit.law.predictors)
    figure, axes = panels(1, len(axes_of_law), (4.6, 3.6) if joint else (5.4, 3.8))
    for axis, name in zip(axes, axes_of_law, strict=True):
        lines = sections(fit, name)
        shade_observed(axis, *lines[0].observed)
        other = {"N": "D", "D": "N"}.get(name) if joint else None
        _scatter(axis, fit, name, other, lines)
        if floor is not None:
            axis.axhline(floor[1], color=ORANGE, lw=1.2, ls=(0, (1, 1.5)))
            axis.annotate(floor[0], (0.02, floor[1]), xycoords=("axes fraction", "data"), fontsize=7.5, va="bottom")
        log_axes(axis, axis_title(fit, name), f"loss in {fit.points.loss_unit}")
        level = f"{100 * fit.level:g}% band of the mean" if fit.draws is not None else "no intervals"
        group = drawn_group(fit)
        axis.set_title(f"L({name}); {level}{'' if group is None else f'; {printable(group)}'}")
    return figure


def _scatter(axis: Axes, fit: Fit, name: str, other: str | None, lines: list[Section]) -> None:
    """Draw runs and lines; where another axis is held, both are coloured by it."""
    points, x = fit.points, axis_values(fit, name)
    if other is None:
        axis.plot(x, points.loss, "o", ms=3, color=INK, alpha=0.55, mew=0, label="runs")
        for line in lines:
            _line(axis, line, BLUE, line.label)
        legend(axis, loc="best")
        return
    values = points.axis(other)
    scale = colour_scale(axis, values, TITLES[other])
    axis.scatter(x, points.loss, s=11, c=scale.to_rgba(values), linewidths=0)
    for line in lines:
        _line(axis, line, scale.to_rgba(line.held), "")


def _line(axis: Axes, line: Section, colour: Any, label: str) -> None:  # noqa: ANN401
    if line.low is not None and line.high is not None:
        axis.fill_between(line.x, line.low, line.high, color=colour, alpha=0.16, lw=0)
    split_line(axis, line.x, line.y, line.observed, color=colour, label=label)


@styled
def draw_allocation(fit: Fit) -> Figure:
    """Draw the best size and tokens over compute, with bands from the draws where there are any."""
    compute = axis_values(fit, "C")
    budgets = places(compute, count=41)
    observed = (float(compute.min()), float(compute.max()))
    figure, axes = panels(1, 2)
    band = _allocation_band(fit, budgets)
    line = best_section(fit, budgets, observed)
    for place, (axis, values, title, colour) in enumerate(
        (
            (axes[0], line.sizes, "N*, best number of parameters", BLUE),
            (axes[1], line.tokens, "D*, best number of training tokens", ORANGE),
        )
    ):
        assert values is not None
        shade_observed(axis, *observed)
        if band is not None:
            low, high = band[place]
            axis.fill_between(budgets, low, high, color=colour, alpha=0.18, lw=0, label=f"{100 * fit.level:g}% band")
        split_line(axis, budgets, values, observed, color=colour, label="best; dashed beyond the runs")
        seen = fit.points.axis("N" if place == 0 else "D")
        axis.plot(compute, seen, ".", ms=2.5, color="#9aa3ad", zorder=1, label="runs")
        log_axes(axis, axis_title(fit, "C"), title, log_y=False)
        axis.set_yscale("log")
        legend(axis, loc="upper left")
    return figure


def _allocation_band(fit: Fit, budgets: FloatArray) -> list[tuple[FloatArray, FloatArray]] | None:
    found = []
    if fit.draws is None:
        return None
    for compute in budgets:
        best = optimal(fit, C=float(compute), group=drawn_group(fit))
        found.append([(best.N.low, best.N.high), (best.D.low, best.D.high)])
    ends = np.array(found, dtype=np.float64)  # (budgets, N or D, low or high)
    if not np.isfinite(ends).all():
        return None
    return [(ends[:, place, 0], ends[:, place, 1]) for place in (0, 1)]


@styled
def draw_contours(fit: Fit) -> Figure:
    """Draw lines of equal loss over N and D, the runs, the lines of equal compute and the best allocation."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    points = fit.points
    sizes, tokens = points.axis("N"), points.axis("D")
    figure, (axis,) = panels(1, 1, (5.8, 4.6))
    x = np.geomspace(sizes.min() / 2, sizes.max() * 10, 121)
    y = np.geomspace(tokens.min() / 2, tokens.max() * 10, 121)
    grid = np.meshgrid(x, y)
    at = with_group(fit, {"N": grid[0].ravel(), "D": grid[1].ravel()})
    losses = fit.predict(at).reshape(grid[0].shape)
    levels = nice_steps(float(losses.min()), float(np.quantile(losses, 0.97)), most=16)
    norm = Normalize(float(losses.min()), float(points.loss.max()))
    lines = axis.contour(x, y, losses, levels=levels, cmap=MAP, norm=norm, linewidths=1.0)
    axis.clabel(lines, fmt=lambda value: f"{value:g}", fontsize=7, inline_spacing=2)
    axis.scatter(sizes, tokens, s=12, c=colormaps[MAP](norm(points.loss)), edgecolors="white", linewidths=0.3)
    compute = axis_values(fit, "C")
    budgets = places(compute, count=61)
    best = best_section(fit, budgets, (float(compute.min()), float(compute.max())))
    assert best.sizes is not None
    assert best.tokens is not None
    inside = budgets <= compute.max()
    axis.plot(best.sizes[inside], best.tokens[inside], color=ORANGE, lw=2, label="best allocation")
    axis.plot(best.sizes[~inside], best.tokens[~inside], color=ORANGE, lw=1.6, ls=(0, (4, 2.5)))
    axis.set(xscale="log", yscale="log", xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    axis.set_xlabel(TITLES["N"])
    axis.set_ylabel(TITLES["D"])
    axis.set_title(f"lines of equal loss ({points.loss_unit}); dashed: beyond the runs")
    legend(axis, loc="lower right")
    return figure


@styled
def draw_residuals(fit: Fit) -> Figure:
    """Draw log residuals over N, D and D/N; runs beyond 3 robust standard deviations are ringed."""
    points = fit.points
    columns = _residual_columns(fit)
    figure, axes = panels(1, len(columns), (4.0, 3.2))
    left = 100 * fit.residuals()
    spread = 1.4826 * float(np.median(np.abs(left - np.median(left))))
    far = np.abs(left - np.median(left)) > 3 * max(spread, 1e-12)
    for axis, (title, x) in zip(axes, columns.items(), strict=True):
        axis.axhline(0, color=INK, lw=0.8)
        axis.axhspan(-spread, spread, color="#e3e8f0", lw=0, zorder=0)
        axis.plot(x, left, "o", ms=3, color=BLUE, alpha=0.6, mew=0)
        axis.plot(x[far], left[far], "o", ms=6, mfc="none", mec=ORANGE, mew=1.0)
        axis.set_xscale("log")
        axis.set_xlabel(title)
    axes[0].set_ylabel("ln L - ln prediction, in %")
    axes[0].set_title(f"{len(points)} runs; shaded: 1 robust sd ({spread:.2g}%)")
    if len(axes) > 1:
        axes[1].set_title(f"ringed: {int(far.sum())} beyond 3 sd")
    return figure


def _residual_columns(fit: Fit) -> dict[str, FloatArray]:
    points = fit.points
    if len(fit.law.predictors) == 1:
        name = fit.law.predictors[0]
        return {TITLES[name]: axis_values(fit, name)}
    sizes, tokens = points.axis("N"), points.axis("D")
    return {TITLES["N"]: sizes, TITLES["D"]: tokens, "D/N, tokens a parameter": tokens / sizes}
