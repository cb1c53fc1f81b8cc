"""A report as LaTeX tables for a paper: booktabs rules, numbers for siunitx, captions that say what the numbers are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalkit.report.display import shown
from evalkit.report.html.visible import visible
from evalkit.report.model import Cell, Column, Note, Report
from evalkit.report.tables import QUIET, Table, interval_text, rank_text, rule_text, size_text, tables, value_text

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # Behind a row's \\ these would be its argument.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "⟨": "{[}",
    "⟩": "{]}",
    "±": r"$\pm$",
    "≈": r"$\approx$",
    "…": r"\ldots{}",
}
_LAST_LATIN = "\u024f"
"""pdfLaTeX sets letters up to here with its usual fonts."""
_NOT_KEY = re.compile(r"[^a-z0-9]+")


def report_latex(report: Report) -> str:
    """Write the leaderboards of a report as LaTeX."""
    body = "\n".join(line for table in tables(report) for line in _table(report, table))
    return "\n".join([*_head(report, body), body, ""])


def text(untrusted: str) -> str:
    r"""A text of a run on one line that LaTeX sets as it is.

    >>> print(text("a_b 100%"))
    a\_b 100\%
    """
    line = " ".join(visible(untrusted).split())
    # Two hyphens would become a dash.
    return "".join(_SPECIAL.get(character, character) for character in line.replace("--", "-\0-")).replace("\0", "{}")


def _head(report: Report, body: str) -> Iterator[str]:
    if report.settings.made_by:
        yield f"% {' '.join(visible(report.settings.made_by).split())}"
    yield r"% Needs \usepackage[T1]{fontenc}, \usepackage{booktabs,siunitx,etoolbox}, and behind them"
    yield r"%   \robustify\bfseries \sisetup{detect-weight=true}"
    if any(character > _LAST_LATIN for character in body):
        yield "% Holds letters that pdfLaTeX has no fonts for: compile with XeLaTeX or LuaLaTeX and xeCJK or ctex."


def _table(report: Report, table: Table) -> Iterator[str]:
    has_sizes = any(model.parameters is not None for model in table.models)
    formats = "".join(f" {_number_format(table, place)} l c" for place in range(len(table.columns)))
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\caption{{{_caption(report, table)}}}"
    yield rf"\label{{tab:{_NOT_KEY.sub('-', table.kind.lower()).strip('-') or 'tasks'}}}"
    yield rf"\begin{{tabular}}{{l{' r' if has_sizes else ''}{formats}}}"
    yield r"\toprule"
    header = ["Model", *(["Parameters"] if has_sizes else [])]
    for column in table.columns:
        arrow = r"$\uparrow$" if column.higher_is_better else r"$\downarrow$"
        header += [rf"{{{text(column.title)} {arrow}}}", "{Interval}", "{Rank}"]
    yield " & ".join(header) + r" \\"
    yield r"\midrule"
    for model, cells in zip(table.models, table.cells, strict=True):
        row = [text(model.name), *([size_text(model.parameters)] if has_sizes else [])]
        for cell, column in zip(cells, table.columns, strict=True):
            row += [_number(cell, column), text(interval_text(cell, column)), f"{{{rank_text(cell)}}}"]
        yield " & ".join(row) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"


def _number_format(table: Table, place: int) -> str:
    column = table.columns[place]
    texts = [value_text(cells[place], column).lstrip("-") for cells in table.cells]
    whole = max((len(number.partition(".")[0]) for number in texts), default=1)
    marks = ", table-space-text-post={$^{\\approx}$}" if any(cells[place].is_tied for cells in table.cells) else ""
    sign = "-" if any((cells[place].value or 0) < 0 for cells in table.cells) else ""
    return f"S[table-format={sign}{whole}.{column.display.digits}{marks}]"


def _number(cell: Cell, column: Column) -> str:
    if cell.value is None:
        return "{{-}}"
    number = shown(cell.value, column.display)
    if cell.is_best:
        return rf"\bfseries {number}"
    return f"{number}{{$^{{\\approx}}$}}" if cell.is_tied else number


def _caption(report: Report, table: Table) -> str:
    parts = [
        text(report.settings.title if len(report.columns) == 1 else f"{report.settings.title}: {table.title}") + "."
    ]
    level = f"{1 - report.settings.confidence:.2g}"
    tests = text("; ".join(dict.fromkeys(column.test for column in table.columns if column.test)))
    if tests:
        parts.append(
            rf"Bold: best of a column; $\approx$: not significantly worse than it ({tests}, Holm, level {level})."
        )
    percent = [column for column in table.columns if column.display.unit]
    if percent:
        parts.append(r"Values in percent." if len(percent) == len(table.columns) else _in_percent(percent))
    levels = sorted({cell.confidence for cells in table.cells for cell in cells if cell.confidence is not None})
    said = ", ".join(f"{value:.0%}".replace("%", r"\%") for value in levels)
    parts.append(f"Intervals: {said} bootstrap." if said else "")
    parts.append(rf"Ranks: {report.settings.confidence:.0%}".replace("%", r"\%") + " of resamples.")
    parts.append(text(rule_text(report)))
    for column in table.columns:
        parts.append(rf"{text(column.title)}: $n = {column.n}$, \texttt{{{_breakable(column.signature)}}}.")
    parts += _warnings(table)
    return " ".join(part for part in parts if part)


def _breakable(signature: str) -> str:
    return text(signature).replace(r"\textbar{}", r"\textbar{}\allowbreak{}")


def _in_percent(columns: list[Column]) -> str:
    return f"In percent: {', '.join(text(column.title) for column in columns)}."


def _warnings(table: Table) -> Iterator[str]:
    """What a reader must know of single numbers, said with the model's name: a paper's table has no pop-ups."""
    for model, cells in zip(table.models, table.cells, strict=True):
        notes: dict[Note, None] = {note: None for cell in cells for note in cell.notes if note.kind not in QUIET}
        if notes:
            yield f"{text(model.name)}: {'; '.join(text(note.text) for note in notes)}."
