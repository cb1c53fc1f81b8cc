"""Intervals and paired differences from stored statistics: bootstrap by blocks of counts, closed-form standard errors.

All resampling works on rows of additive statistics. One draw of counts W, shape (resamples, units), serves every metric of a
run: the resampled sums of a metric are W @ rows. Where examples come in clusters (the questions of a paragraph), rows are
summed by cluster first and clusters are drawn, since their examples are not independent.

References:
    Efron and Tibshirani, 1993, An Introduction to the Bootstrap, chapters 13 and 16.
    Cochran, 1977, Sampling Techniques, section 6.3 (standard error of a ratio).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalkit.errors import InvalidInputError
from evalkit.metrics.base import AnyMetric, Ratio, Statistics, weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from evalkit.metrics.base import FloatArray

BLOCK_BYTES = 2 * 2**20
"""Memory for one block of resampling counts: small enough to stay in the processor's cache."""

STACK_BYTES = 64 * 2**20
"""Tables of less than this together are multiplied as one."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric's value with its uncertainty; None where it is undefined."""

    name: str
    value: float | None
    low: float | None
    """Lower end of the interval, percentile bootstrap."""
    high: float | None
    """Upper end of the interval."""
    stderr: float | None
    """Standard error: closed form for ratios of sums, else the standard deviation of the resamples."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much the second of two systems differs from the first on the same examples."""

    name: str
    value: float
    """Second minus first, on the metric's own scale and direction."""
    low: float | None
    high: float | None
    p: float | None
    """Two-sided bootstrap p of no difference; 1 for equal outputs."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are drawn."""

    resamples: int = 1000
    """Number of bootstrap resamples; 0 gives no bootstrap intervals."""
    confidence: float = 0.95
    """Two-sided level of the intervals."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InvalidInputError(f"confidence is {self.confidence}; expected a level between 0 and 1, such as 0.95")
        if self.resamples < 0:
            raise InvalidInputError(f"resamples is {self.resamples}; expected 0 or more")


def count_blocks(units: int, resampling: Resampling) -> Iterator[FloatArray]:
    """Draw bootstrap counts in blocks, shape (b, units) each, `resamples` rows in all.

    Row r holds how often each unit occurs in resample r and sums to `units`. The rows depend on the seed and the number of
    units alone, not on the size of the blocks.
    """
    import numpy as np

    bits = np.random.default_rng(resampling.seed).bit_generator
    size = max(1, min(resampling.resamples, BLOCK_BYTES // (8 * units)))
    for start in range(0, resampling.resamples, size):
        block = np.empty((min(size, resampling.resamples - start), units))
        for row in block:
            row[:] = np.bincount(_draw(bits, units), minlength=units)
        yield block


def _draw(bits: np.random.BitGenerator, units: int) -> npt.NDArray[np.int64]:
    """Draw `units` numbers below `units`, each from 32 random bits by multiply and shift.

    A number's probability differs from 1 / units by less than 2**-32: no bootstrap can tell.

    References:
        Lemire, 2019, Fast Random Integer Generation in an Interval, section 3, without the rejection step.
    """
    import numpy as np

    words = np.asarray(bits.random_raw(units // 2 + 1), dtype=np.uint64)
    products = words.view(np.uint32)[:units].astype(np.uint64)
    products *= np.uint64(units)
    products >>= np.uint64(32)
    return products.view(np.int64)


def resampled_sums(tables: Sequence[FloatArray], resampling: Resampling) -> list[FloatArray]:
    """Sum the rows of several tables over the same bootstrap draw.

    Args:
        tables: Statistics of shape (units, k), one table a metric, all over the same units.
        resampling: Number of resamples and seed.

    Returns:
        One array of shape (resamples, k) a table.
    """
    import numpy as np

    widths = [table.shape[1] for table in tables]
    is_small = sum(table.nbytes for table in tables) <= STACK_BYTES
    factors = [np.concatenate(tables, axis=1)] if is_small else tables
    sums = np.empty((resampling.resamples, sum(widths)))
    start = 0
    for counts in count_blocks(len(tables[0]), resampling):
        np.concatenate([counts @ factor for factor in factors], axis=1, out=sums[start : start + len(counts)])
        start += len(counts)
    return np.split(sums, np.cumsum(widths)[:-1], axis=1)


def sum_clusters(rows: FloatArray, clusters: Sequence[str | None] | None) -> FloatArray:
    """Sum rows of shape (n, k) by cluster; returns shape (clusters, k), clusters in order of first appearance.

    Rows without a cluster are a unit of their own; without any cluster the rows come back as they are.
    """
    import numpy as np

    if clusters is None or all(cluster is None for cluster in clusters):
        return rows
    if len(clusters) != len(rows):
        raise InvalidInputError(f"{len(clusters)} clusters for {len(rows)} rows; expected one a row")
    codes: dict[object, int] = {}
    code_of_row = np.fromiter(
        (codes.setdefault(index if cluster is None else cluster, len(codes)) for index, cluster in enumerate(clusters)),
        dtype=np.int64,
        count=len(rows),
    )
    sums = np.zeros((len(codes), rows.shape[1]))
    np.add.at(sums, code_of_row, rows)
    return sums


def estimate(
    measured: Sequence[tuple[AnyMetric, Statistics]],
    resampling: Resampling,
    clusters: Sequence[str | None] | None = None,
) -> list[list[Estimate]]:
    """Score several metrics of one run with intervals from one shared draw.

    Args:
        measured: Each metric with its statistics, all over the same examples.
        resampling: How intervals are drawn.
        clusters: Cluster of each example; None where examples are independent.

    Returns:
        One list of estimates a metric, in the order of its `score`. One unit alone (one example, one cluster) gives values
        without interval and standard error: nothing can be said about their spread.
    """
    tables = [sum_clusters(statistics.rows, clusters) for _, statistics in measured]
    has_interval = bool(tables) and len(tables[0]) > 1
    draws: Sequence[FloatArray | None] = [None] * len(tables)
    if has_interval and resampling.resamples:
        draws = resampled_sums(tables, resampling)
    result = []
    for (metric, statistics), table, sums in zip(measured, tables, draws, strict=True):
        spread = metric.score(sums, statistics.columns) if sums is not None else {}
        ratios = metric.ratios(statistics.columns) if has_interval else {}
        values = metric.score(statistics.total(), statistics.columns)
        result.append(
            [
                _estimate(
                    name, float(value), spread.get(name), _ratio_stderr(ratios, name, table, statistics), resampling
                )
                for name, value in values.items()
            ]
        )
    return result


def _estimate(
    name: str, value: float, spread: FloatArray | None, stderr: float | None, resampling: Resampling
) -> Estimate:
    if math.isnan(value):
        return Estimate(name, None, None, None, None)
    low, high, deviation = _percentiles(spread, resampling.confidence)
    return Estimate(name, value, low, high, deviation if stderr is None else stderr)


def _percentiles(values: FloatArray | None, confidence: float) -> tuple[float | None, float | None, float | None]:
    """Lower end, upper end and standard deviation of resampled values; None where most resamples are undefined."""
    import numpy as np

    if values is None:
        return None, None, None
    defined = values[~np.isnan(values)]
    if len(defined) <= len(values) / 2 or len(defined) < 2:
        return None, None, None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    # Equal resamples have no spread, though their computed mean may be off by one rounding.
    deviation = 0.0 if defined.min() == defined.max() else float(defined.std(ddof=1))
    return float(low), float(high), deviation


def _ratio_stderr(ratios: Mapping[str, Ratio], name: str, table: FloatArray, statistics: Statistics) -> float | None:
    ratio = ratios.get(name)
    return None if ratio is None else ratio_stderr(ratio, table, statistics.columns)


def ratio_stderr(ratio: Ratio, rows: FloatArray, columns: Sequence[str]) -> float | None:
    """Standard error of a ratio of sums by linearisation; for a mean it is exactly s / sqrt(n).

    Args:
        ratio: What is divided by what.
        rows: Statistics of independent units, shape (units, k).
        columns: Names of the statistics.

    Returns:
        The standard error on the ratio's scale; None for fewer than two units or a denominator of 0.
    """
    import numpy as np

    top = rows @ weights(ratio.numerator, columns)
    bottom = rows @ weights(ratio.denominator, columns)
    total, units = float(bottom.sum()), len(rows)
    if units < 2 or total == 0:
        return None
    residuals = top - bottom * (float(top.sum()) / total)
    variance = units / (units - 1) * float(np.square(residuals).sum())
    return abs(ratio.scale) * math.sqrt(variance) / abs(total)


def paired_difference(
    metric: AnyMetric,
    first: Statistics,
    second: Statistics,
    resampling: Resampling,
    clusters: Sequence[str | None] | None = None,
) -> list[Difference]:
    """Compare two systems on the same examples by a paired bootstrap: both are scored on the same draws.

    The p-value centres the resampled differences on the observed one (the shift method) and counts ties as extreme, so equal
    outputs give p = 1.

    Args:
        metric: The metric that both statistics come from.
        first: Statistics of the first system.
        second: Statistics of the second system, over the same examples in the same order.
        resampling: How resamples are drawn.
        clusters: Cluster of each example; None where examples are independent.

    Raises:
        InvalidInputError: The two systems have different numbers of examples.

    References:
        Koehn, 2004, Statistical Significance Tests for Machine Translation Evaluation.
        Efron and Tibshirani, 1993, section 16.4.
    """
    if len(first.rows) != len(second.rows):
        raise InvalidInputError(
            f"{len(first.rows)} and {len(second.rows)} examples; a paired test needs the same examples of both"
        )
    pair = (first, second)
    tables = [sum_clusters(statistics.rows, clusters) for statistics in pair]
    scores = [metric.score(part.total(), part.columns) for part in pair]
    spreads: list[dict[str, FloatArray]] = [{}, {}]
    if len(tables[0]) > 1 and resampling.resamples:
        sums = resampled_sums(tables, resampling)
        spreads = [metric.score(total, part.columns) for total, part in zip(sums, pair, strict=True)]
    differences = []
    for name in scores[0]:
        if name not in scores[1]:
            continue
        observed = float(scores[1][name] - scores[0][name])
        if math.isnan(observed):
            continue
        drawn = spreads[1][name] - spreads[0][name] if name in spreads[0] and name in spreads[1] else None
        low, high, _ = _percentiles(drawn, resampling.confidence)
        differences.append(Difference(name, observed, low, high, _shift_p(observed, drawn)))
    return differences


def _shift_p(observed: float, drawn: npt.NDArray[np.float64] | None) -> float | None:
    import numpy as np

    if drawn is None:
        return None
    defined = drawn[~np.isnan(drawn)]
    # A resample of equal outputs differs by rounding alone; such ties must count as at least as extreme.
    slack = 1e-12 * max(1.0, abs(observed))
    extreme = int((np.abs(defined - observed) >= abs(observed) - slack).sum())
    return (1 + extreme) / (1 + len(defined))
