"""Statistics of any number of examples: computed a block at a time, so that no more than a block of texts is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from evalkit.errors import InvalidInputError
from evalkit.metrics.base import AnyMetric, Statistics
from evalkit.spool import KEPT_IN_MEMORY

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray

BLOCK = KEPT_IN_MEMORY
"""Examples whose statistics are computed at once; what fits into memory is one block."""


def tabulate(
    metrics: Sequence[AnyMetric],
    predictions: Sequence[Any],
    references: Sequence[Sequence[Any]],
    tick: Callable[[], None] = lambda: None,
) -> list[Statistics]:
    """Compute the statistics of several metrics in one pass over the examples.

    Args:
        metrics: The metrics.
        predictions: One prediction an example.
        references: One list of references an example.
        tick: Is called when a metric is done with a block.

    Returns:
        One table a metric, each with `len(predictions)` rows.

    Raises:
        InvalidInputError: A metric cannot take an example.
    """
    tables = [_Table(len(predictions)) for _ in metrics]
    start = 0
    for some, theirs in _blocks(predictions, references):
        for metric, table in zip(metrics, tables, strict=True):
            table.put(start, _statistics(metric, some, theirs, start))
            tick()
        start += len(some)
    return [table.statistics() for table in tables]


def block_count(examples: int) -> int:
    """How many blocks there are."""
    return -(-examples // BLOCK)


def _blocks(
    predictions: Sequence[Any], references: Sequence[Sequence[Any]]
) -> Iterator[tuple[Sequence[Any], Sequence[Sequence[Any]]]]:
    if len(predictions) <= BLOCK:
        yield predictions, references
        return
    left, right = iter(predictions), iter(references)
    while some := list(islice(left, BLOCK)):
        yield some, list(islice(right, BLOCK))


def _statistics(metric: AnyMetric, predictions: Sequence[Any], references: Sequence[Any], start: int) -> Statistics:
    try:
        return metric.statistics(predictions, references)
    except InvalidInputError as error:
        if not start:
            raise
        # Metrics count from the beginning of what they are given.
        raise InvalidInputError(f"{error} (numbers count from example {start})") from error


class _Table:
    """Rows of blocks that may have different columns; a column that a block lacks is 0 there."""

    def __init__(self, rows: int) -> None:
        self._count = rows
        self._columns: tuple[str, ...] = ()
        self._rows: FloatArray | None = None

    def put(self, start: int, block: Statistics) -> None:
        if len(block.rows) == self._count:
            self._columns, self._rows = block.columns, block.rows
            return
        self._widen(block.columns)
        assert self._rows is not None
        part = self._rows[start : start + len(block.rows)]
        if block.columns == self._columns:
            part[:] = block.rows
        else:
            place = {name: index for index, name in enumerate(self._columns)}
            part[:, [place[name] for name in block.columns]] = block.rows

    def _widen(self, columns: Sequence[str]) -> None:
        import numpy as np

        more = [name for name in columns if name not in self._columns]
        if self._rows is not None and not more:
            return
        wider = np.zeros((self._count, len(self._columns) + len(more)))
        if self._rows is not None:
            wider[:, : len(self._columns)] = self._rows
        self._columns, self._rows = (*self._columns, *more), wider

    def statistics(self) -> Statistics:
        assert self._rows is not None, "metrics refuse an empty corpus, so there is a block"
        return Statistics(self._columns, self._rows)
