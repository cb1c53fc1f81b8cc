"""IsoFLOP figures: the valley of each budget with its vertex, and the best size and tokens over compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evalkit.scaling.figures.canvas import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    colour_scale,
    legend,
    log_axes,
    panels,
    shade_observed,
    split_line,
    styled,
    with_knots,
)
from evalkit.scaling.isoflop import IsoFlop, PowerLine
from evalkit.scaling.isoflop_valleys import Vertex

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BEYOND = 10.0


@styled
def draw_valleys(fitted: IsoFlop) -> Figure:
    """Draw the loss over N for every budget: runs, the curve through them, and its minimum where it is inside."""
    figure, (axis,) = panels(1, 1, (5.6, 4.0))
    budgets = np.array([valley.compute for valley in fitted.valleys])
    scale = colour_scale(axis, budgets, "C, training compute in FLOPs")
    for valley in fitted.valleys:
        colour = scale.to_rgba(valley.compute)
        axis.plot(valley.sizes, valley.losses, "o", ms=3.5, color=colour, mec="white", mew=0.3)
        if len(valley.by_size.line_x):
            style = "-" if valley.is_used else (0, (1, 2))
            axis.plot(valley.by_size.line_x, valley.by_size.line_y, ls=style, lw=1.1, color=colour)
        if valley.is_used:
            vertex = np.array([[valley.by_size.place], [valley.by_size.loss]], dtype=np.float64)
            axis.plot(*vertex, "*", ms=10, color=colour, mec=INK, mew=0.7)
    log_axes(axis, "N, parameters", f"loss in {fitted.points.loss_unit}")
    axis.set_title(f"IsoFLOP profiles ({fitted.settings.method}); star: minimum, dotted: not used")
    return figure


@styled
def draw_growth(fitted: IsoFlop) -> Figure:
    """Draw N* and D* over compute with the line through them, its band, and the range that was observed."""
    figure, axes = panels(1, 2)
    for axis, line, name, title, colour in (
        (axes[0], fitted.size_line, "by_size", "N*, best number of parameters", BLUE),
        (axes[1], fitted.tokens_line, "by_tokens", "D*, best number of training tokens", ORANGE),
    ):
        vertices = [(valley.compute, getattr(valley, name)) for valley in fitted.valleys if valley.is_used]
        _growth(axis, line, vertices, colour, f"{100 * fitted.settings.level:g}%")
        log_axes(axis, "C, training compute in FLOPs", title)
        axis.set_title(_exponent_text(line))
        legend(axis, loc="upper left")
    return figure


def _growth(axis: Axes, line: PowerLine, vertices: list[tuple[float, Vertex]], colour: str, level: str) -> None:
    budgets = np.array([compute for compute, _ in vertices])
    observed = (float(budgets.min()), float(budgets.max()))
    shade_observed(axis, *observed)
    x = with_knots(observed[0], observed[1] * _BEYOND, observed)
    predicted = [line.predict(float(place)) for place in x]
    y = np.array([value for value, _, _ in predicted])
    ends = [(low, high) for _, low, high in predicted if low is not None and high is not None]
    if len(ends) == len(x):
        low, high = np.array(ends).T
        axis.fill_between(x, low, high, color=colour, alpha=0.18, lw=0, label=f"{level} of the line")
    split_line(axis, x, y, observed, color=colour, label="line; dashed beyond the runs")
    for compute, vertex in vertices:
        if vertex.low is not None and vertex.high is not None:
            axis.plot([compute, compute], [vertex.low, vertex.high], color=GREY, lw=1.0, zorder=3)
    places = np.array([vertex.place for _, vertex in vertices], dtype=np.float64)
    axis.plot(budgets, places, "o", ms=4.5, color=INK, zorder=4, label="minima of the budgets")


def _exponent_text(line: PowerLine) -> str:
    interval = "" if line.exponent_low is None else f" [{line.exponent_low:.3f}, {line.exponent_high:.3f}]"
    return f"exponent {line.exponent:.3f}{interval}"
