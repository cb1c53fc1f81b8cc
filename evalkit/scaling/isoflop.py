"""IsoFLOP profiles (approach 2): the lowest loss of each compute budget, and how the best size grows with compute.

For each budget a curve goes through (ln N, loss), and another through (ln D, loss); their minima are the best N and D, and a
line through the logarithms gives the exponents. Noise comes from a wild bootstrap: each loss is moved by its own residual,
widened by its leverage, with a random sign, so that the design of the sweep stays as it is.

References:
    Hoffmann et al. (2022), "Training Compute-Optimal Large Language Models", section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.columns import require_number
from evalkit.scaling.isoflop_valleys import (
    IsoFlopSettings,
    Noise,
    Valley,
    Vertex,
    budgets,
    percentile_interval,
    pooled_sd,
    read_valley,
)
from evalkit.scaling.isoflop_warnings import warn
from evalkit.scaling.points import Points
from evalkit.scaling.warnings import ScalingWarning


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PowerLine:
    """A power law y = coefficient * C ** exponent through the vertices."""

    exponent: float
    """The slope in logarithms."""
    coefficient: float
    """The value at C = 1."""
    exponent_low: float | None
    """Lower end of the exponent's interval; None without draws."""
    exponent_high: float | None
    """Upper end."""
    n: int
    """Budgets that carry it."""
    rmse_log: float
    """Root mean square of what is left of ln y."""
    exponent_draws: FloatArray
    """The exponent of each draw that gave one."""
    log_coefficient_draws: FloatArray
    """The logarithm of the coefficient of the same draws."""
    level: float
    """Level of all intervals."""

    def predict(self, compute: float) -> tuple[float, float | None, float | None]:
        """The value at a budget with its interval.

        Raises:
            InvalidInputError: The budget is no finite number above 0.
        """
        x = np.log(require_number("compute", compute))
        value = float(np.exp(np.log(self.coefficient) + self.exponent * x))
        low, high = percentile_interval(np.exp(self.log_coefficient_draws + self.exponent_draws * x), self.level)
        return value, low, high


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IsoFlop:
    """What IsoFLOP profiles say."""

    settings: IsoFlopSettings
    """How the profiles were read."""
    points: Points
    """The runs."""
    valleys: tuple[Valley, ...]
    """All budgets, rising."""
    size_line: PowerLine
    """N*(C)."""
    tokens_line: PowerLine
    """D*(C)."""
    failed_share: float
    """Share of the draws in which some budget of the line had no vertex inside."""
    warnings: tuple[ScalingWarning, ...] = field(default=())
    """What makes the exponents less certain than they look."""


@np.errstate(all="ignore")
def fit_isoflop(points: Points, settings: IsoFlopSettings | None = None) -> IsoFlop:
    """Find the best size and number of tokens of each budget, and their growth with compute.

    Args:
        points: Runs with N, D and loss; budgets are their C, however it was counted.
        settings: How the profiles are read.

    Raises:
        InvalidInputError: Fewer than 2 budgets have a vertex inside of their sweep, so that there is no exponent.
    """
    chosen = settings or IsoFlopSettings()
    built = _read_valleys(points, chosen)
    valleys = tuple(valley for valley, _ in built)
    kept = [index for index, valley in enumerate(valleys) if valley.is_used]
    if len(kept) < 2:
        raise InvalidInputError(
            f"{len(kept)} of {len(valleys)} budgets have their lowest loss inside of the sweep; an exponent needs 2:"
            " add runs on both sides of each minimum, or widen the budgets with budget_tolerance"
        )
    x = np.log([valleys[index].compute for index in kept])
    size_line, tokens_line = (
        _line(
            x,
            [(valleys[index].by_size, valleys[index].by_tokens)[axis] for index in kept],
            np.column_stack([built[index][1][axis] for index in kept]),
            chosen,
        )
        for axis in (0, 1)
    )
    failed = 1.0 - len(size_line.exponent_draws) / chosen.resamples if chosen.resamples else 0.0
    return IsoFlop(
        settings=chosen,
        points=points,
        valleys=valleys,
        size_line=size_line,
        tokens_line=tokens_line,
        failed_share=failed,
        warnings=(*points.warnings, *warn(valleys, size_line, failed, chosen)),
    )


def _read_valleys(points: Points, settings: IsoFlopSettings) -> list[tuple[Valley, tuple[FloatArray, FloatArray]]]:
    """Read every budget, and the logarithms of its vertices over the draws."""
    sizes, tokens, compute, losses = points.axis("N"), points.axis("D"), points.compute(), points.loss
    groups = budgets(compute, settings.budget_tolerance)
    pooled = pooled_sd([(sizes[rows], losses[rows]) for rows in groups], settings.method)
    generator = np.random.default_rng(settings.seed)
    built = []
    for rows in groups:
        signs = np.where(generator.random((settings.resamples, len(rows))) < 0.5, -1.0, 1.0)
        columns = (sizes[rows], tokens[rows], compute[rows], losses[rows])
        built.append(read_valley(columns, Noise(signs, pooled), settings))
    return built


def _line(x: FloatArray, vertices: Sequence[Vertex], draws: FloatArray, settings: IsoFlopSettings) -> PowerLine:
    """Put a line through ln C and the logarithms of the vertices.

    Args:
        x: ln C of the budgets, `(b,)`.
        vertices: Their vertices.
        draws: Logarithms of the vertices over the draws, `(S, b)`.
        settings: Weighting and level.
    """
    weights = _weights(vertices, settings.weighting)
    y = np.log(np.array([vertex.place for vertex in vertices], dtype=np.float64))
    whole = draws[np.isfinite(draws).all(axis=1)]
    if len(whole) < len(draws) / 2:  # the rest is no fair sample of what could have been seen
        whole = whole[:0]
    middle = float(weights @ x)
    gains = weights * (x - middle) / (weights @ (x - middle) ** 2)  # slope = gains @ y
    slope, slopes = float(gains @ y), whole @ gains
    height, heights = float(weights @ y), whole @ weights
    left = y - height - slope * (x - middle)
    low, high = percentile_interval(slopes, settings.level)
    return PowerLine(
        exponent=slope,
        coefficient=float(np.exp(height - slope * middle)),
        exponent_low=low,
        exponent_high=high,
        n=len(x),
        rmse_log=float(np.sqrt((left**2).mean())),
        exponent_draws=slopes,
        log_coefficient_draws=heights - slopes * middle,
        level=settings.level,
    )


def _weights(vertices: Sequence[Vertex], weighting: str) -> FloatArray:
    """Weights of the budgets that add up to 1."""
    weights = np.ones(len(vertices))
    if weighting == "variance":
        known = [vertex.log_sd for vertex in vertices if vertex.log_sd]
        if len(known) < len(vertices):
            raise InvalidInputError(
                "the variance of some budget's minimum is not known; use --weighting equal, or more runs and resamples"
            )
        weights = 1.0 / np.square(np.array(known))
    return np.asarray(weights / weights.sum())
