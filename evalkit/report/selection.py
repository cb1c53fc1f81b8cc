"""Which of several runs of one model and task is shown: the latest, the best, or the mean of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.digests import canonical
from evalkit.record import RunRecord
from evalkit.report.columns import Place
from evalkit.report.reading import StoredRun

OLDER, NOT_BEST, PARTIAL, REPEAT = "older", "not the best", "partial", "repeat"
"""Why a run is not shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The runs of one model in one column."""

    shown: tuple[StoredRun, ...]
    """Newest first; several where their mean is shown; empty where there is no run."""
    others: tuple[tuple[StoredRun, str], ...] = ()
    """Runs that are not shown, each with the reason."""
    without: tuple[StoredRun, ...] = ()
    """Where there is no run: those of the model on the same page that have no value of this column."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the shown runs."""
        return tuple(run.record.id for run in self.shown)


def choose(runs: Sequence[StoredRun], place: Place, rule: str) -> Choice:
    """Choose among the runs of one model that have a value of a column.

    Complete runs go before partial ones whatever the rule: a quick check on a few examples does not take the place of a full
    run. The mean counts a run that repeats another one, with the same weights, settings and values, once.
    """
    mine = sorted((run for run in runs if place.of(run.record) is not None), key=_age, reverse=True)
    complete = [run for run in mine if not is_partial(run.record)]
    if not mine:
        return Choice((), without=tuple(runs))
    if not complete:
        # Partial runs are not averaged, nor is the best of them looked for: they need not be over the same examples.
        return Choice((mine[0],), tuple((run, OLDER) for run in mine[1:]))
    partial = tuple((run, PARTIAL) for run in mine if is_partial(run.record))
    if rule == "mean":
        kept, repeats = _without_repeats(complete)
        return Choice(tuple(kept), (*((run, REPEAT) for run in repeats), *partial))
    first = complete[0] if rule == "latest" else max(complete, key=lambda run: _score(run, place))
    reason = OLDER if rule == "latest" else NOT_BEST
    return Choice((first,), (*((run, reason) for run in complete if run is not first), *partial))


def is_partial(record: RunRecord) -> bool:
    """Whether a run is not over the whole data: stopped, limited, or on chosen examples."""
    return record.status != "complete" or scored_examples(record) != record.data["n"]


def scored_examples(record: RunRecord) -> int:
    """How many examples of its data a run is over; all of them where the record does not say."""
    scored_n = record.data.get("scored_n")
    return int(record.data["n"] if scored_n is None else scored_n)


def _age(run: StoredRun) -> tuple[str, str, str]:
    return run.record.created, run.record.id, run.place


def _score(run: StoredRun, place: Place) -> float:
    found = place.of(run.record)
    if found is None or found.value is None:
        return float("-inf")
    return found.value if found.higher_is_better else -found.value


def _without_repeats(runs: Sequence[StoredRun]) -> tuple[list[StoredRun], list[StoredRun]]:
    kept: dict[str, StoredRun] = {}
    repeats = []
    for run in runs:
        if kept.setdefault(_content(run.record), run) is not run:
            repeats.append(run)
    return list(kept.values()), repeats


def _content(record: RunRecord) -> str:
    values: list[Any] = [[value.metric, value.name, value.signature, value.value] for value in record.metrics]
    return canonical([record.model["digest"], record.settings, values])
