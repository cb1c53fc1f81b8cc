"""How results of scaling verbs are printed and written: the flags, and the one place that does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.result_files import write_result
from evalkit.scaling.tables import FORMATS, Outcome, render

_SUFFIXES = {".txt": "text", ".md": "markdown", ".csv": "csv", ".tex": "latex", ".json": "json"}


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say how a result is written."""
    for option in reversed(
        (
            click.option("--format", "form", metavar="FORMAT", help=f"{', '.join(FORMATS)}.  [default: text]"),
            click.option(
                "--out", metavar="FILE", help="Write the tables here; .md, .csv, .tex, .json or .txt says how."
            ),
            click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        )
    ):
        command = option(command)
    return command


def check_output(form: str | None, out: str | None, as_json: bool, *more: str | None) -> None:
    """Find out before anything is computed how results are written, and whether they can be.

    Args:
        form: As ``--format`` says.
        out: File of the tables.
        as_json: Whether JSON is printed.
        more: Other files that will be written.

    Raises:
        UnknownNameError: There is no such format.
        InvalidInputError: The file's extension says none, or a file cannot be written.
    """
    find_format(form, out, as_json)
    for path in (out, *more):
        if path is None:
            continue
        place = Path(path)
        was_there = place.exists()
        with _writing(path):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.open("ab").close()
        if not was_there:
            place.unlink()


def find_format(form: str | None, out: str | None, as_json: bool) -> str:
    """Find the format.

    Raises:
        UnknownNameError: There is no such format.
        InvalidInputError: The file's extension says none.
    """
    if form is not None and form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    if form is None and out is not None:
        suffix = Path(out).suffix.lower()
        if suffix not in _SUFFIXES:
            raise InvalidInputError(
                f"--out {out!r} has extension {suffix!r}; expected one of {', '.join(_SUFFIXES)}, or say --format"
            )
        form = _SUFFIXES[suffix]
    return form or ("json" if as_json else "text")


def emit(outcome: Outcome, *, form: str | None, out: str | None, as_json: bool) -> None:
    """Print a result, or write its tables; with --json stdout holds one JSON document and nothing else."""
    chosen = find_format(form, out, as_json)
    if out is not None:
        write_result(out, render(outcome, chosen))
        if not as_json:
            click.echo(out)
    if as_json:
        click.echo(render(outcome, "json"), nl=False)
    elif out is None:
        click.echo(render(outcome, chosen), nl=False)


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"cannot write {path!r}: {reason}; choose another file") from error
