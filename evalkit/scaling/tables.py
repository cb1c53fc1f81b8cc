"""Tables of scaling results, laid out for terminals, Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from evalkit.scaling.warnings import ScalingWarning

Value: TypeAlias = str | float | int | bool | None

FORMATS = ("text", "markdown", "csv", "latex", "json")
"""How results can be written."""
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; numbers stay numbers until they are laid out."""

    title: str
    """What the rows are, as a heading."""
    header: tuple[str, ...]
    """Column titles."""
    rows: tuple[tuple[Value, ...], ...]
    """One tuple a row."""
    left: int = 1
    """Columns that are aligned to the left; the others hold numbers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verb has to say."""

    document: Mapping[str, Any]
    """The JSON document."""
    tables: tuple[Table, ...]
    """Its tables, the main one first."""
    warnings: tuple[ScalingWarning, ...] = ()
    """They follow the tables."""
    notes: tuple[str, ...] = ()
    """Lines between the tables and the warnings."""


def render(outcome: Outcome, form: str) -> str:
    """Lay out a result in one of `FORMATS`."""
    if form == "json":
        return json.dumps(plain(outcome.document), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    if form == "csv":
        return _csv(outcome.tables)
    if form == "latex":
        return "\n".join(_latex(table) for table in outcome.tables)
    if form == "markdown":
        return markdown(outcome)
    return _text(outcome)


def markdown(outcome: Outcome, level: int = 2) -> str:
    """Lay out a result as Markdown with headings of a level."""
    from evalkit.report.markdown import text

    parts = []
    for table in outcome.tables:
        lines = [f"{'#' * level} {text(table.title)}", ""]
        lines.append(f"| {' | '.join(map(text, table.header))} |")
        lines.append(f"|{'|'.join('---' if place < table.left else '---:' for place in range(len(table.header)))}|")
        lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in table.rows]
        parts.append("\n".join(lines))
    if outcome.notes:
        parts.append("\n".join(f"{text(note)}" for note in outcome.notes))
    if outcome.warnings:
        parts.append("\n".join(f"- **{warning.code}**: {text(warning.text)}" for warning in outcome.warnings))
    return "\n\n".join(parts) + "\n"


def _cell(value: Value) -> str:
    from evalkit.report.markdown import text

    return text(value) if isinstance(value, str) else shown(value)


def shown(value: Value) -> str:
    """A value in a table: whole numbers in full, others with five digits, large and small ones in scientific notation."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _shown_float(value)
    return value


def _shown_float(value: float) -> str:
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        return f"{value:.{_DIGITS}g}"
    return f"{value:.{_DIGITS - 1}g}"


def plain(value: Any) -> Any:  # noqa: ANN401
    """A document as JSON holds it: arrays as lists, no NaN."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def warnings_json(warnings: Sequence[ScalingWarning]) -> list[dict[str, str]]:
    """Warnings as JSON."""
    return [{"code": warning.code, "text": warning.text} for warning in warnings]


def _text(outcome: Outcome) -> str:
    from evalkit.table import format_table

    parts = [
        f"{table.title}\n"
        + format_table(
            table.header,
            [tuple(map(shown, row)) for row in table.rows],
            right=frozenset(range(table.left, len(table.header))),
        )
        for table in outcome.tables
    ]
    if outcome.notes:
        parts.append("\n".join(outcome.notes))
    if outcome.warnings:
        parts.append("\n".join(f"warning {warning}" for warning in outcome.warnings))
    return "\n\n".join(parts) + "\n"


def _csv(tables: Sequence[Table]) -> str:
    """All tables with full digits; several are told apart by a first column."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for place, table in enumerate(tables):
        if place:
            writer.writerow(())
        writer.writerow(("table", *table.header))
        writer.writerows((table.title, *("" if value is None else value for value in row)) for row in table.rows)
    return file.getvalue()


def _latex(table: Table) -> str:
    from evalkit.report.latex import text

    columns = "l" * table.left + "r" * (len(table.header) - table.left)
    lines = [
        r"% Needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{text(table.title)}.}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        f"{' & '.join(map(text, table.header))} \\\\",
        r"\midrule",
        *(f"{' & '.join(text(shown(value)) for value in row)} \\\\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
