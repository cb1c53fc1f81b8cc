"""One budget of an IsoFLOP sweep: the curve through its runs, and where that is lowest.

Letters in shapes: S draws, n runs of one budget.

References:
    Wu (1986), "Jackknife, Bootstrap and Other Resampling Methods in Regression Analysis"; Davidson and Flachaire (2008),
    "The Wild Bootstrap, Tamed at Last": random signs, residuals over 1 - leverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.columns import MOST_RESAMPLES
from evalkit.scaling.vertices import DEGREES, FEWEST, curve, minima, smooth

BUDGET_TOLERANCE = 0.1
"""Runs whose compute differs by less than this share belong to one budget."""
WEIGHTINGS = ("equal", "variance")
"""How budgets count in the line: all alike, or by 1 / variance of ln N*."""
_LINE_POINTS = 101
_LEAST_SLACK = 0.05
"""A point that lies on its curve whatever its value tells nothing of its noise; its residual is widened this far at most."""
_FARTHEST = 20.0
"""Half widths of the sweep from its middle; a vertex farther out is the rounding of a straight profile."""
_OWN_FREEDOM = 2
_FEWEST_DRAWS = 20
_LONGEST_CHAIN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class IsoFlopSettings:
    """How profiles are read."""

    method: str = "parabola"
    """``parabola``, ``cubic`` or ``akima``."""
    weighting: str = "equal"
    """One of `WEIGHTINGS`."""
    resamples: int = 1000
    """Bootstrap draws; 0 for no intervals."""
    level: float = 0.95
    """Level of the intervals."""
    seed: int = 0
    """Seed of the draws."""
    budget_tolerance: float = BUDGET_TOLERANCE
    """Runs whose compute differs by less than this share belong to one budget."""

    def __post_init__(self) -> None:
        if self.method not in DEGREES:
            raise UnknownNameError("IsoFLOP method", str(self.method), DEGREES)
        if self.weighting not in WEIGHTINGS:
            raise UnknownNameError("weighting", str(self.weighting), WEIGHTINGS)
        if self.resamples != 0 and not 20 <= self.resamples <= MOST_RESAMPLES:
            raise InvalidInputError(
                f"resamples is {self.resamples}; expected at least 20, or 0 for no intervals, and {MOST_RESAMPLES:,} at most"
            )
        if not 0.0 < self.level < 1.0:
            raise InvalidInputError(f"level is {self.level!r}; expected a share between 0 and 1")
        if not 0.0 <= self.budget_tolerance < 1.0:
            raise InvalidInputError(
                f"budget_tolerance is {self.budget_tolerance!r}; expected a share from 0 to below 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vertex:
    """The minimum of one budget's profile along one axis."""

    place: float | None
    """Best N or D; None where the profile has no minimum."""
    loss: float | None
    """Loss there."""
    low: float | None
    """Lower end of the interval of the place."""
    high: float | None
    """Upper end."""
    log_sd: float | None
    """Standard deviation of the logarithm of the place over the draws; None where too few draws have one."""
    is_inside: bool
    """Whether it is strictly inside of the sweep; only such vertices carry the exponent."""
    line_x: FloatArray
    """Places at which the curve is drawn, in natural units."""
    line_y: FloatArray
    """The curve there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Valley:
    """The runs of one budget."""

    compute: float
    """The budget in FLOPs, the geometric mean of its runs."""
    n: int
    """Number of runs."""
    sizes: FloatArray
    """N of the runs, rising."""
    tokens: FloatArray
    """D of the runs, in the same order."""
    losses: FloatArray
    """Their losses."""
    by_size: Vertex
    """The minimum over N."""
    by_tokens: Vertex
    """The minimum over D."""

    @property
    def is_used(self) -> bool:
        """Whether it carries the exponents: both minima are inside of the sweep."""
        return self.by_size.is_inside and self.by_tokens.is_inside


def budgets(compute: FloatArray, tolerance: float) -> list[IntArray]:
    """Sort runs into budgets: a new one starts where compute rises by more than the tolerance.

    Returns:
        One array of row numbers a budget, budgets rising.

    Raises:
        InvalidInputError: Budgets run into one another.
    """
    order = np.argsort(compute, kind="stable")
    steps = np.diff(np.log(compute[order])) > np.log1p(tolerance)
    groups = np.split(order, np.flatnonzero(steps) + 1)
    for group in groups:
        low, high = compute[group[0]], compute[group[-1]]
        if high > low * (1 + tolerance) ** _LONGEST_CHAIN:
            raise InvalidInputError(
                f"{len(group)} runs from {low:.3g} to {high:.3g} FLOPs without a gap of {100 * tolerance:.3g}%;"
                " expected sweeps over N at a few fixed budgets: choose such runs, or a smaller budget_tolerance"
            )
    return groups


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """How the losses of one budget are moved."""

    signs: FloatArray
    """-1 or 1, `(S, n)`."""
    pooled_sd: float
    """Standard deviation over all budgets, for one that has too few points of its own; NaN where it is not known."""


def pooled_sd(profiles: Sequence[tuple[FloatArray, FloatArray]], method: str) -> float:
    """Estimate the noise of a loss from what curves over N leave of all budgets together; NaN where nothing is left.

    Args:
        profiles: N and losses of each budget.
        method: One of `DEGREES`.
    """
    total, freedom = 0.0, 0
    for places, losses in profiles:
        if len(np.unique(places)) > DEGREES[method]:
            x = np.log(places)
            trend = smooth((x - x.mean()) / (np.ptp(x) / 2), losses, DEGREES[method])
            total, freedom = total + float((trend.residuals**2).sum()), freedom + trend.freedom
    return float(np.sqrt(total / freedom)) if freedom else np.nan


def read_valley(
    columns: tuple[FloatArray, FloatArray, FloatArray, FloatArray], noise: Noise, settings: IsoFlopSettings
) -> tuple[Valley, tuple[FloatArray, FloatArray]]:
    """Read one budget, given as N, D, C and loss; also gives the logarithms of its vertices over the draws, `(S,)` each."""
    sizes, tokens, compute, losses = columns
    by_size, size_draws = _vertex(sizes, losses, noise, settings)
    by_tokens, token_draws = _vertex(tokens, losses, noise, settings)
    order = np.argsort(sizes, kind="stable")
    valley = Valley(
        compute=float(np.exp(np.log(compute).mean())) if np.ptp(compute) else float(compute[0]),
        n=len(losses),
        sizes=sizes[order],
        tokens=tokens[order],
        losses=losses[order],
        by_size=by_size,
        by_tokens=by_tokens,
    )
    return valley, (size_draws, token_draws)


def _vertex(
    places: FloatArray, losses: FloatArray, noise: Noise, settings: IsoFlopSettings
) -> tuple[Vertex, FloatArray]:
    """Find the minimum of one profile, and its logarithm over the draws, `(S,)`, NaN where there is none inside."""
    method = settings.method
    order = np.argsort(places, kind="stable")
    logs, y = np.log(places[order]), losses[order]
    if len(np.unique(logs)) < FEWEST[method]:
        return _NO_VERTEX, np.full(len(noise.signs), np.nan)
    centre, scale = logs.mean(), np.ptp(logs) / 2
    x = (logs - centre) / scale
    moved = _moved(x, y, Noise(noise.signs[:, order], noise.pooled_sd), method)
    if method == "akima":  # a spline meets every point, so there can be one a place
        x, y, moved = _averaged(x, y, moved)
    found = minima(x, y[None], method)
    drawn = minima(x, moved, method)
    draws = np.where(drawn.is_inside, drawn.x * scale + centre, np.nan)
    low, high = percentile_interval(np.exp(draws), settings.level)
    known = draws[np.isfinite(draws)]
    at = np.linspace(x[0], x[-1], _LINE_POINTS)
    has_minimum = bool(abs(found.x[0]) < _FARTHEST)  # NaN where there is none
    return Vertex(
        place=float(np.exp(found.x[0] * scale + centre)) if has_minimum else None,
        loss=float(found.y[0]) if has_minimum else None,
        low=low,
        high=high,
        log_sd=float(known.std(ddof=1)) if len(known) > 1 and np.ptp(known) > 0 else None,
        is_inside=bool(found.is_inside[0]),
        line_x=np.exp(at * scale + centre),
        line_y=curve(x, y, at, method),
    ), draws


_NO_VERTEX = Vertex(
    place=None,
    loss=None,
    low=None,
    high=None,
    log_sd=None,
    is_inside=False,
    line_x=np.array([]),
    line_y=np.array([]),
)


def _moved(x: FloatArray, y: FloatArray, noise: Noise, method: str) -> FloatArray:
    """Draw losses `(S, n)`: the smooth curve, plus or minus each point's own residual; NaN where no noise is known.

    Dividing by 1 - leverage, not by its root, makes intervals of few points a little too wide and not too narrow.
    """
    trend = smooth(x, y, DEGREES[method])
    if trend.freedom < _OWN_FREEDOM:
        return trend.fitted + noise.signs * noise.pooled_sd
    return trend.fitted + noise.signs * (trend.residuals / np.maximum(1.0 - trend.leverages, _LEAST_SLACK))


def _averaged(x: FloatArray, y: FloatArray, moved: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Replace runs at one place by their mean."""
    values, group, counts = np.unique(x, return_inverse=True, return_counts=True)
    share = (group[:, None] == np.arange(len(values))) / counts  # (n, m)
    return values, y @ share, moved @ share


def percentile_interval(draws: FloatArray, level: float) -> tuple[float | None, float | None]:
    """Read an interval off the draws; ends are None where fewer than half of them, or too few, have a value."""
    known = draws[np.isfinite(draws)]
    if len(known) < _FEWEST_DRAWS or len(known) < len(draws) / 2:
        return None, None
    low, high = np.quantile(known, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)
