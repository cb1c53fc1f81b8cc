"""What the page's script reads: the report as plain JSON values, numbers in the unit and with the decimals that are shown.

A number is sent as it is printed (`evalkit.report.display.shown`), so that the page shows the digits of the other formats.
What many runs have in common (settings, versions) is sent once and referred to by its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalkit.report.display import shown
from evalkit.report.html.overview import language_label, note_sign
from evalkit.report.model import Cell, Column, Curve, Model, Report, Run, Scaling
from evalkit.report.page_model import (
    Breakdown,
    Display,
    MetricRow,
    Note,
    Pairwise,
    Scored,
    Slices,
    TaskPage,
)


def to_json(value: object) -> str:
    """JSON that can stand in an HTML script element: no character of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def payload(report: Report, samples: Mapping[str, Any]) -> dict[str, Any]:
    """The whole report but its examples.

    Args:
        report: The report.
        samples: Page key to what `evalkit.report.html.samples.manifest` says about its examples.
    """
    places = {model.key: place for place, model in enumerate(report.models)}
    columns = {column.key: column for column in report.columns}
    order = {column.key: place for place, column in enumerate(report.columns)}
    pool = Pool()
    return {
        "title": report.settings.title,
        "confidence": report.settings.confidence,
        "rule": report.settings.runs,
        "models": [_model(model) for model in report.models],
        "columns": [_column(column) for column in report.columns],
        "cells": [_cell(cell, columns[cell.column], places, order) for cell in report.cells],
        "pages": [{**_page(page, places, columns), "samples": samples.get(page.key)} for page in report.tasks],
        "runs": [_run(run, places, pool) for run in report.runs],
        "pool": pool.values,
        "curves": [_curve(curve, columns[curve.column].display) for curve in report.curves],
        "scaling": [_scaling(scaling) for scaling in report.scaling],
        "notes": _notes(report.notes),
    }


_DATA = ("source", "revision", "split", "digest", "n")
"""What a task page says about its data."""


class Pool:
    """Values that occur often, each kept once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, value: object) -> int:
        """The place of a value, which is added if it is new."""
        text = json.dumps(value)
        if text not in self._places:
            self._places[text] = len(self.values)
            self.values.append(value)
        return self._places[text]


def number(value: float | None, display: Display) -> float | None:
    """A value as it is shown."""
    return None if value is None else float(shown(value, display))


def _model(model: Model) -> dict[str, Any]:
    return {
        "key": model.key,
        "name": model.name,
        "ref": model.ref,
        "family": model.family,
        "digests": list(model.digests),
        "parameters": model.parameters,
        "tokens": model.tokens_seen,
        "speed": model.tokens_per_s,
        "latest": model.latest,
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "key": column.key,
        "page": column.page,
        "title": column.title,
        "kind": column.kind,
        "language": column.language,
        "metric": column.metric,
        "value": column.value,
        "signature": column.signature,
        "up": column.higher_is_better,
        "display": _display(column.display),
        "n": column.n,
        "units": column.units,
        "test": column.test,
        "notes": _notes(column.notes),
    }


def _display(display: Display) -> list[Any]:
    return [display.digits, display.unit]


def _cell(cell: Cell, column: Column, places: Mapping[str, int], order: Mapping[str, int]) -> dict[str, Any]:
    scaled = [number(value, column.display) for value in (cell.value, cell.low, cell.high, cell.deviation)]
    full = {
        "m": places[cell.model],
        "c": order[cell.column],
        "v": scaled[0],
        "ci": scaled[1:3] if scaled[1] is not None else None,
        "sd": scaled[3],
        "level": cell.confidence,
        "n": cell.n,
        "unscored": cell.unscored,
        "runs": list(cell.runs),
        "others": list(cell.others),
        "ok": cell.is_comparable,
        "best": cell.is_best,
        "tied": cell.is_tied,
        "p": _p(cell.p_best),
        "rank": [cell.rank, cell.rank_low, cell.rank_high] if cell.rank is not None else None,
        "notes": _notes(cell.notes),
        "sign": note_sign(cell) or None,
    }
    return _lean(full)


def _lean(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing; a number stays, 0 too."""
    return {name: value for name, value in values.items() if value is not None and value is not False and value != []}


def _p(p: float | None) -> float | None:
    return None if p is None else float(f"{p:.3g}")


def _notes(notes: Iterable[Note]) -> list[list[str]]:
    return [[note.kind, note.text] for note in notes]


