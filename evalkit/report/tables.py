"""Leaderboards as tables, one a task kind: what Markdown and LaTeX lay out in their own ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalkit.report.display import shown, shown_interval, shown_rank
from evalkit.report.model import Cell, Column, Model, Report

KIND_NAMES = {
    "mt": "Machine translation",
    "summarization": "Summarization",
    "qa": "Question answering",
    "ner": "Named-entity recognition",
    "cws": "Chinese word segmentation",
    "lm": "Language modelling",
    "classification": "Classification",
}
"""Task kinds as headings."""

QUIET = frozenset({"several", "setup", "missing"})
"""Notes that tell how a value was chosen or asked for, not that something is wrong with it."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The leaderboard of one task kind: models that have a run of it, by its columns."""

    kind: str
    columns: tuple[Column, ...]
    models: tuple[Model, ...]
    cells: tuple[tuple[Cell, ...], ...]
    """One row a model, the best of the first column first."""

    @property
    def title(self) -> str:
        """Heading."""
        return KIND_NAMES.get(self.kind, self.kind)


def tables(report: Report) -> Iterator[Table]:
    """Split a report by task kind, in the order of its columns."""
    for kind in dict.fromkeys(column.kind for column in report.columns):
        columns = tuple(column for column in report.columns if column.kind == kind)
        rows = {model.key: tuple(report.cell(model.key, column.key) for column in columns) for model in report.models}
        present = [model for model in report.models if any(cell.runs for cell in rows[model.key])]
        models = tuple(sorted(present, key=lambda model: _order(rows[model.key], columns)))
        yield Table(kind, columns, models, tuple(rows[model.key] for model in models))


def _order(cells: Sequence[Cell], columns: Sequence[Column]) -> tuple[int, bool, float]:
    """By the first column with a value: what is compared first, then the best first."""
    for place, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        if cell.value is not None:
            return place, not cell.is_comparable, -cell.value if column.higher_is_better else cell.value
    return len(cells), False, 0.0


def value_text(cell: Cell, column: Column) -> str:
    """The value as its field prints it; a dash where there is none."""
    return shown(cell.value, column.display) or "-"


def interval_text(cell: Cell, column: Column) -> str:
    """The interval; of a mean of several runs with the standard deviation between them."""
    text = shown_interval(cell.low, cell.high, column.display)
    return f"{text} ±{shown(cell.deviation, column.display)}" if cell.deviation is not None else text


def rank_text(cell: Cell) -> str:
    """The rank range; a dash where a value is not compared."""
    return shown_rank(cell.rank, cell.rank_low, cell.rank_high) or "-"


def marks_legend(report: Report, columns: Sequence[Column]) -> str:
    """What marks, intervals and ranks mean, in one line."""
    confidence = f"{report.settings.confidence:.0%}"
    tests = "; ".join(dict.fromkeys(column.test for column in columns if column.test))
    test = f" ({tests}, Holm, level {1 - report.settings.confidence:.2g})" if tests else ""
    return (
        f"Bold: best of a column. ≈: not significantly worse than the best{test}. Brackets: interval of the value."
        f" Rank: range that holds {confidence} of {report.settings.resamples:,} resamples."
    )


def rule_text(report: Report) -> str:
    """What stands for several runs of one model and task."""
    shown_rule = {
        "latest": "the latest complete run",
        "best": "the best complete run",
        "mean": "the mean of complete runs",
    }
    return f"Several runs of one model and task: {shown_rule[report.settings.runs]}."


def size_text(number: int | float | None) -> str:
    """A large number in three digits with a unit.

    >>> size_text(124_439_808)
    '124M'
    """
    if number is None:
        return ""
    for power, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= power * 0.9995:
            return f"{number / power:.3g}{unit}"
    return f"{number:.3g}"
