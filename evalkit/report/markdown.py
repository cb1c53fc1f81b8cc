"""A report as Markdown: leaderboards, what a reader must know, task pages, and where every number comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from evalkit.report.columns import value_name
from evalkit.report.display import shown, shown_interval, shown_p
from evalkit.report.html.visible import visible
from evalkit.report.model import (
    Breakdown,
    Cell,
    Column,
    Curve,
    MetricRow,
    Note,
    Pair,
    Pairwise,
    Report,
    Scaling,
    Scored,
    Slices,
    TaskPage,
)
from evalkit.report.tables import (
    Table,
    interval_text,
    marks_legend,
    rank_text,
    rule_text,
    size_text,
    tables,
    value_text,
)

MATRIX = 12
"""Up to so many models pairs are laid out as a matrix; beyond, as a list of those with the best one."""
ARROWS = {True: "↑", False: "↓"}

_ACTS = re.compile(
    r"[\\`*\[\]<>#|~&$@{}]"  # marks of Markdown, its dialects, and HTML
    r"|(?<![^\W_])_|_(?![^\W_])"  # an underscore between letters is one
    r"|:(?=//)|(?<=www)\."  # addresses become links by themselves
    r"|^[-+=](?=[-+=\s]|$)|^\d(?=\d*[.)](?:\s|$))"  # a list, a rule or a heading at the start of a line
)
_COMMENT_END = re.compile("(--!?)>")


def report_markdown(report: Report) -> str:
    """Write a report as Markdown."""
    return "\n".join(_lines(report)) + "\n"


def text(untrusted: str) -> str:
    """A text of a run on one line, with everything escaped that Markdown or HTML would act on."""
    line = " ".join(visible(untrusted).split())
    return _ACTS.sub(lambda mark: f"&#{ord(mark[0])};", line)


def _lines(report: Report) -> Iterator[str]:
    if report.settings.made_by:
        command = _COMMENT_END.sub(r"\1 >", " ".join(visible(report.settings.made_by).split()))
        yield f"<!-- {command} -->"
    yield f"# {text(report.settings.title)}"
    yield ""
    for table in tables(report):
        yield from _leaderboard(report, table)
    yield from _notes(report.notes, "Notes on the whole report")
    for curve in report.curves:
        yield from _curve(report, curve)
    for scaling in report.scaling:
        yield from _scaling(scaling)
    for page in report.tasks:
        yield from _page(report, page)
    yield from _runs(report)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """A table whose first columns are aligned to the left, the others to the right."""
    yield f"| {' | '.join(header)} |"
    yield f"|{'|'.join('---' if place < left else '---:' for place in range(len(header)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _leaderboard(report: Report, table: Table) -> Iterator[str]:
    yield f"## {text(table.title)}"
    yield ""
    footnotes: dict[Note, int] = {}
    has_sizes = any(model.parameters is not None for model in table.models)
    has_tokens = any(model.tokens_seen is not None for model in table.models)
    has_speed = any(model.tokens_per_s is not None for model in table.models)
    header = ["model", *(["parameters"] if has_sizes else []), *(["tokens seen"] if has_tokens else [])]
    header += ["tokens/s"] if has_speed else []
    left = len(header)
    for column in table.columns:
        header += [
            f"{text(column.title)} {ARROWS[column.higher_is_better]}{' %' if column.display.unit else ''}",
            "rank",
        ]
    rows = []
    for model, cells in zip(table.models, table.cells, strict=True):
        row = [text(model.name), *([size_text(model.parameters)] if has_sizes else [])]
        row += [size_text(model.tokens_seen)] if has_tokens else []
        row += [size_text(model.tokens_per_s)] if has_speed else []
        for cell, column in zip(cells, table.columns, strict=True):
            row += [_cell(cell, column, footnotes), rank_text(cell)]
        rows.append(row)
    yield from _table(header, rows, left)
    yield marks_legend(report, table.columns) + " " + rule_text(report)
    yield ""
    for note, number in footnotes.items():
        yield f"{number}. {text(note.text)}"
    if footnotes:
        yield ""
    for column in table.columns:
        clusters = f" in {column.units:,} clusters" if column.units != column.n else ""
        yield f"- {text(column.title)}: {column.n:,} examples{clusters}; {text(column.signature)}"
        yield from (f"  - {text(note.text)}" for note in column.notes)
    yield ""


def _cell(cell: Cell, column: Column, footnotes: dict[Note, int]) -> str:
    value = value_text(cell, column)
    value = f"**{value}**" if cell.is_best else f"{value} ≈" if cell.is_tied else value
    numbers = [footnotes.setdefault(note, len(footnotes) + 1) for note in cell.notes]
    marks = f"<sup>{','.join(map(str, numbers))}</sup>" if numbers else ""
    return " ".join(part for part in (f"{value}{marks}", interval_text(cell, column)) if part)


def _notes(notes: Sequence[Note], title: str) -> Iterator[str]:
    if not notes:
        return
    yield f"{title}:"
    yield ""
    yield from (f"- {text(note.text)}" for note in notes)
    yield ""


def _curve(report: Report, curve: Curve) -> Iterator[str]:
    column = next(column for column in report.columns if column.key == curve.column)
    yield f"## {text(column.title)} over the training run {text(curve.training)}"
    yield ""
    rows = [
        [
            "" if point.steps is None else f"{point.steps:,}",
            "" if point.tokens_seen is None else f"{point.tokens_seen:,}",
            shown(point.value, column.display),
            shown_interval(point.low, point.high, column.display),
        ]
        for point in curve.points
    ]
    yield from _table(["steps", "tokens seen", "value", "interval"], rows, left=0)


def _scaling(scaling: Scaling) -> Iterator[str]:
    yield f"## Scaling law {text(scaling.title)}"
    yield ""
    rows = []
    for name, parameter in scaling.parameters.items():
        known = parameter if isinstance(parameter, Mapping) else {"value": parameter}
        numbers = [known.get(part) for part in ("value", "low", "high")]
        rows.append([text(name), *("" if n is None else text(f"{n:.4g}" if is_number(n) else str(n)) for n in numbers)])
    yield from _table(["parameter", "value", "low", "high"], rows)
    yield f"{len(scaling.points)} points; from {text(scaling.file)}."
    yield ""
    yield from _notes(scaling.notes, "Notes")


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value of a document is a number, true and false aside."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _page(report: Report, page: TaskPage) -> Iterator[str]:
    names = {model.key: text(model.name) for model in report.models}
    models = [names[key] for key in page.models]
    yield f"## Task {text(page.title)}"
    yield ""
    data = ", ".join(f"{name} {value}" for name, value in page.data.items() if value is not None)
    yield text(f"Version {page.version}; data: {data}.")
    yield ""
    yield from _notes(page.notes, "Notes")
    yield from _metrics([row for row in page.metrics if row.is_headline], models)
    for pairwise in page.pairwise:
        yield from _pairs(report, pairwise, names)
    for slices in page.slices:
        yield from _slices(slices, models)
    for breakdown in page.breakdowns:
        yield from _breakdown(breakdown, models)


def _metrics(rows: Sequence[MetricRow], models: Sequence[str]) -> Iterator[str]:
    yield "### Metrics"
    yield ""
    yield from _table(
        ["metric", *models, "signature"],
        [
            [
                f"{text(value_name(row.metric, row.value))} {ARROWS[row.higher_is_better]}",
                *(_scored(value, row) for value in row.values),
                text(row.signature),
            ]
            for row in rows
        ],
    )


def _scored(value: Scored | None, row: MetricRow | Slices) -> str:
    if value is None:
        return ""
    interval = shown_interval(value.low, value.high, row.display)
    return " ".join(part for part in (shown(value.value, row.display), interval) if part)


def _pairs(report: Report, pairwise: Pairwise, names: Mapping[str, str]) -> Iterator[str]:
    column = next(column for column in report.columns if column.key == pairwise.column)
    found = {(pair.first, pair.second): pair for pair in pairwise.pairs}
    is_matrix = len(pairwise.models) <= MATRIX
    yield f"### Pairs by {text(column.title)}"
    yield ""
    yield f"Column minus row; p by {text(column.test)}, adjusted over the pairs (Holm)."
    yield ""
    keys = list(pairwise.models)
    rows = [
        [names[key], *(_difference(found.get((key, other)), column) for other in keys[1:])]
        for key in (keys[:-1] if is_matrix else keys[:1])
    ]
    if is_matrix:
        yield from _table(["", *(names[key] for key in keys[1:])], rows)
    else:
        yield from _table(
            ["", f"minus {names[keys[0]]}"], [[names[k], c] for k, c in zip(keys[1:], rows[0][1:], strict=True)]
        )


def _difference(pair: Pair | None, column: Column) -> str:
    if pair is None:
        return ""
    difference = shown(pair.difference, column.display, signed=True)
    interval = shown_interval(pair.low, pair.high, column.display, signed=True)
    p = shown_p(pair.p_holm).replace("<", "&lt;")
    return " ".join(part for part in (difference, interval, f"p {p}" if p else "") if part)


def _slices(slices: Slices, models: Sequence[str]) -> Iterator[str]:
    unit = f" ({text(slices.unit)})" if slices.unit else ""
    yield f"### {text(slices.value)} by {text(slices.by)}{unit}"
    yield ""
    rows = [
        [text(group.name), f"{group.n:,}", *(_scored(value, slices) for value in group.values)]
        for group in slices.groups
    ]
    yield from _table([text(slices.by), text(slices.counts), *models], rows)
    yield from _notes(slices.notes, "Notes")


def _breakdown(breakdown: Breakdown, models: Sequence[str]) -> Iterator[str]:
    met = [row for row in breakdown.rows if any(row.counts)]
    if not breakdown.rows[0].group and len(met) < 2:
        # Every response was scored and nothing else is to be said.
        return
    yield f"### {text(breakdown.title)}"
    yield ""
    has_groups = any(row.group for row in breakdown.rows)
    rows = [
        [
            *([text(row.group)] if has_groups else []),
            text(row.outcome),
            *("" if count is None else f"{count:,}" for count in row.counts),
        ]
        for row in met
    ]
    header = [*([""] if has_groups else []), text(breakdown.unit), *models]
    yield from _table(header, rows, left=1 + has_groups)
    yield from _notes(breakdown.notes, "Notes")


def _runs(report: Report) -> Iterator[str]:
    names = {model.key: model.name for model in report.models}
    titles = {page.key: page.title for page in report.tasks}
    yield "## Runs"
    yield ""
    rows = [
        [
            text(run.id),
            text(names[run.model]),
            text(titles[run.page]),
            text(run.use),
            text(run.status),
            text(run.data_digest),
            text(run.model_digest),
            text(run.versions.get("evalkit", "")),
            text(run.command),
        ]
        for run in report.runs
    ]
    header = ["run", "model", "task", "use", "status", "data digest", "model digest", "evalkit", "command"]
    yield from _table(header, rows, left=len(header))
