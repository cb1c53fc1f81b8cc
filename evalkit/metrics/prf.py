"""Precision, recall and F1 from counts: over everything (micro), by type, and averaged over types.

Columns are ``tp[TYPE]``, ``pred[TYPE]`` and ``gold[TYPE]``: how many were right, predicted and there. A type counts as seen in a
sum where it has a gold or a predicted item, so that a macro average over a resample in which a type vanishes leaves it out, as
the reference scorers would on that resample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit.metrics.base import Ratio, Statistics

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from evalkit.metrics.base import FloatArray

MEASURES = ("f1", "precision", "recall")
_COUNTS = ("tp", "pred", "gold")


def type_statistics(
    types: Sequence[str], counts: npt.NDArray[np.int64], extra: dict[str, npt.NDArray[np.int64]]
) -> Statistics:
    """Arrange counts by type as statistics; types that occur nowhere get no columns.

    Args:
        types: Names of the T types.
        counts: Shape (n, T, 3): right, predicted and gold items of each example.
        extra: Further columns, shape (n,) each.
    """
    import numpy as np

    seen = [int(place) for place in np.flatnonzero(counts.any(axis=(0, 2)))]
    seen.sort(key=lambda place: types[place])
    columns = [f"{count}[{types[place]}]" for place in seen for count in _COUNTS]
    blocks = [counts[:, seen, :].reshape(len(counts), 3 * len(seen)), *(values[:, None] for values in extra.values())]
    return Statistics((*columns, *extra), np.concatenate(blocks, axis=1).astype(np.float64))


def types_in(columns: Sequence[str]) -> list[str]:
    """List the types that have columns, sorted."""
    return sorted(name[len("gold[") : -1] for name in columns if name.startswith("gold["))


def micro_ratios(types: Sequence[str], scale: float = 1.0, zero_division: float = 0.0) -> dict[str, Ratio]:
    """F1, precision and recall over the items of all given types."""
    hits = {f"tp[{name}]": 1.0 for name in types}
    predicted = {f"pred[{name}]": 1.0 for name in types}
    gold = {f"gold[{name}]": 1.0 for name in types}
    return {
        "f1": Ratio({name: 2.0 for name in hits}, predicted | gold, scale, scale * zero_division),
        "precision": Ratio(hits, predicted, scale, scale * zero_division),
        "recall": Ratio(hits, gold, scale, scale * zero_division),
    }


def type_ratios(types: Sequence[str], scale: float = 1.0, zero_division: float = 0.0) -> dict[str, Ratio]:
    """F1, precision and recall of each type, named ``f1[TYPE]``."""
    return {
        f"{measure}[{name}]": ratio
        for name in types
        for measure, ratio in micro_ratios([name], scale, zero_division).items()
    }


def averaged(
    sums: FloatArray, columns: Sequence[str], zero_division: float = 0.0, fixed: Sequence[str] = ()
) -> dict[str, FloatArray]:
    """Average F1, precision and recall over types: plainly (macro) and by number of gold items (weighted).

    Args:
        sums: Summed statistics, shape (..., k).
        columns: Names of the k statistics.
        zero_division: Value of a precision without predictions and of a recall without gold items.
        fixed: Types to average over even where they are not seen; empty means those seen in each sum.

    Returns:
        ``macro_f1``, ``weighted_precision`` and so on, arrays of shape (...). Macro averages over no type are NaN.
    """
    import numpy as np

    tp, pred, gold = (_counts(sums, columns, count, fixed or types_in(columns)) for count in _COUNTS)
    seen = np.ones_like(gold, dtype=bool) if fixed else (pred + gold) > 0
    support = gold.sum(axis=-1)
    # Without any gold item there are no weights: recall is undefined, the others only where nothing is predicted either.
    unweighted_recall = np.full_like(support, zero_division)
    unweighted = np.where(pred.sum(axis=-1) == 0, zero_division, 0.0)
    quotients = {
        "f1": (2 * tp, pred + gold, unweighted),
        "precision": (tp, pred, unweighted),
        "recall": (tp, gold, unweighted_recall),
    }
    values: dict[str, FloatArray] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for measure, (top, bottom, without_support) in quotients.items():
            by_type = np.where(bottom == 0, zero_division, top / bottom)
            values[f"macro_{measure}"] = np.where(seen, by_type, 0.0).sum(axis=-1) / seen.sum(axis=-1)
            weighted = (gold * by_type).sum(axis=-1) / support
            values[f"weighted_{measure}"] = np.where(support == 0, without_support, weighted)
    return {f"{kind}_{measure}": values[f"{kind}_{measure}"] for kind in ("macro", "weighted") for measure in MEASURES}


def _counts(sums: FloatArray, columns: Sequence[str], count: str, types: Sequence[str]) -> FloatArray:
    """Shape (..., T); 0 for a type without columns."""
    import numpy as np

    place = {name: index for index, name in enumerate(columns)}
    places = [place.get(f"{count}[{name}]", len(columns)) for name in types]
    padded = np.concatenate([sums, np.zeros((*sums.shape[:-1], 1))], axis=-1)
    return padded[..., places]
