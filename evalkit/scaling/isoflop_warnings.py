"""What makes the exponents of IsoFLOP profiles less certain than they look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evalkit.scaling.isoflop_valleys import IsoFlopSettings, Valley
from evalkit.scaling.warnings import ScalingWarning

if TYPE_CHECKING:
    from evalkit.scaling.isoflop import PowerLine

_WIDE_SWEEP = 4.0
_OFF_CENTRE = float(np.log(2.0))
_MANY_SDS = 3.0


def warn(valleys: Sequence[Valley], line: PowerLine, failed: float, settings: IsoFlopSettings) -> list[ScalingWarning]:
    """Collect the warnings of a set of profiles.

    Args:
        valleys: All budgets.
        line: N*(C).
        failed: Share of the draws without a vertex in every budget that carries the line.
        settings: How the profiles were read.
    """
    found = [warning for valley in valleys for warning in _valley_warnings(valley)]
    used = [valley for valley in valleys if valley.is_used]
    if len(used) < 3:
        found.append(
            ScalingWarning(
                "few-budgets", f"{len(used)} budgets carry the exponent; its line has no freedom left to err"
            )
        )
    if failed > 0.01:
        text = f"{100 * failed:.0f}% of the draws have a budget without a minimum inside its sweep and are left out"
        found.append(ScalingWarning("failed-resamples", text))
    if settings.method == "parabola":
        found += _bias_warnings(used)
    spreads = [valley.by_size.log_sd for valley in used if valley.by_size.log_sd]
    if len(used) > 2 and spreads and line.rmse_log > _MANY_SDS * float(np.mean(spreads)):
        text = (
            f"the best sizes lie {100 * line.rmse_log:.0f}% off their line where noise explains"
            f" {100 * float(np.mean(spreads)):.0f}%: no single exponent describes them"
        )
        found.append(ScalingWarning("uncertain-choice", text))
    return found


def _valley_warnings(valley: Valley) -> list[ScalingWarning]:
    name, found = f"budget {valley.compute:.3g}", []
    if valley.n < 4:
        found.append(ScalingWarning("few-per-budget", f"{name} has {valley.n} runs; a curve through them is a guess"))
    if valley.by_size.place is None:
        text = f"{name}: loss only falls or only rises over its {valley.n} sizes; the budget carries nothing"
        found.append(ScalingWarning("non-convex", text))
    elif not valley.is_used:
        text = (
            f"{name}: the lowest loss is at N = {valley.by_size.place:.3g}, outside of the sweep from"
            f" {valley.sizes[0]:.3g} to {valley.sizes[-1]:.3g}; the budget carries nothing"
        )
        found.append(ScalingWarning("vertex-outside", text))
    return found


def _bias_warnings(used: Sequence[Valley]) -> list[ScalingWarning]:
    """Warn of sweeps so wide that a parabola misplaces its vertex, and of sweeps centred unlike one another.

    The size of the error for common exponents is in docs/scaling.md.
    """
    found = []
    reach = max(float(np.sqrt(valley.sizes[-1] / valley.sizes[0])) for valley in used)
    if reach > _WIDE_SWEEP:
        text = (
            f"the widest sweep goes to {reach:.1f} times below and above its middle; a parabola over more than 4 times"
            " places N* 1% to 15% too high where alpha > beta, so compare --method cubic"
        )
        found.append(ScalingWarning("parabola-bias", text))
    offsets = [
        float(np.log(valley.by_size.place) - np.log(valley.sizes[[0, -1]]).mean())
        for valley in used
        if valley.by_size.place is not None
    ]
    if np.ptp(offsets) > _OFF_CENTRE:
        text = (
            f"minima lie from {np.exp(min(offsets)):.2g} to {np.exp(max(offsets)):.2g} times the middle of their sweeps;"
            " a parabola's exponent is unbiased only where all budgets are centred alike"
        )
        found.append(ScalingWarning("parabola-bias", text))
    return found
