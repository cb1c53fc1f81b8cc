"""The page of one task as frozen data: all metrics, pairs of models, slices and errors; see `evalkit.report.model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that a reader of a number should know, where the number stands."""

    kind: str
    """``partial``, ``failed``, ``truncated``, ``unscored``, ``prompts``, ``several``, ``setup``, ``warning``, ..."""
    text: str
    """One line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """How the field prints a value: ``f"{value * factor:.{digits}f}"``."""

    factor: float
    """100 where a share is printed in percent, else 1."""
    digits: int
    """Decimals."""
    unit: str
    """``%`` where printed numbers are percent, else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A value with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Examples behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One value of a task for every model of its page."""

    metric: str
    """Label of the metric."""
    value: str
    """Name of the value, e.g. ``rouge2`` or ``f1[PER]``."""
    signature: str
    is_headline: bool
    higher_is_better: bool
    display: Display
    values: tuple[Scored | None, ...]
    """In the order of the page's models; None where a model has no such value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """How two models differ: the second minus the first, on the metric's scale and in its direction."""

    first: str
    """Key of a model."""
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    """Unadjusted."""
    p_holm: float | None
    """Adjusted over the pairs of the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairwise:
    """All pairs of the comparable models of a column."""

    column: str
    """Key of the column."""
    models: tuple[str, ...]
    """Keys, best first."""
    pairs: tuple[Pair, ...]
    """Each unordered pair once; with the best one alone where there are very many models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceGroup:
    """Some of the examples."""

    name: str
    """E.g. ``12-20``, ``PER`` or ``answerable``."""
    n: int
    """How many there are in it."""
    values: tuple[Scored | None, ...]
    """In the order of the page's models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """A value on subsets of the examples."""

    by: str
    """What the examples are grouped by, e.g. ``reference length``."""
    unit: str
    """Of the groups' names, e.g. ``characters``; may be empty."""
    counts: str
    """What `SliceGroup.n` counts: ``examples``, ``entities``, ``words`` or ``questions``."""
    value: str
    """Name of the value, e.g. ``f1``."""
    column: str
    """Key of the column whose metric it is."""
    display: Display
    groups: tuple[SliceGroup, ...]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakdownRow:
    """One kind of outcome, counted for each model."""

    group: str
    """E.g. an entity type, or ``answerable``; empty where there is one group."""
    outcome: str
    """E.g. ``boundary error``."""
    counts: tuple[int | None, ...]
    """In the order of the page's models; None where it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """What went right and wrong, in the terms of the task's kind."""

    title: str
    unit: str
    """What is counted, e.g. ``questions``, ``entities`` or ``words``."""
    rows: tuple[BreakdownRow, ...]
    """Rows of a group stand together; their counts add up to the group's size where they share one total."""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """Everything about one task version on one data set."""

    key: str
    """Short and unique within the report; safe in an HTML id."""
    task: str
    version: int
    kind: str
    language: str
    title: str
    data: Mapping[str, Any]
    """source, revision, split, digest and n of the data."""
    columns: tuple[str, ...]
    """Keys of its columns."""
    models: tuple[str, ...]
    """Keys of the models that have a run of it, in the order of the leaderboard."""
    metrics: tuple[MetricRow, ...]
    pairwise: tuple[Pairwise, ...]
    slices: tuple[Slices, ...]
    breakdowns: tuple[Breakdown, ...]
    notes: tuple[Note, ...] = ()
