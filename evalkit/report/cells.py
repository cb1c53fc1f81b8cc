"""The cells of one column, and the column itself."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evalkit.record import MetricValue
from evalkit.report.columns import Place
from evalkit.report.comparable import (
    Entry,
    Field,
    comparable,
    missing_note,
    notes_of,
    notes_of_choice,
    notes_of_setup,
    notes_of_versions,
)
from evalkit.report.compared import Outcome, Standing, compare
from evalkit.report.model import Cell, Column, Note, Pairwise, Settings
from evalkit.report.reading import StoredRun
from evalkit.report.selection import is_partial


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """A column with its cells and comparisons."""

    place: Place
    column: Column
    cells: tuple[Cell, ...]
    """In the order of the models."""
    field: Field
    pairwise: Pairwise | None
    """None where fewer than two models are compared."""


def fill(place: Place, entries: Sequence[Entry], settings: Settings) -> Filled:
    """Compare the models of a column and fill its cells.

    Args:
        place: What the column holds.
        entries: One a model of the report, in their order; those without a run have no evidence.
        settings: How to compare.
    """
    present = [entry for entry in entries if entry.choice.shown]
    field = comparable(present, place.metric, settings.allowed)
    outcome = compare(field.contestants, place.metric, place.value, settings) if field.contestants else None
    standings = {one.model: one for one in outcome.standings} if outcome else {}
    every = [run for entry in present for run in entry.choice.shown]
    cells = tuple(_cell(place, entry, standings.get(entry.model), field, every, settings) for entry in entries)
    return Filled(place, _column(place, outcome, field), cells, field, _pairwise(place, outcome))


def _cell(
    place: Place,
    entry: Entry,
    standing: Standing | None,
    field: Field,
    every: Sequence[StoredRun],
    settings: Settings,
) -> Cell:
    runs = entry.choice.shown
    if not runs:
        note = missing_note(place, entry.choice.without)
        return Cell(model=entry.model, column=place.key, value=None, notes=(note,))
    values = [value for run in runs if (value := place.of(run.record)) is not None]
    average, deviation = mean(values)
    low, high, confidence = _interval(values, runs, standing, settings)
    notes = [
        *(note for run in runs for note in notes_of(run.record)),
        *field.reasons.get(entry.model, ()),
        *field.told.get(entry.model, ()),
        *notes_of_choice(entry.choice, settings.runs),
        *notes_of_setup(runs, every),
        *notes_of_versions(runs, every),
    ]
    if average is None:
        notes.append(Note(kind="undefined", text="the value is undefined for these outputs"))
    return Cell(
        model=entry.model,
        column=place.key,
        value=average,
        low=low,
        high=high,
        confidence=confidence,
        n=values[0].n,
        unscored=values[0].unscored,
        runs=entry.choice.ids,
        others=tuple(sorted(run.record.id for run, _ in entry.choice.others)),
        deviation=deviation,
        is_comparable=standing is not None,
        is_best=standing is not None and standing.is_best,
        is_tied=standing is not None and standing.is_tied,
        p_best=standing.p_best if standing else None,
        rank=standing.rank if standing else None,
        rank_low=standing.rank_low if standing else None,
        rank_high=standing.rank_high if standing else None,
        notes=tuple(dict.fromkeys(notes)),
    )


def mean(values: Sequence[MetricValue]) -> tuple[float | None, float | None]:
    """Mean and standard deviation of a value over runs; undefined where it is undefined for one of them."""
    numbers = [value.value for value in values if value.value is not None]
    if len(numbers) < len(values):
        return None, None
    return statistics.fmean(numbers), statistics.stdev(numbers) if len(numbers) > 1 else None


def _interval(
    values: Sequence[MetricValue], runs: Sequence[StoredRun], standing: Standing | None, settings: Settings
) -> tuple[float | None, float | None, float | None]:
    """The interval of a run as it was kept; of several runs, that of their mean on the compared examples."""
    if len(values) == 1:
        confidence = runs[0].record.settings.get("confidence")
        level = float(confidence) if isinstance(confidence, int | float) and 0 < confidence < 1 else None
        low, high = values[0].low, values[0].high
        if low is not None and high is not None:
            return low, high, level
    if standing is None or standing.low is None:
        return None, None, None
    return standing.low, standing.high, settings.confidence


def _column(place: Place, outcome: Outcome | None, field: Field) -> Column:
    record, value = place.page.record, place.example
    return Column(
        key=place.key,
        page=place.page.key,
        task=str(record.task["name"]),
        version=int(record.task["version"]),
        kind=str(record.task["kind"]),
        language=str(record.task["language"]),
        title=place.title,
        metric=place.metric,
        value=place.value,
        signature=place.signature,
        higher_is_better=value.higher_is_better,
        display=place.display,
        n=outcome.n if outcome else value.n,
        units=outcome.units if outcome else value.n,
        test=outcome.test if outcome else "",
        notes=tuple(_column_notes(place, outcome, field)),
    )


def _column_notes(place: Place, outcome: Outcome | None, field: Field) -> Iterator[Note]:
    if field.reasons:
        text = f"models that are not compared with the others: {len(field.reasons)}; their cells say why"
        yield Note(kind="not compared", text=text)
    if outcome is not None and not outcome.is_matrix:
        yield Note(kind="matrix", text="very many models: each is compared with the best one alone")
    versions = _different(run.record.task["digest"] for run in place.page.runs)
    if versions:
        yield Note(kind="task", text=f"the task's definition differs between runs of one version (digests {versions})")
    levels = _different(run.record.settings.get("confidence") for run in place.page.runs if not is_partial(run.record))
    if levels:
        yield Note(kind="confidence", text=f"intervals of runs have different levels: {levels}")


def _different(values: Iterable[object]) -> str:
    found = sorted({str(value) for value in values})
    return ", ".join(found) if len(found) > 1 else ""


def _pairwise(place: Place, outcome: Outcome | None) -> Pairwise | None:
    if outcome is None or not outcome.pairs:
        return None
    return Pairwise(column=place.key, models=tuple(one.model for one in outcome.standings), pairs=outcome.pairs)
