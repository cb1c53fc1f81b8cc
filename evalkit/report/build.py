"""From run folders to a report: read, gather, choose, compare, lay out; a pure function of the runs and the settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from evalkit.comparison.loaded import no_collection
from evalkit.comparison.pairing import check_allowed
from evalkit.report.cells import Filled, fill
from evalkit.report.columns import Page, Place, check_metrics, chosen, columns, pages
from evalkit.report.comparable import Entry
from evalkit.report.curves import curves
from evalkit.report.evidence import Evidence, Memory, Samples, read_evidence
from evalkit.report.model import Note, Report, Run, Settings, TaskPage
from evalkit.report.pages import metric_rows, task_page
from evalkit.report.reading import StoredRun, read_runs
from evalkit.report.rows import Row, rows
from evalkit.report.scaling import read_scaling
from evalkit.report.selection import Choice, choose, is_partial
from evalkit.report.traces import model_of, trace

NO_VALUE = "no value of a column"
"""Why a run is not shown that has none of the values that are columns."""

_RULES = {
    "latest": "the latest complete one is shown",
    "best": "the best complete one is shown, which flatters models with many runs",
    "mean": "the mean of the complete ones is shown",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Board:
    """Who stands where, before anything is compared."""

    models: Mapping[str, Row]
    """Key to model, in the order of the leaderboard."""
    places: Mapping[str, Place]
    """Key to column, in order."""
    choices: Mapping[tuple[str, str], Choice]
    """Keys of model and column to the chosen runs."""


def build_report(
    names: Sequence[str],
    settings: Settings | None = None,
    scaling: Sequence[str] = (),
    samples: Samples | None = None,
) -> Report:
    """Make a report.

    Args:
        names: Run folders, folders of run folders, patterns, or addresses that fsspec opens.
        settings: How the report is made.
        scaling: Files of scaling fits.
        samples: Who takes the samples while they are read, such as `evalkit.report.html.samples.SamplePages`.

    Raises:
        EvalkitError: A name means no run, a record or fit cannot be read, or the settings name what is not there.
    """
    settings = settings or Settings()
    check_allowed(settings.allowed)
    fits = tuple(map(read_scaling, scaling))
    found = read_runs(names)
    runs = chosen(found, settings.tasks)
    check_metrics(runs, settings)
    board = _board(runs, settings)
    filled: list[Filled] = []
    tasks: list[TaskPage] = []
    # Statistics that no float can sum give values that are undefined; they are shown as such.
    with no_collection(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for page in dict.fromkeys(place.page for place in board.places.values()):
            columns_of_page, task = _fill_page(page, board, settings, samples)
            filled += columns_of_page
            tasks.append(task)
    traces = sorted(_traces(board), key=lambda run: (run.id, run.place))
    return Report(
        settings=settings,
        columns=tuple(one.column for one in filled),
        models=tuple(
            model_of(key, row, _shown(key, board, board.places.values())) for key, row in board.models.items()
        ),
        cells=tuple(one.cells[index] for index in range(len(board.models)) for one in filled),
        tasks=tuple(tasks),
        runs=tuple(traces),
        curves=tuple(curves([one.place for one in filled], runs)),
        scaling=fits,
        notes=tuple(_notes(len(found), runs, traces, settings)),
    )


def _board(runs: Sequence[StoredRun], settings: Settings) -> _Board:
    places = [place for page in pages(runs) for place in columns(page, settings)]
    here = {id(place): {id(run) for run in place.page.runs} for place in places}
    choices: dict[Row, list[Choice]] = {
        row: [choose([run for run in row.runs if id(run) in here[id(place)]], place, settings.runs) for place in places]
        for row in rows(runs, settings.names)
    }
    order = sorted(choices, key=lambda row: _order(row, choices[row], places))
    models = {f"m{number}": row for number, row in enumerate(order, start=1)}
    return _Board(
        models,
        {place.key: place for place in places},
        {
            (key, place.key): choice
            for key, row in models.items()
            for place, choice in zip(places, choices[row], strict=True)
        },
    )


def _order(row: Row, choices: Sequence[Choice], places: Sequence[Place]) -> tuple[int, bool, float, str]:
    """By the first column in which a model has a value, the best first; partial runs behind complete ones."""
    for number, (choice, place) in enumerate(zip(choices, places, strict=True)):
        values = [value for run in choice.shown if (value := place.of(run.record)) is not None]
        numbers = [value.value for value in values if value.value is not None]
        if numbers:
            mean = sum(numbers) / len(numbers)
            return number, is_partial(choice.shown[0].record), -mean if values[0].higher_is_better else mean, row.name
    return len(places), False, 0.0, row.name


def _fill_page(page: Page, board: _Board, settings: Settings, samples: Samples | None) -> tuple[list[Filled], TaskPage]:
    """Read the samples of a page's shown runs, one run at a time, and compare its columns."""
    memory = Memory()
    places = [place for place in board.places.values() if place.page is page]
    evidence = _read_page(page, board, places, memory, samples)
    entries = {
        place.key: [
            Entry(key, choice, tuple(evidence[id(run)] for run in choice.shown))
            for key in board.models
            for choice in [board.choices[key, place.key]]
        ]
        for place in places
    }
    filled = [fill(place, entries[place.key], settings) for place in places]
    return filled, task_page(page, filled, entries, memory, settings)


