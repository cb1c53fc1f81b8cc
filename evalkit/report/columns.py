"""What values are set side by side: one column holds one task version, one data set, one metric and one signature."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalkit.errors import UnknownNameError
from evalkit.record import MetricValue, RunRecord
from evalkit.report.display import display_of
from evalkit.report.model import Display, Settings
from evalkit.report.reading import StoredRun
from evalkit.report.rows import PageKey, page_key

_SHOWN = 8
"""Digits of a digest in a title."""


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A task version on one data set, with its runs."""

    key: str
    task: PageKey
    title: str
    runs: tuple[StoredRun, ...]

    @property
    def record(self) -> RunRecord:
        """The record of the newest run, which describes the task and its data."""
        return max((run.record for run in self.runs), key=lambda record: (record.created, record.id))


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """What a column holds, before anything is compared."""

    key: str
    page: Page
    metric: str
    """Label of the metric."""
    value: str
    signature: str
    title: str

    def of(self, record: RunRecord) -> MetricValue | None:
        """The value of a run that belongs into this column."""
        for value in record.metrics:
            if (value.metric, value.name, value.signature) == (self.metric, self.value, self.signature):
                return value
        return None

    @property
    def example(self) -> MetricValue:
        """One of the values that the column holds."""
        return next(found for run in self.page.runs if (found := self.of(run.record)) is not None)

    @property
    def display(self) -> Display:
        """How its values are printed."""
        return display_for(self.page.runs, self.example)


def display_for(runs: Sequence[StoredRun], value: MetricValue) -> Display:
    """How the field prints a value that a run of these has."""
    stored = next((run.record.statistics[value.metric] for run in runs if value.metric in run.record.statistics), None)
    name = stored.metric if stored is not None else value.metric
    return display_of(name, value.name, value.scale, is_share=_is_share(name, value.name))


def _is_share(metric: str, value: str) -> bool:
    from evalkit.metrics.registry import METRICS

    known = METRICS.get(metric)
    return known is not None and known.range == (0.0, 1.0)


def chosen(runs: Sequence[StoredRun], patterns: Sequence[str]) -> list[StoredRun]:
    """Take the runs of the tasks that are asked for.

    Raises:
        UnknownNameError: A pattern fits no task.
    """
    tasks = sorted({str(run.record.task["name"]) for run in runs})
    for pattern in patterns:
        if not fnmatch.filter(tasks, pattern):
            raise UnknownNameError("task", pattern, tasks)
    return [
        run
        for run in runs
        if not patterns or any(fnmatch.fnmatchcase(str(run.record.task["name"]), pattern) for pattern in patterns)
    ]


def pages(runs: Sequence[StoredRun]) -> list[Page]:
    """Gather runs by task version and data, in the order of kind, task, version and data."""
    gathered: dict[PageKey, list[StoredRun]] = {}
    for run in runs:
        gathered.setdefault(page_key(run), []).append(run)
    order = sorted(gathered, key=lambda key: (str(gathered[key][0].record.task["kind"]), key))
    return [
        Page(f"t{number}", key, _page_title(key, order, gathered), tuple(gathered[key]))
        for number, key in enumerate(order, start=1)
    ]


def _page_title(key: PageKey, every: Sequence[PageKey], runs: Mapping[PageKey, Sequence[StoredRun]]) -> str:
    task, version, digest = key
    title = task
    same_task = [other for other in every if other[0] == task]
    if len({other[1] for other in same_task}) > 1:
        title += f" v{version}"
    if len([other for other in same_task if other[1] == version]) > 1:
        title += f" ({runs[key][0].record.data.get('split') or 'data'} {digest[:_SHOWN]})"
    return title


def columns(page: Page, settings: Settings) -> list[Place]:
    """Settle which values of a page are columns: the main ones of its runs, or those that the settings choose."""
    wanted = dict.fromkeys(
        (value.metric, value.name)
        for name in settings.metrics
        for run in page.runs
        for value in meant(run.record, name)
    ) or dict.fromkeys((run.record.main().metric, run.record.main().name) for run in page.runs)
    found = [
        (metric, value, signature) for metric, value in wanted for signature in _signatures(page.runs, metric, value)
    ]
    return [
        Place(f"{page.key}-{number}", page, *one, title=_title(page, one, found))
        for number, one in enumerate(found, start=1)
    ]


def meant(record: RunRecord, name: str) -> list[MetricValue]:
    """The values of a run that a user means by a name: a metric's first value, a value of any metric, or one of one metric."""
    firsts = {value.metric: value for value in reversed(record.metrics)}
    named = [value for value in record.metrics if name in (f"{value.metric}.{value.name}", value.name)]
    return [firsts[name]] if name in firsts else named


def check_metrics(runs: Sequence[StoredRun], settings: Settings) -> None:
    """Refuse names of metrics that no run has.

    Raises:
        UnknownNameError: Says what there is.
    """
    for name in settings.metrics:
        if not any(meant(run.record, name) for run in runs):
            values = [value for run in runs for value in run.record.metrics if value.headline]
            known = dict.fromkeys(
                value.name if value.name == value.metric else f"{value.metric}.{value.name}" for value in values
            )
            raise UnknownNameError("metric", name, known)


def _signatures(runs: Sequence[StoredRun], metric: str, value: str) -> list[str]:
    found = dict.fromkeys(
        one.signature for run in runs for one in run.record.metrics if (one.metric, one.name) == (metric, value)
    )
    return list(found)


def _title(page: Page, one: tuple[str, str, str], every: Sequence[tuple[str, str, str]]) -> str:
    metric, value, signature = one
    title = f"{page.title} {value_name(metric, value)}"
    alike = [other[2] for other in every if other[:2] == (metric, value)]
    return title if len(alike) == 1 else f"{title} [{', '.join(_own_parts(signature, alike))}]"


def value_name(metric: str, value: str) -> str:
    """Name of a value with its metric, once where both are one word."""
    return value if value == metric or value.startswith(metric) else f"{metric} {value}"


def _own_parts(signature: str, every: Sequence[str]) -> Iterator[str]:
    """The settings in which a signature differs from any of the others."""
    parts = [other.split("|") for other in every]
    yield from (part for part in signature.split("|") if any(part not in other for other in parts))
