"""The overview table as the template takes it: every text is ready to be shown, none of it is escaped yet."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalkit.languages import language_name
from evalkit.report.display import shown, shown_interval, shown_rank
from evalkit.report.html.visible import visible
from evalkit.report.model import Cell, Column, Model, Report

KINDS: dict[str, str] = {
    "mt": "Translation",
    "summarization": "Summarization",
    "qa": "Question answering",
    "ner": "Named entities",
    "cws": "Word segmentation",
    "lm": "Language modelling",
    "classification": "Classification",
}
"""Task kinds as people call them."""

_BEYOND_LETTERS = 1e15
_STEPS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring columns of one task kind."""

    kind: str
    label: str
    width: int


@dataclass(frozen=True, slots=True)
class Head:
    """The head of one column of values."""

    place: int
    """Place of the column in the report."""
    page: str
    title: str
    metric: str
    """What tells the column from others of its task: metric and value."""
    direction: str
    """Which end is better."""
    examples: str
    kind: str
    language: str
    is_first: bool
    """Whether a group of columns begins here."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One cell."""

    column: int
    text: str
    order: str
    """The number that the column is sorted by; empty where there is none."""
    interval: str
    rank: str
    mark: str
    """``best``, ``tied`` or empty."""
    is_compared: bool
    reason: str
    """Why there is no value."""
    notes: int
    """How many notes there are, beside the plain one that there is no run."""
    sign: str
    """``!`` where one of them warns, ``i`` where they only tell, empty where there are none."""
    is_odd: bool
    """Whether a reader would expect a value: there is a run, but it is failed, cut or undefined."""
    is_first: bool


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is known about models: parameters, tokens seen, speed."""

    key: str
    label: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Row:
    """One model."""

    place: int
    name: str
    ref: str
    family: str
    date: str
    facts: tuple[tuple[str, str], ...]
    """Text and number of each fact, in the order of the table's facts."""
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole table with its filters."""

    kinds: tuple[Choice, ...]
    languages: tuple[Choice, ...]
    families: tuple[Choice, ...]
    dates: tuple[str, str]
    """First and last day of the models' newest runs."""
    groups: tuple[Group, ...]
    heads: tuple[Head, ...]
    facts: tuple[Fact, ...]
    rows: tuple[Row, ...]


_NO_RUN = "no run"
_PLAIN_GAPS = frozenset({"missing", "signature"})
"""Kinds of notes that say why there is no value without anything being wrong."""

_TELLING = frozenset({"several", "setup", "prompts"})
"""Kinds of notes that tell how a value came about without putting it in doubt."""

_FACTS = (
    Fact("parameters", "Parameters", "parameters of the model"),
    Fact("tokens_seen", "Tokens seen", "tokens seen in training"),
    Fact("tokens_per_s", "Tokens/s", "tokens a second: median over the runs that count them"),
)


def overview(report: Report) -> Overview:
    """Arrange the leaderboard; facts that no model states are left out."""
    facts = tuple(fact for fact in _FACTS if any(getattr(model, fact.key) is not None for model in report.models))
    days = sorted(model.latest[:10] for model in report.models) or [""]
    first = [place == 0 or report.columns[place - 1].kind != one.kind for place, one in enumerate(report.columns)]
    width = len(report.columns)
    titles = {page.key: page.title for page in report.tasks}
    return Overview(
        kinds=tuple(
            Choice(visible(kind), kind_label(kind)) for kind in _unique(column.kind for column in report.columns)
        ),
        languages=tuple(
            Choice(visible(code), language_label(code))
            for code in _unique(column.language for column in report.columns)
        ),
        families=tuple(
            Choice(visible(name), visible(name)) for name in sorted({model.family for model in report.models})
        ),
        dates=(days[0], days[-1]),
        groups=tuple(
            Group(kind, kind_label(kind), len(list(members)))
            for kind, members in itertools.groupby(column.kind for column in report.columns)
        ),
        heads=tuple(
            _head(place, column, titles[column.page], first[place], report.columns)
            for place, column in enumerate(report.columns)
        ),
        facts=facts,
        rows=tuple(
            _row(
                place,
                model,
                facts,
                [
                    _value(at, cell, report.columns[at], first[at])
                    for at, cell in enumerate(report.cells[place * width : (place + 1) * width])
                ],
            )
            for place, model in enumerate(report.models)
        ),
    )


def kind_label(kind: str) -> str:
    """A task kind as people call it."""
    return KINDS.get(kind, visible(kind))


def language_label(code: str) -> str:
    """A language as people call it."""
    return visible(language_name(code))


def compact(number: float | None) -> str:
    """A large number in three digits; empty where it is not known.

    >>> compact(124_439_808), compact(1_300_000_000), compact(512), compact(6e20), compact(None)
    ('124M', '1.3B', '512', '6e20', '')
    """
    if number is None:
        return ""
    if number >= _BEYOND_LETTERS:
        return f"{number:.3g}".replace("e+", "e")
    for size, letter in _STEPS:
        if number >= size * 0.9995:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _told_apart(column: Column, title: str, columns: Sequence[Column]) -> str:
    """What tells a column from the others of its task: the value alone, where that is enough."""
    rest = column.title.removeprefix(title).strip()
    same = [one for one in columns if (one.page, one.value) == (column.page, column.value)]
    return column.value if len(same) == 1 and rest in (f"{column.metric} {column.value}", "") else rest


def _head(place: int, column: Column, title: str, is_first: bool, columns: Sequence[Column]) -> Head:
    return Head(
        place=place,
        page=column.page,
        title=visible(title),
        metric=visible(f"{_told_apart(column, title, columns)} {column.display.unit}".rstrip()),
        direction="higher is better" if column.higher_is_better else "lower is better",
        examples=f"{column.n:,}",
        kind=visible(column.kind),
        language=visible(column.language),
        is_first=is_first,
        notes=tuple(visible(note.text) for note in column.notes),
    )


def _row(place: int, model: Model, facts: Sequence[Fact], values: Sequence[Value]) -> Row:
    known = [getattr(model, fact.key) for fact in facts]
    return Row(
        place=place,
        name=visible(model.name),
        ref=visible(model.ref),
        family=visible(model.family),
        date=model.latest[:10],
        facts=tuple((compact(number), "" if number is None else str(number)) for number in known),
        values=tuple(values),
    )


def _value(place: int, cell: Cell, column: Column, is_first: bool) -> Value:
    display = column.display
    text = _typeset(shown(cell.value, display))
    return Value(
        column=place,
        text=text,
        order="" if cell.value is None else repr(cell.value),
        interval=_typeset(shown_interval(cell.low, cell.high, display)) if text else "",
        rank=shown_rank(cell.rank, cell.rank_low, cell.rank_high).replace("-", "–"),
        mark="best" if cell.is_best else "tied" if cell.is_tied else "",
        is_compared=cell.is_comparable,
        reason="; ".join(visible(note.text) for note in cell.notes) if not text else "",
        notes=sum(note.text != _NO_RUN for note in cell.notes),
        sign=note_sign(cell),
        is_odd=any(note.kind not in _PLAIN_GAPS for note in cell.notes),
        is_first=is_first,
    )


def note_sign(cell: Cell) -> str:
    """What marks a value that has notes: ``!`` where one of them warns, ``i`` where they only tell."""
    if not cell.notes:
        return ""
    return "i" if all(note.kind in _TELLING for note in cell.notes) else "!"


def _typeset(numbers: str) -> str:
    """Numbers with a minus sign in place of the hyphen."""
    return numbers.replace("-", "−")