def _read_page(
    page: Page, board: _Board, places: Sequence[Place], memory: Memory, samples: Samples | None
) -> dict[int, Evidence]:
    """Identity of each shown run of a page to its samples; the newest one of every model is given to who takes samples."""
    labels = list(dict.fromkeys(place.metric for place in places))
    shown = [_newest_first(_shown(key, board, places)) for key in board.models]
    evidence: dict[int, Evidence] = {}
    with (
        nullcontext()
        if samples is None
        else samples.page(page.key, str(page.record.task["kind"]), tuple(metric_rows(page, shown))) as reader
    ):
        here = {id(run) for run in page.runs}
        for place, (row, runs) in enumerate(zip(board.models.values(), shown, strict=True)):
            taker = reader.taker(place) if reader is not None else None
            # Of a model without any value its newest run is shown, for its outputs.
            for run in runs or _newest_first(run for run in row.runs if taker is not None and id(run) in here)[:1]:
                evidence[id(run)] = read_evidence(run, labels, memory, taker)
                taker = None
    return evidence


def _newest_first(runs: Iterable[StoredRun]) -> list[StoredRun]:
    each = {id(run): run for run in runs}.values()
    return sorted(each, key=lambda run: (run.record.created, run.record.id), reverse=True)


def _shown(key: str, board: _Board, places: Iterable[Place]) -> list[StoredRun]:
    return [run for place in places for run in board.choices[key, place.key].shown]


def _traces(board: _Board) -> Iterator[Run]:
    """Every run once: shown wherever it is shown, else with the reason why not."""
    for key, row in board.models.items():
        uses: dict[int, str] = {}
        for place in board.places:
            choice = board.choices[key, place]
            word = "averaged" if len(choice.shown) > 1 else "shown"
            uses |= {id(run): uses.get(id(run), reason) for run, reason in choice.others}
            uses |= {id(run): word for run in choice.shown}
        pages_of_runs = {id(run): place.page.key for place in board.places.values() for run in place.page.runs}
        for run in row.runs:
            yield trace(run, key, pages_of_runs[id(run)], uses.get(id(run), NO_VALUE))


def _notes(read: int, runs: Sequence[StoredRun], traces: Sequence[Run], settings: Settings) -> Iterator[Note]:
    left = read - len(runs)
    if left:
        yield Note(kind="tasks", text=f"{left} of {read} runs are of other tasks than {', '.join(settings.tasks)}")
    hidden = Counter(run.use for run in traces if run.use not in ("shown", "averaged"))
    if hidden or settings.runs != "latest":
        reasons = ", ".join(f"{count} {use}" for use, count in sorted(hidden.items())) or "none"
        yield Note(
            kind="several",
            text=f"of several runs of one model and task, {_RULES[settings.runs]}; runs that are not shown: {reasons}",
        )
    for kind in settings.allowed:
        yield Note(kind="allowed", text=f"runs are compared although they differ in: {kind}")
