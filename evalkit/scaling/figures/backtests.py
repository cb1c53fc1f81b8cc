"""How far off predictions of larger runs were, by where the fit stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evalkit.scaling.backtest import Backtest
from evalkit.scaling.figures.canvas import BLUE, GREEN, GREY, INK, ORANGE, legend, panels, styled
from evalkit.scaling.sections import TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def draw_backtest(found: Backtest) -> Figure:
    """Draw errors on the runs beyond each cut, and how often the bands held them."""
    figure, (errors, bands) = panels(1, 2, (4.6, 3.4))
    cuts = np.array([row.cut for row in found.rows])
    for row in found.rows:
        errors.plot(np.full(len(row.errors), row.cut), 100 * row.errors, "o", ms=2.5, color=BLUE, alpha=0.35, mew=0)
    errors.axhline(0, color=INK, lw=0.8)
    errors.plot(cuts, [100 * row.mean_abs for row in found.rows], "-o", ms=4, color=ORANGE, label="mean |error|")
    errors.plot(cuts, [100 * row.bias for row in found.rows], "-s", ms=4, color=GREEN, label="mean error")
    in_sample = [100 * row.in_sample for row in found.rows]
    errors.plot(cuts, in_sample, ":", color=GREY, label="mean |error| where fitted")
    errors.set_ylabel("predicted / actual - 1, in %")
    legend(errors, loc="best")
    known = [(row.cut, 100 * row.covered) for row in found.rows if row.covered is not None]
    if known:
        bands.plot(*np.array(known).T, "-o", ms=4, color=BLUE, label="in the band of a new run")
        for row, (cut, share) in zip(found.rows, known, strict=False):
            bands.annotate(
                f"of {row.n_test}", (cut, share), (0, 5), textcoords="offset points", ha="center", fontsize=7
            )
    bands.axhline(100 * found.level, color=ORANGE, lw=1, ls=(0, (4, 2.5)), label=f"promised, {100 * found.level:g}%")
    bands.set_ylim(-3, 112)
    bands.set_ylabel("runs beyond the cut, in %")
    legend(bands, loc="lower left")
    for axis in (errors, bands):
        axis.set_xscale("log")
        axis.set_xlabel(f"fitted up to {TITLES[found.by]}")
    errors.set_title(f"{found.law.formula}")
    return figure
