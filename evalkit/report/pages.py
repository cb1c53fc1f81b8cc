"""The task pages: every metric of every model, pairs, slices and breakdowns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalkit.record import MetricValue
from evalkit.report.breakdowns import breakdowns
from evalkit.report.cells import Filled, mean
from evalkit.report.columns import Page, display_for
from evalkit.report.comparable import Entry
from evalkit.report.evidence import Evidence, Memory
from evalkit.report.model import MetricRow, Note, Scored, Settings, TaskPage
from evalkit.report.reading import StoredRun
from evalkit.report.slices import Sliced, slices

_DATA = ("source", "revision", "split", "digest", "n")


def task_page(
    page: Page, filled: Sequence[Filled], entries: Mapping[str, Sequence[Entry]], memory: Memory, settings: Settings
) -> TaskPage:
    """Make a task page.

    Args:
        page: The task and its runs.
        filled: Its columns.
        entries: Key of each column to one entry a model of the report, in their order.
        memory: What the runs of the page share.
        settings: How the report is made.
    """
    shown = _shown(filled, entries)
    record = page.record
    evidence = {one.run.record.id: one for several in entries.values() for entry in several for one in entry.evidence}
    newest = [evidence[runs[0].record.id] for runs in shown.values()]
    return TaskPage(
        key=page.key,
        task=str(record.task["name"]),
        version=int(record.task["version"]),
        kind=str(record.task["kind"]),
        language=str(record.task["language"]),
        title=page.title,
        data={name: record.data.get(name) for name in _DATA},
        columns=tuple(one.place.key for one in filled),
        models=tuple(shown),
        metrics=tuple(metric_rows(page, list(shown.values()))),
        pairwise=tuple(one.pairwise for one in filled if one.pairwise is not None),
        slices=tuple(part for one in filled for part in slices(_sliced(one, shown, settings), memory)),
        breakdowns=tuple(breakdowns(str(record.task["kind"]), newest)),
        notes=tuple(_page_notes(page, newest)),
    )


def _shown(filled: Sequence[Filled], entries: Mapping[str, Sequence[Entry]]) -> dict[str, list[StoredRun]]:
    """Key of each model that has a run on the page to its shown runs, newest first."""
    shown: dict[str, dict[str, StoredRun]] = {}
    for one in filled:
        for entry in entries[one.place.key]:
            for run in entry.choice.shown:
                shown.setdefault(entry.model, {})[run.record.id] = run
    order = {model: place for place, model in enumerate(_best_first(filled[0]))} if filled else {}
    return {
        model: sorted(shown[model].values(), key=lambda run: (run.record.created, run.record.id), reverse=True)
        for model in sorted(shown, key=order.__getitem__)
    }


def _best_first(column: Filled) -> list[str]:
    """Keys of models by their value in a column, those that are compared first; equal ones in the order of the report."""
    sign = -1 if column.column.higher_is_better else 1
    ordered = sorted(
        column.cells,
        key=lambda cell: (cell.value is None, not cell.is_comparable, 0.0 if cell.value is None else sign * cell.value),
    )
    return [cell.model for cell in ordered]


def _sliced(one: Filled, shown: Mapping[str, Sequence[StoredRun]], settings: Settings) -> Sliced:
    contestants = {contestant.model: contestant for contestant in one.field.contestants}
    return Sliced(
        one.place,
        tuple(contestants.get(model) for model in shown),
        tuple(tuple(runs[0].record.metrics) for runs in shown.values()),
        settings,
    )


def metric_rows(page: Page, shown: Sequence[Sequence[StoredRun]]) -> Iterator[MetricRow]:
    """Give every value of a page.

    Args:
        page: The task.
        shown: The shown runs of each model, newest first.
    """
    examples: dict[tuple[str, str, str], MetricValue] = {}
    found: list[dict[tuple[str, str, str], list[MetricValue]]] = []
    for runs in shown:
        own: dict[tuple[str, str, str], list[MetricValue]] = {}
        for run in runs:
            for value in run.record.metrics:
                key = (value.metric, value.name, value.signature)
                own.setdefault(key, []).append(value)
                examples.setdefault(key, value)
        found.append(own)
    # Values that tables show first, those of one metric together; records list them so.
    for key, value in sorted(examples.items(), key=lambda item: not item[1].headline):
        yield MetricRow(
            metric=value.metric,
            value=value.name,
            signature=value.signature,
            is_headline=value.headline,
            higher_is_better=value.higher_is_better,
            display=display_for(page.runs, value),
            values=tuple(_scored(own.get(key, [])) for own in found),
        )


def _scored(values: Sequence[MetricValue]) -> Scored | None:
    if not values:
        return None
    if len(values) == 1:
        only = values[0]
        return Scored(value=only.value, low=only.low, high=only.high, n=only.n)
    return Scored(value=mean(values)[0], n=values[0].n)


def _page_notes(page: Page, newest: Sequence[Evidence]) -> Iterator[Note]:
    unreadable = [one for one in newest if one.loaded is None]
    if unreadable:
        yield Note(
            kind="samples", text=f"the samples of {len(unreadable)} runs cannot be read: {unreadable[0].problem}"
        )
    sources = {(str(run.record.data.get("source")), str(run.record.data.get("revision"))) for run in page.runs}
    if len(sources) > 1:
        yield Note(
            kind="source", text="the same data came from several sources: " + ", ".join(sorted(map(" ".join, sources)))
        )
