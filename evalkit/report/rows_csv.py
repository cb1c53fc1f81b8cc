"""A report as a tidy CSV file: one row a model, task and value, missing cells included, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TypeAlias

from evalkit.comparison.wording import plain_json
from evalkit.report.display import shown
from evalkit.report.html.visible import visible
from evalkit.report.model import Cell, Column, MetricRow, Model, Report, Run, Scored, TaskPage

Field: TypeAlias = str | int | float | bool | None

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What makes a spreadsheet run a text, full-width forms included."""


def report_csv(report: Report) -> str:
    """Write a report as CSV: UTF-8 text, commas, lines ending in a line feed.

    Numbers are on the metric's own scale; ``shown`` is the value as its field prints it. A text that a spreadsheet would run as
    a formula has an apostrophe in front.
    """
    out = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in _rows(report):
        if writer is None:
            writer = csv.DictWriter(out, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _safe(field) for name, field in row.items()})
    return out.getvalue()


def _safe(field: Field) -> Field:
    if isinstance(field, bool):
        return str(field).lower()
    if isinstance(field, float):
        return str(plain_json(field))
    if not isinstance(field, str):
        return field
    line = " ".join(visible(field).split())
    return f"'{line}" if line.startswith(_FORMULA) or field.startswith(_FORMULA) else line


def _rows(report: Report) -> Iterator[dict[str, Field]]:
    models = {model.key: model for model in report.models}
    runs = {run.id: run for run in report.runs}
    columns = {(column.page, column.metric, column.value, column.signature): column for column in report.columns}
    for page in report.tasks:
        for metric in page.metrics:
            column = columns.get((page.key, metric.metric, metric.value, metric.signature))
            places = {key: place for place, key in enumerate(page.models)}
            for key in models if column else page.models:
                scored = metric.values[places[key]] if key in places else None
                cell = report.cell(key, column.key) if column else None
                if scored is not None or cell is not None:
                    yield _row(page, metric, models[key], scored, (column, cell), runs)


def _row(
    page: TaskPage,
    metric: MetricRow,
    model: Model,
    scored: Scored | None,
    marked: tuple[Column | None, Cell | None],
    runs: dict[str, Run],
) -> dict[str, Field]:
    column, cell = marked
    value = cell if cell is not None else scored
    behind = [runs[name] for name in (cell.runs if cell else ()) if name in runs]
    return {
        "model": model.name,
        "family": model.family,
        "parameters": model.parameters,
        "tokens_seen": model.tokens_seen,
        "task": page.task,
        "task_version": page.version,
        "kind": page.kind,
        "language": page.language,
        "data_digest": str(page.data.get("digest") or ""),
        "metric": metric.metric,
        "value_name": metric.value,
        "value": value.value if value else None,
        "low": value.low if value else None,
        "high": value.high if value else None,
        "confidence": cell.confidence if cell else None,
        "shown": shown(value.value if value else None, metric.display),
        "higher_is_better": metric.higher_is_better,
        "n": value.n if value else 0,
        "is_column": column is not None,
        "is_comparable": cell.is_comparable if cell else None,
        "is_best": cell.is_best if cell else None,
        "is_tied": cell.is_tied if cell else None,
        "p_best_holm": cell.p_best if cell else None,
        "rank": cell.rank if cell else None,
        "rank_low": cell.rank_low if cell else None,
        "rank_high": cell.rank_high if cell else None,
        "signature": metric.signature,
        "notes": "; ".join(note.text for note in cell.notes) if cell else "",
        "runs": " ".join(run.id for run in behind),
        "other_runs": " ".join(cell.others) if cell else "",
        "model_digest": " ".join(dict.fromkeys(run.model_digest for run in behind)),
        "created": behind[0].created if behind else "",
        "evalkit": behind[0].versions.get("evalkit", "") if behind else "",
        "command": behind[0].command if behind else "",
    }
