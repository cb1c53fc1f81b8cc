"""How sure a fit is: profiles of its parameters, and its bootstrap draws against one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.figures.canvas import BLUE, GREY, INK, ORANGE, legend, panels, plain_log, styled
from evalkit.scaling.profile import Profile
from evalkit.scaling.result import Fit
from evalkit.table import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
_HEIGHT = 3.0
_PAIRS = (("alpha", "A"), ("beta", "B"), ("alpha", "beta"), ("b", "a"), ("E", "alpha"))
"""Parameters that trade off against one another, where a law has both."""
_MOST_PANELS = 3
LOGARITHMIC = frozenset({"A", "B", "N_c", "D_c", "x_c", "G"})
"""Parameters whose axis is logarithmic."""


@styled
def draw_profiles(profiles: Mapping[str, Profile], estimates: Mapping[str, float], level: float) -> Figure:
    """Draw how much worse the best fit gets as one parameter is held, and where that leaves the interval.

    Args:
        profiles: One a parameter.
        estimates: The fitted values.
        level: Level of the intervals.
    """
    rows = -(-len(profiles) // _COLUMNS)
    figure, axes = panels(rows, min(len(profiles), _COLUMNS), (3.4, 2.7))
    for axis, (name, profile) in zip(axes, profiles.items(), strict=False):
        inside = profile.statistic <= _HEIGHT**2 * profile.threshold
        axis.plot(profile.values[inside], np.sqrt(profile.statistic[inside]), color=BLUE, lw=1.5)
        axis.axhline(np.sqrt(profile.threshold), color=ORANGE, lw=1.0, ls=(0, (4, 2.5)))
        axis.axvline(estimates[name], color=INK, lw=0.8)
        for end in (profile.low, profile.high):
            if end is not None:
                axis.axvline(end, color=GREY, lw=0.8, ls=":")
        axis.locator_params(axis="x", nbins=5)
        if name in LOGARITHMIC:
            plain_log(axis, "x")
        axis.set_xlabel(printable(name))
        axis.set_title(f"{printable(name)} = {estimates[name]:.4g} [{_end(profile.low)}, {_end(profile.high)}]")
        axis.set_ylim(bottom=0)
    for axis in axes[len(profiles) :]:
        axis.set_visible(False)
    axes[0].set_ylabel("root of the likelihood ratio")
    figure.suptitle(f"profiles; dashed: {100 * level:g}% limit", fontsize=10)
    return figure


def _end(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"


@styled
def draw_draws(fit: Fit) -> Figure:
    """Draw the bootstrap's parameters in pairs that trade off, with the fit itself.

    Raises:
        InvalidInputError: The fit has no draws.
    """
    draws = fit.draws
    if draws is None:
        raise InvalidInputError(
            f"the fit has no resamples (its intervals: {fit.method}); fit again with --intervals pairs, cluster or wild"
        )
    pairs = [pair for pair in _PAIRS if set(pair) <= set(draws.names)][:_MOST_PANELS]
    if not pairs:
        pairs = [(draws.names[0], draws.names[-1])]
    figure, axes = panels(1, len(pairs), (4.0, 3.4))
    for axis, (first, second) in zip(axes, pairs, strict=True):
        _scatter(axis, fit, first, second, draws.column(first), draws.column(second))
    axes[0].set_title(f"{len(draws.values):,} resamples ({draws.method}); {draws.failed} failed")
    return figure


def _scatter(axis: Axes, fit: Fit, first: str, second: str, x: FloatArray, y: FloatArray) -> None:
    for name, values, which in ((first, x, "x"), (second, y, "y")):
        if fit.parameters[name].on_log_scale and (values > 0).all():
            plain_log(axis, which)
    axis.plot(x, y, "o", ms=2, color=BLUE, alpha=0.25, mew=0)
    axis.plot(fit.values[first], fit.values[second], "+", ms=12, color=ORANGE, mew=2, label="fit")
    axis.set_xlabel(printable(first))
    axis.set_ylabel(printable(second))
    legend(axis, loc="best")
