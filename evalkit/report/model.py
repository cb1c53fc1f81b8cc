"""What a report holds, as frozen data: every format is written from a `Report` and from nothing else.

    Report
      columns     one a task version, data set, metric and signature; values of one column can be set side by side
      models      one a model (and set-up, where it was run in several)
      cells       one a model and column: value, interval, marks, rank, notes; cells without a value say why
      tasks       one page a task version and data set: all metrics, pairs, slices, errors
      runs        every run that was read, shown or not, with what is needed to make it again
      curves, scaling, notes

Numbers are on the metric's own scale; `Display` says how the field prints them. Texts come from runs and are untrusted: a
writer escapes every one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.report.page_model import (
    Breakdown,
    BreakdownRow,
    Display,
    MetricRow,
    Note,
    Pair,
    Pairwise,
    Scored,
    SliceGroup,
    Slices,
    TaskPage,
)

SCHEMA_VERSION = 1
"""Rises when a field changes its meaning or goes."""

RUN_RULES = ("latest", "best", "mean")
"""What may stand for several runs of one model and task."""

__all__ = [
    "RUN_RULES",
    "SCHEMA_VERSION",
    "Breakdown",
    "BreakdownRow",
    "Cell",
    "Column",
    "Curve",
    "CurvePoint",
    "Display",
    "MetricRow",
    "Model",
    "Note",
    "Pair",
    "Pairwise",
    "Report",
    "Run",
    "Scaling",
    "ScalingLine",
    "ScalingPoint",
    "Scored",
    "Settings",
    "SliceGroup",
    "Slices",
    "TaskPage",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One value that models are compared by: one task version, one data set, one metric, one signature."""

    key: str
    """Short and unique within the report; safe in an HTML id."""
    page: str
    """Key of the task page that it belongs to."""
    task: str
    version: int
    kind: str
    """mt, summarization, qa, ner, cws, lm or classification."""
    language: str
    title: str
    """Task, with what tells it from the other columns of the report: version, data, metric."""
    metric: str
    """Label of the metric."""
    value: str
    """Name of the value."""
    signature: str
    higher_is_better: bool
    display: Display
    n: int
    """Examples of the compared runs."""
    units: int
    """Independent units: clusters where the task names them, else examples."""
    test: str
    """The paired test behind marks and pairs; empty where nothing was compared."""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One row of the leaderboard."""

    key: str
    """Short and unique within the report; safe in an HTML id."""
    name: str
    """As it is shown: the model's name, with its reference or set-up where the name alone is not unique."""
    ref: str
    family: str
    digests: tuple[str, ...]
    """Digests of the weights or outputs of its runs, sorted."""
    parameters: int | None
    tokens_seen: int | None
    """Tokens seen in training."""
    tokens_per_s: float | None
    """Median over the shown runs that count tokens."""
    latest: str
    """Start of its newest run, UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model in one column."""

    model: str
    """Key of the model."""
    column: str
    """Key of the column."""
    value: float | None
    """None where there is no run, or where the value is undefined."""
    low: float | None = None
    """Lower end of the interval."""
    high: float | None = None
    confidence: float | None = None
    """Level of the interval."""
    n: int = 0
    """Examples that were scored."""
    unscored: int = 0
    runs: tuple[str, ...] = ()
    """Ids of the runs that the value comes from; several where it is a mean."""
    others: tuple[str, ...] = ()
    """Ids of further runs of this model and column that are not shown."""
    deviation: float | None = None
    """Standard deviation between runs, where the value is a mean of several."""
    is_comparable: bool = False
    """Whether it takes part in marks, ranks and pairs; if not, a note says why."""
    is_best: bool = False
    """Whether it has the best value of the comparable cells."""
    is_tied: bool = False
    """Whether it is not significantly worse than the best one (paired test, Holm over the column)."""
    p_best: float | None = None
    """Adjusted p of its difference from the best one."""
    rank: int | None = None
    """Place by value among the comparable cells; equal values share one."""
    rank_low: int | None = None
    """Best rank of the bootstrap interval."""
    rank_high: int | None = None
    notes: tuple[Note, ...] = ()
    """Warnings, and why a cell is empty or not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run that was read: what it is, whether it is shown, and how to make it again."""

    id: str
    place: str
    """Folder or address that it was read from."""
    model: str
    """Key of its model."""
    page: str
    """Key of its task page."""
    use: str
    """``shown``, ``averaged``, or why not: ``older``, ``not the best``, ``partial``, ``repeat``."""
    status: str
    """``complete``, or why not."""
    created: str
    """Start, UTC, ISO 8601."""
    command: str
    """The command line that makes it again, quoted for a POSIX shell; empty where the record does not say."""
    task_digest: str
    data_digest: str
    model_digest: str
    settings: Mapping[str, Any]
    counts: Mapping[str, int]
    timing: Mapping[str, float]
    versions: Mapping[str, str]
    """evalkit, python and packages."""
    commit: str
    """Git commit, with ``-dirty`` behind it where the tree was changed; may be empty."""
    platform: str
    warnings: tuple[str, ...] = ()
    """What the run itself warned of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One checkpoint of a training run."""

    run: str
    """Id of the run."""
    steps: int | None
    tokens_seen: int | None
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A value over the checkpoints of one training run."""

    training: str
    """Name of the training run."""
    column: str
    """Key of the column."""
    by: str
    """``tokens_seen`` or ``steps``: what the points are sorted by."""
    points: tuple[CurvePoint, ...]
    """At least two, with different places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPoint:
    """One model of a scaling fit."""

    x: float
    y: float
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingLine:
    """A fitted curve with its band."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    """Lower edge of the band; empty where there is none."""
    high: tuple[float, ...] = ()
    observed: tuple[float, ...] = ()
    """Lowest and highest x that was measured; beyond, the line is an extrapolation. Empty where it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """A scaling fit that was given with the runs."""

    title: str
    file: str
    """Base name of the file that it was read from."""
    form: str
    """E.g. ``chinchilla``."""
    x_title: str
    y_title: str
    parameters: Mapping[str, Any]
    """Fitted parameters with their intervals, as the fit states them."""
    points: tuple[ScalingPoint, ...]
    lines: tuple[ScalingLine, ...]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a report is made from runs: with the same runs, the same settings give the same bytes."""

    title: str = "Leaderboard"
    runs: str = "latest"
    """``latest``, ``best`` or ``mean``: the rule for several runs of one model and task."""
    confidence: float = 0.95
    """Level of differences and rank ranges; marks are decided at 1 minus it."""
    resamples: int = 10_000
    """Bootstrap resamples."""
    seed: int = 0
    metrics: tuple[str, ...] = ()
    """Metrics, values or ``metric.value`` that are shown instead of a task's main value, where a task has them."""
    tasks: tuple[str, ...] = ()
    """Patterns of task names; empty for all."""
    names: tuple[str, ...] = ()
    """``PATTERN=LABEL``: how models are shown; models of one label are one."""
    allowed: tuple[str, ...] = ()
    """Kinds of difference between runs that do not keep them from being compared, beside other prompts and truncation."""
    made_by: str = ""
    """The command that made the report, for its first line; may be empty."""

    def __post_init__(self) -> None:
        if self.runs not in RUN_RULES:
            raise UnknownNameError("rule for several runs", self.runs, RUN_RULES)
        if not 0 < self.confidence < 1:
            raise InvalidInputError(f"confidence is {self.confidence}; expected a level between 0 and 1, such as 0.95")
        if self.resamples < 100:
            raise InvalidInputError(f"resamples is {self.resamples}; expected at least 100")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A leaderboard with everything behind it."""

    settings: Settings
    columns: tuple[Column, ...]
    models: tuple[Model, ...]
    cells: tuple[Cell, ...]
    """One for every model and column, models outer, in their order."""
    tasks: tuple[TaskPage, ...]
    runs: tuple[Run, ...]
    curves: tuple[Curve, ...] = ()
    """Values over checkpoints, by column and training run."""
    scaling: tuple[Scaling, ...] = ()
    notes: tuple[Note, ...] = ()
    """What concerns the whole report."""
    schema_version: int = field(default=SCHEMA_VERSION)

    def cell(self, model: str, column: str) -> Cell:
        """The cell of a model and a column, by their keys."""
        rows = {one.key: place for place, one in enumerate(self.models)}
        places = {one.key: place for place, one in enumerate(self.columns)}
        return self.cells[rows[model] * len(self.columns) + places[column]]
