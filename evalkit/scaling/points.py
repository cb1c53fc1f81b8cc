"""Training runs as points of a scaling law: size, tokens, compute, loss, and what says how far they can be compared.

    N  parameters      D  training tokens seen      U  unique tokens among them
    C  training FLOPs  loss  final loss, in one unit for all rows

`make_points` is the one door; what comes out of it is checked and in float64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray
from evalkit.scaling.warnings import ScalingWarning

PREDICTORS = ("N", "D", "C")
"""The columns that a law can be a function of."""


@dataclass(frozen=True, kw_only=True)
class PointSettings:
    """How columns are read."""

    dropna: bool = False
    """Leave out rows with missing or infinite values; without it they are an error."""
    flops: str | None = None
    """How C was counted, e.g. ``"by the model, with attention"``; without it C must be within 50% of 6ND."""
    loss_unit: str | None = None
    """Unit that losses are converted to: one of `evalkit.scaling.units.UNITS`; None takes them as they are."""
    first_row: int = 1
    """What messages call the first row; 2 for the lines of a file with a header."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """n training runs, checked; every array has shape (n,)."""

    loss: FloatArray
    """Loss in `loss_unit`, above 0."""
    N: FloatArray | None = None
    """Parameters, counted as `size_counting` says."""
    D: FloatArray | None = None
    """Training tokens seen, repeats included."""
    C: FloatArray | None = None
    """Training FLOPs."""
    U: FloatArray | None = None
    """Unique training tokens, at most D; None where nothing was repeated."""
    stderr: FloatArray | None = None
    """Standard error of the loss, in its unit."""
    weights: FloatArray | None = None
    """How much each row counts; None counts all the same."""
    lr: FloatArray | None = None
    """Peak learning rate."""
    warmup: FloatArray | None = None
    """Tokens or steps of warm-up."""
    layers: FloatArray | None = None
    """Number of layers."""
    run: tuple[str, ...] | None = None
    """Name of each row; equal names must have equal values."""
    cluster: tuple[str, ...] | None = None
    """Rows that are not independent share a cluster, as the checkpoints of one run do."""
    seed: tuple[str, ...] | None = None
    """Seed of each run; runs that differ in it alone are replicates."""
    group: tuple[str, ...] | None = None
    """Corpus, recipe or arm of each row."""
    final: BoolArray | None = None
    """Whether the learning-rate schedule had ended."""
    loss_unit: str = "nats/token"
    """Unit of all losses."""
    tokenizer: str | None = None
    """Tokenizer of all losses, where known."""
    loss_source: str | None = None
    """Where losses come from, e.g. ``"held-out"``; ``"mixed"`` if rows differ."""
    size_counting: str | None = None
    """How N was counted, e.g. ``"without embeddings"``."""
    flops_counting: str = "6ND"
    """How C was counted."""
    warnings: tuple[ScalingWarning, ...] = field(default=())
    """What reading the columns warned of."""

    def __len__(self) -> int:
        return len(self.loss)

    def axis(self, name: str) -> FloatArray:
        """Give a predictor or U, shape (n,).

        Raises:
            InvalidInputError: The points do not have it.
        """
        values: FloatArray | None = getattr(self, name)
        if values is None:
            raise InvalidInputError(f"the points have no column {name!r}; expected one for this law, so give it")
        return values

    def weight(self) -> FloatArray:
        """Give the weight of each row, shape (n,); ones where none were given."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def take(self, rows: BoolArray | IntArray) -> Points:
        """Give some of the points.

        Args:
            rows: A mask of shape (n,), or the numbers of rows from 0.
        """
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        changed: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                changed[each.name] = _frozen(value[index])
            elif isinstance(value, tuple) and each.name != "warnings":
                changed[each.name] = tuple(value[i] for i in index)
        return replace(self, **changed)

    def compute(self) -> FloatArray:
        """Give training FLOPs, shape (n,): C where it is known, else 6ND.

        Raises:
            InvalidInputError: Neither C nor both of N and D are known.
        """
        return self.C if self.C is not None else 6.0 * self.axis("N") * self.axis("D")


def _frozen(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    values.flags.writeable = False
    return values


def make_points(
    columns: Mapping[str, Sequence[Any] | np.ndarray[Any, Any] | str], settings: PointSettings | None = None
) -> Points:
    """Check columns and gather them.

    Args:
        columns: Values by the names of the fields of `Points`, and ``bytes_per_token`` where losses per token and per byte
            are converted; ``loss`` and one of N, D, C at least. A text stands for a column of it. Of N, D and C, one that
            is missing beside two others is computed from C = 6ND.
        settings: How they are read.

    Raises:
        InvalidInputError: Something cannot be used; names the column, the row and the value.
        UnknownNameError: A column has another name.

    >>> points = make_points({"N": [1e6, 1e7], "D": [1e8, 1e8], "loss": [4.0, 3.5]})
    >>> len(points), points.C.tolist()
    (2, [600000000000000.0, 6000000000000000.0])
    """
    from evalkit.scaling.reading import read_points

    return read_points(columns, settings or PointSettings())