def _page(page: TaskPage, places: Mapping[str, int], columns: Mapping[str, Column]) -> dict[str, Any]:
    return {
        "key": page.key,
        "title": page.title,
        "task": page.task,
        "version": page.version,
        "kind": page.kind,
        "language": page.language,
        "spoken": language_label(page.language),
        "data": {name: str(page.data[name]) for name in _DATA if page.data.get(name) not in (None, "")},
        "columns": list(page.columns),
        "models": [places[key] for key in page.models],
        "metrics": [_metric(row) for row in page.metrics],
        "pairwise": [_pairwise(table, places, columns[table.column].display) for table in page.pairwise],
        "slices": [_slices(slices) for slices in page.slices],
        "breakdowns": [_breakdown(table) for table in page.breakdowns],
        "notes": _notes(page.notes),
    }


def _metric(row: MetricRow) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "value": row.value,
        "signature": row.signature,
        "main": row.is_headline,
        "up": row.higher_is_better,
        "display": _display(row.display),
        "values": _scored(row.values, row.display),
    }


def _scored(values: Sequence[Scored | None], display: Display) -> list[list[float | int | None] | None]:
    """Value, lower end, upper end and number of examples, for each model."""
    return [
        None
        if one is None
        else [number(one.value, display), number(one.low, display), number(one.high, display), one.n]
        for one in values
    ]


def _pairwise(table: Pairwise, places: Mapping[str, int], display: Display) -> dict[str, Any]:
    return {
        "column": table.column,
        "models": [places[key] for key in table.models],
        "pairs": [
            [
                places[pair.first],
                places[pair.second],
                number(pair.difference, display),
                number(pair.low, display),
                number(pair.high, display),
                _p(pair.p),
                _p(pair.p_holm),
            ]
            for pair in table.pairs
        ],
    }


def _slices(slices: Slices) -> dict[str, Any]:
    return {
        "by": slices.by,
        "unit": slices.unit,
        "counts": slices.counts,
        "value": slices.value,
        "column": slices.column,
        "display": _display(slices.display),
        "groups": [
            {"name": group.name, "n": group.n, "values": _scored(group.values, slices.display)}
            for group in slices.groups
        ],
        "notes": _notes(slices.notes),
    }


def _breakdown(table: Breakdown) -> dict[str, Any]:
    return {
        "title": table.title,
        "unit": table.unit,
        "rows": [[row.group, row.outcome, list(row.counts)] for row in table.rows],
        "notes": _notes(table.notes),
    }


def _run(run: Run, places: Mapping[str, int], pool: Pool) -> dict[str, Any]:
    full = {
        "id": run.id,
        "place": run.place,
        "m": places[run.model],
        "page": run.page,
        "use": run.use,
        "status": run.status,
        "created": run.created,
        "command": run.command,
        "task": run.task_digest,
        "data": run.data_digest,
        "model": run.model_digest,
        "commit": run.commit,
        "settings": pool.place([[name, _words(value)] for name, value in run.settings.items() if value is not None]),
        "counts": _lean(run.counts),
        "timing": {name: float(f"{value:.4g}") for name, value in run.timing.items() if value is not None},
        "versions": pool.place([[name, version] for name, version in run.versions.items()] + [["on", run.platform]]),
        "warnings": list(run.warnings),
    }
    return _lean(full)


def _curve(curve: Curve, display: Display) -> dict[str, Any]:
    return {
        "training": curve.training,
        "column": curve.column,
        "by": curve.by,
        "points": [
            [
                point.run,
                point.steps,
                point.tokens_seen,
                number(point.value, display),
                number(point.low, display),
                number(point.high, display),
            ]
            for point in curve.points
        ],
    }


def _scaling(scaling: Scaling) -> dict[str, Any]:
    return {
        "title": scaling.title,
        "file": scaling.file,
        "form": scaling.form,
        "parameters": [[name, _estimate(value)] for name, value in scaling.parameters.items()],
        "notes": _notes(scaling.notes),
    }


def _words(value: object) -> str:
    """Any value of a record as one line of text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _estimate(value: object) -> str:
    """A fitted parameter with its interval, where it is one; any other value as text."""
    if not isinstance(value, Mapping) or not isinstance(value.get("value"), int | float):
        return _words(value)
    ends = [value.get(end) for end in ("low", "high")]
    interval = f" [{ends[0]:.4g}, {ends[1]:.4g}]" if all(isinstance(end, int | float) for end in ends) else ""
    return f"{value['value']:.4g}{interval}{' (not fitted)' if value.get('fixed') else ''}"
